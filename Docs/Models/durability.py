#!/usr/bin/env python3
"""M3 durable acknowledgement (design 5.2, 5.4), SQLite's WAL modelled coarsely but with what matters:
header (salt) synced on restart, frames with a cumulative checksum (each frame names the one before it), commit = the last
frame of a transaction, publication = the wal-index header in shared memory; checkpoint = sync WAL, copy pages, sync database,
set nBackfill; a later writer restarts the WAL when nBackfill == mxFrame.
Every block (header, frame slot, database page) holds (what the disk has, unsynced writes in order). Power loss: each block
independently keeps the disk's value, any of the unsynced writes, or (database page, frame) a torn one. The check runs in EVERY state.
Every transaction writes both pages with its own id, so a recovered database is a prefix iff both pages show one id.
Options (each variant changes one thing):
 ack      own    after its sync a process acknowledges its own commit
          start  ... every commit published before its sync STARTED (shared between waiters)
          end    ... every commit published before its sync ENDED
          none-sync  acknowledge without sync
 ckptlock True: checkpoint under WRITER  False: beside commits (the WAL-reset race)
          'reader': beside commits, with a read transaction of the owner held for the whole checkpoint (5.4). A reader that begins
          when the log is completely copied takes read lock 0: it does not keep a writer from restarting the log, but keeps the checkpoint from copying checkpoint under WRITER  False: beside commits (the WAL-reset race)
 walsync / dbsync / hdrsync : leave out one of SQLite's syncs (the model must see it)
 truncate: checkpoint may end in TRUNCATE, 'atomic': after power loss the file has its old size or none; 'any': each block may survive;  partial: a reader may pin the log
 kill: number of writers killed; alldie: all processes die without power loss, the next opener recovers
 fail: number of failing syncs of the log;  react: 'text' (close, reopen, inspect, go on), 'mark' (also a mark for all: no durable receipts, but checkpoints go on),
          'rewrite' / 'newfile' (mark; no checkpoint either; repair under WRITER removes it)
 phantom: True = the unpublished commit of a killed writer may surface (reported), False = count it as a violation"""
import sys
from explorer import explore, report
SLOTS = 6
class Model:
    def __init__(m, **o):
        m.o = dict(ack='own', ckptlock=True, walsync=True, dbsync=True, hdrsync=True, truncate=False, partial=False, kill=0, alldie=0,
                   fail=0, react='text', phantom=True, late=False, txns=4, ckpts=2, writers=2, errseq=True); m.o.update(o); m.memo = {}
    # state: (W, shm, hdr, frames, db, procs, published, acked, counts, suspect)
    # shm = (salt, mx, nback, lastid); block = tuple(disk, write1, ...), cache = last
    def init(m):
        hdr = (1,); fr = tuple((None,) for _ in range(SLOTS)); db = ((0,), (0,))
        procs = tuple(('idle',) for _ in range(m.o['writers'])) + (('c0',),)
        sus = 0
        if m.o['late']: procs = procs[:1] + (('closed',),) + procs[2:]; sus = ((0,) * (m.o['writers'] + 1), 0, (frozenset(),) * m.o['writers'])
        return (0, (1, 0, 0, ('H', 1)), hdr, fr, db, procs, (0,), 0, (m.o['txns'], m.o['ckpts'], m.o['kill'], m.o['alldie'], m.o['fail']), sus)
    def next(m, s):
        o = m.o; W, shm, hdr, fr, db, procs, pub, acked, cnt, sus = s; salt, mx, nback, last = shm
        txns, ckpts, kills, alldie, fails = cnt; out = []
        def P(i, v): return procs[:i] + (v,) + procs[i+1:]
        def put(b, v): return b + (v,)
        lost = lambda v: isinstance(v, tuple) and v and v[0] == 'lost'
        def synced(b): return b if lost(b[-1]) else (b[-1],)      # what was lost in a failed sync is clean: no later sync writes it
        for i in range(o['writers']):
            p = procs[i]; n = f'writer {i}'
            if p[0] == 'dead': continue
            if o['late']:
                ws = sus[2]; left = lambda k: tuple(w - {k} for w in ws)          # process k has left its sync (slot changed)
                if p[0] == 'closed':
                    busy = frozenset(k for k in range(o['writers']) if procs[k][0] in ('syncing', 'mustmark')) if o['react'] == 'slots' else frozenset()
                    dead = o['react'] == 'slots' and any(q == ('dead', 'insync') for q in procs)
                    out.append((f'{n} starts and opens' + (f', sees process {sorted(busy)} inside a sync' if busy else '') + (', sees the slot of a process that died inside a sync: sets the word' if dead else ''),
                                (W, shm, hdr, fr, db, P(i, ('idle',)), pub, acked, cnt, (sus[0], sus[1] or dead, ws[:i] + (busy,) + ws[i+1:])))); continue
                if p[0] == 'mustmark':
                    out.append((f'{n} sets the distrust word', (W, shm, hdr, fr, db, P(i, ('idle',)), pub, acked, cnt, (sus[0], 1, left(i)))))
                    if kills: out.append((f'--- {n} is killed before it set the word', (W, shm, hdr, fr, db, P(i, ('dead', 'insync')), pub, acked, (txns, ckpts, kills-1, alldie, fails), (sus[0], 1 if o['react'] == 'slots' and any(i in w for w in ws) else sus[1], ws))))
                    continue
                if p[0] == 'idle' and sus[1]: continue                              # writes fail with ioFailed
                if p[0] == 'syncing' and o['react'] == 'slots' and ws[i] and not sus[1] and not sus[0][i]: continue   # waits until those have left their sync
            if p[0] == 'idle' and txns > 0 and W == 0:
                tid = o['txns'] - txns + 1
                out.append((f'{n} takes WRITER, BEGIN (transaction t{tid})', (i+1, shm, hdr, fr, db, P(i, ('begun', tid)), pub, acked, (txns-1, ckpts, kills, alldie, fails), sus)))
            elif p[0] == 'begun':
                tid = p[1]
                cp = procs[-1]; pinned = o['ckptlock'] == 'reader' and cp[0] != 'c0' and cp[-1] > 0
                if mx > 0 and nback == mx and not pinned:
                    sh2 = (salt+1, 0, 0, ('H', salt+1))
                    out.append((f'{n} restarts the log in shared memory: salt {salt+1}', (W, sh2, hdr, fr, db, P(i, ('hdr', tid)), pub, acked, cnt, sus)))
                elif mx == 0:
                    out.append((f'{n} writes at the head of the log', (W, shm, hdr, fr, db, P(i, ('hdr', tid)), pub, acked, cnt, sus)))
                elif mx + 2 <= SLOTS:
                    out.append((f'{n} appends', (W, shm, hdr, fr, db, P(i, ('f0', tid, last)), pub, acked, cnt, sus)))
                else:
                    out.append((f'{n}: no room in the model, rolls back', (0, shm, hdr, fr, db, P(i, ('idle',)), pub, acked, cnt, sus)))
            elif p[0] == 'hdr':
                tid = p[1]; h2 = put(hdr, salt) if hdr[-1] != salt else hdr
                out.append((f'{n} writes the log header, salt {salt}', (W, shm, h2, fr, db, P(i, ('hdrsync', tid)), pub, acked, cnt, sus)))
            elif p[0] == 'hdrsync':
                tid = p[1]
                if o['hdrsync']: h2, f2, w = synced(hdr), tuple(map(synced, fr)), 'syncs the header'
                else: h2, f2, w = hdr, fr, '(does not sync the header)'
                out.append((f'{n} {w}', (W, shm, h2, f2, db, P(i, ('f0', tid, ('H', salt))), pub, acked, cnt, sus)))
            elif p[0] in ('f0', 'f1'):
                k = int(p[0][1]); tid, prev = p[1], p[2]; slot = mx + k; me = (tid, k)
                f2 = fr[:slot] + (put(fr[slot], (salt, prev, me, k, tid, k == 1)),) + fr[slot+1:]
                out.append((f'{n} writes frame {slot+1} (page {k} of t{tid}{", commit" if k else ""})', (W, shm, hdr, f2, db, P(i, ('f1' if k == 0 else 'pub', tid, me)), pub, acked, cnt, sus)))
            elif p[0] == 'pub':
                tid, me = p[1], p[2]
                out.append((f'{n} publishes t{tid}: committed', (W, (salt, mx+2, nback, me), hdr, fr, db, P(i, ('rel', tid)), pub + (tid,), acked, cnt, sus)))
            elif p[0] == 'rel':
                out.append((f'{n} leaves the turnstile', (0, shm, hdr, fr, db, P(i, ('presync', p[1])), pub, acked, cnt, sus)))
            elif p[0] == 'presync':
                tid = p[1]
                if o['ack'] == 'none-sync':
                    out.append((f'{n} acknowledges t{tid} as durable without a sync', (W, shm, hdr, fr, db, P(i, ('idle',)), pub, max(acked, pub.index(tid)), cnt, sus))); continue
                snap = (hdr[-1], tuple(f[-1] for f in fr)); upto = len(pub) - 1 if o['ack'] == 'start' else pub.index(tid)
                out.append((f'{n} starts its sync of the log', (W, shm, hdr, fr, db, P(i, ('syncing', tid, snap, upto)), pub, acked, cnt, sus)))
            elif p[0] == 'syncing':
                tid, snap, upto = p[1:]
                def cut(b, v): return b if lost(v) or v not in b else b[b.index(v):]
                h2 = cut(hdr, snap[0]); f2 = tuple(cut(fr[k], snap[1][k]) for k in range(SLOTS))
                if o['ack'] == 'end': upto = len(pub) - 1
                flags, mark = sus[:2] if sus else ((0,) * (o['writers'] + 1), 0)
                if flags[i]:           # errseq: a descriptor that was open before the failure sees it once
                    f2_ = flags[:i] + (0,) + flags[i+1:]
                    out.append((f'{n}\'s sync reports the failure too; it closes, reopens, inspects', (W, shm, hdr, fr, db, P(i, ('idle',) if not o['late'] else ('mustmark',)), pub, acked, cnt, (f2_, mark or o['react'] != 'text') if not o['late'] else (f2_, mark, sus[2]))))
                elif mark:
                    out.append((f'{n} sees the mark and gives no durable receipt', (W, shm, hdr, fr, db, P(i, ('idle',)), pub, acked, cnt, sus)))
                else:
                    out.append((f'{n}\'s sync ends: t{pub[upto]} and before acknowledged as durable', (W, shm, h2, f2, db, P(i, ('idle',)), pub, max(acked, upto), cnt, sus if not o['late'] else (sus[0], sus[1], left(i)))))
                if fails and (not sus or o['late']):
                    fail = lambda b: b if len(b) == 1 else (b[0], ('lost', b[-1]))     # disk keeps the old, the page cache the new, nothing is dirty
                    f3 = tuple(fail(f) for f in fr); fl = tuple(0 if k == i or (k < o['writers'] and procs[k][0] == 'closed') else 1 for k in range(o['writers'] + 1))
                    if o['late']:
                        out.append((f'{n}\'s sync FAILS', (W, shm, hdr, f3, db, P(i, ('mustmark',)), pub, acked, (txns, ckpts, kills, alldie, fails-1), (fl, 0, sus[2])))); continue
                    out.append((f'{n}\'s sync FAILS; it closes, reopens and inspects (it reads the page cache, all is fine)' + ('; it leaves a mark for all' if o['react'] != 'text' else ''),
                                (W, shm, hdr, f3, db, P(i, ('idle',)), pub, acked, (txns, ckpts, kills, alldie, fails-1), (fl, o['react'] != 'text'))))
            if kills and p[0] not in ('dead',):
                w2 = 0 if W == i+1 else W
                out.append((f'--- {n} is killed', (w2, shm, hdr, fr, db, P(i, ('dead', 'insync') if p[0] == 'syncing' else ('dead',)), pub, acked, (txns, ckpts, kills-1, alldie, fails), sus if not (o['late'] and p[0] == 'syncing' and o['react'] == 'slots' and any(i in w for w in sus[2])) else (sus[0], 1, sus[2]))))
        if sus and sus[1] and W == 0 and procs[-1][0] == 'c0':
            if o['react'] == 'rewrite':
                f2 = tuple((f[-1][1],) if isinstance(f[-1], tuple) and f[-1] and f[-1][0] == 'lost' else f for f in fr)
                out.append(('repair under WRITER: the whole log is written again from what is read, then synced; mark removed', (W, shm, hdr, tuple(map(synced, f2)), db, procs, pub, acked, cnt, ((0,) * (o['writers'] + 1), 0))))
            if o['react'] == 'newfile':
                v = m.recover_cache(hdr[-1], [f[-1] for f in fr])[0] or db[0][-1]
                if v in pub: out.append(('repair under WRITER: all is copied into a new file, synced, published; mark removed', (W, (salt+1, 0, 0, ('H', salt+1)), (salt+1,), tuple((None,) for _ in fr), ((v,), (v,)), procs, pub, acked, cnt, ((0,) * (o['writers'] + 1), 0))))
        # checkpointer
        i = o['writers']; p = procs[i]
        if o['ckptlock'] == 'reader' and p[0] == 'c0' and ckpts > 0 and mx > 0 and not (sus and sus[1]):
            R = 0 if nback == mx else mx
            out.append((f'checkpointer begins its held reader: {"the log is completely copied, read lock 0" if R == 0 else f"mark {R}"}', (W, shm, hdr, fr, db, P(i, ('cr', R)), pub, acked, (txns, ckpts-1, kills, alldie, fails), sus)))
        elif p[0] == 'cr':
            out.append((f'checkpointer reads the log\'s size: {mx}', (W, shm, hdr, fr, db, P(i, ('c1', min(mx, p[1]) if p[1] else mx, mx, p[1])), pub, acked, cnt, sus)))
        elif o['ckptlock'] == 'reader' and p[0] == 'c1' and (p[3] == 0 or nback >= p[1]):
            out.append(('checkpointer: nothing to copy' if nback >= p[1] else 'checkpointer: its own reader holds read lock 0, nothing is copied', (W, shm, hdr, fr, db, P(i, ('c0',)), pub, acked, cnt, sus)))
        elif o['ckptlock'] != 'reader' and p[0] == 'c0' and ckpts > 0 and mx > 0 and not (sus and sus[1] and o['react'] in ('rewrite', 'newfile')) and (W == 0 or not o['ckptlock']):
            opts = [mx] + ([k for k in range(2, mx, 2)] if o['partial'] else [])
            for safe in opts:
                out.append((f'checkpointer {"takes WRITER and " if o["ckptlock"] else ""}reads the log\'s size: {mx}{"" if safe == mx else f", a reader pins it at {safe}"}',
                    (9 if o['ckptlock'] else W, shm, hdr, fr, db, P(i, ('c1', safe, mx)), pub, acked, (txns, ckpts-1, kills, alldie, fails), sus)))
        elif p[0] == 'c1':
            if nback < p[1] and sus and sus[0][i]:
                fl = sus[0][:i] + (0,) + sus[0][i+1:]
                out.append(('checkpointer\'s sync of the log reports the failure: no checkpoint', (0 if W == 9 else W, shm, hdr, fr, db, P(i, ('c0',)), pub, acked, cnt, (fl, sus[1] or o['react'] != 'text'))))
            elif nback < p[1]:
                if o['walsync']: out.append(('checkpointer syncs the log', (W, shm, synced(hdr), tuple(f if isinstance(f[-1], tuple) and f[-1] and f[-1][0] == 'lost' else synced(f) for f in fr), db, P(i, ('c2',) + p[1:]), pub, acked, cnt, sus)))
                else: out.append(('checkpointer does not sync the log', (W, shm, hdr, fr, db, P(i, ('c2',) + p[1:]), pub, acked, cnt, sus)))
            else: out.append(('checkpointer: nothing to do', (0 if W == 9 else W, shm, hdr, fr, db, P(i, ('c0',)), pub, acked, cnt, sus)))
        elif p[0] in ('c2', 'c3'):
            k = int(p[0][1]) - 2; safe = p[1]; v = None
            for j in range(nback, min(safe, SLOTS)):
                f = fr[j][-1]; f = f[1] if f and f[0] == 'lost' else f
                if f and f[3] == k: v = f[4]
            d2 = db if v is None or db[k][-1] == v else db[:k] + (put(db[k], v),) + db[k+1:]
            out.append((f'checkpointer copies page {k}: t{v}', (W, shm, hdr, fr, d2, P(i, ('c3' if k == 0 else 'c4',) + p[1:]), pub, acked, cnt, sus)))
        elif p[0] == 'c4':
            if p[1] == mx or o['ckptlock'] is False:     # SQLite compares with the live header
                if p[1] == mx and o['dbsync']: out.append(('checkpointer syncs the database', (W, shm, hdr, fr, tuple(map(synced, db)), P(i, ('c5',) + p[1:]), pub, acked, cnt, sus)))
                else: out.append(('checkpointer does not sync the database', (W, shm, hdr, fr, db, P(i, ('c5',) + p[1:]), pub, acked, cnt, sus)))
            else: out.append(('checkpointer: partial, no sync of the database', (W, shm, hdr, fr, db, P(i, ('c5',) + p[1:]), pub, acked, cnt, sus)))
        elif p[0] == 'c5':
            nx = ('c6',) if o['truncate'] and p[1] == mx else ('c0',)
            out.append((f'checkpointer sets nBackfill = {p[1]}' + ('' if nx != ('c0',) else ' and leaves'), (W if nx != ('c0',) else (0 if W == 9 else W), (salt, mx, p[1], last), hdr, fr, db, P(i, nx), pub, acked, cnt, sus)))
        elif p[0] == 'c6':
            out.append(('checkpointer truncates the log and leaves', (0, (salt+1, 0, 0, ('H', salt+1)), put(hdr, ('T', salt)), tuple(put(f, ('T', salt, k)) if f[-1] is not None else f for k, f in enumerate(fr)), db, P(i, ('c0',)), pub, acked, cnt, sus)))
        if alldie and any(q[0] != 'dead' for q in procs):
            # recovery from the page cache's content
            v, mx2, last2, s2 = m.recover_cache(hdr[-1], [f[-1] for f in fr])
            if v is not None:
                pub2 = pub if v == pub[-1] or v in pub else pub + (v,)
                if v not in pub and o['phantom'] is False: pass
                out.append(('--- all processes die; a new one opens and recovers from the log file', (0, (s2, mx2, 0, last2), hdr, fr, db, tuple(('idle',) for _ in range(o['writers'])) + (('c0',),), pub2, acked, (txns, ckpts, kills, alldie-1, fails), sus)))
        return out
    def recover_cache(m, h, fr):
        if not isinstance(h, int): return None, 0, None, 0
        prev = ('H', h); mx = 0; v = None; last = prev
        for k, f in enumerate(fr):
            f = f[1] if f and f[0] == 'lost' else f
            if not f or f[0] == 'T' or f[0] != h or f[1] != prev: break
            prev = f[2]
            if f[5]: mx, v, last = k+1, f[4], f[2]
        return v, mx, last, h
    def images(m, hdr, fr, db):
        """all (x, y) that recovery may find after power loss"""
        key = (hdr, fr, db)
        if key in m.memo: return m.memo[key]
        res = set()
        dbx = lambda k: set(db[k]) | ({'torn'} if len(db[k]) > 1 else set())
        def finish(pages):
            xs = {pages[0]} if 0 in pages else dbx(0); ys = {pages[1]} if 1 in pages else dbx(1)
            res.update((x, y) for x in xs for y in ys)
        isT = lambda v: isinstance(v, tuple) and v and v[0] == 'T'
        def side(b, after):      # values of a block before or after the (last) truncation
            t = max([n for n, v in enumerate(b) if isT(v)], default=None)
            if t is None or m.o['truncate'] == 'any': return list(b)
            return list(b[t:]) if after else [v for v in b[:min(n for n, v in enumerate(b) if isT(v))]]
        def walk(h, k, prev, pages, pend, after=False):
            if k == SLOTS: finish(pages); return
            stop = False
            vals = side(fr[k], after); vals = vals + (['torn'] if len(vals) > 1 else [])
            for f in vals:
                if isinstance(f, tuple) and f and f[0] == 'lost': continue          # never reaches the disk
                if not isinstance(f, tuple) or f[0] == 'T' or f[0] != h or f[1] != prev: stop = True; continue
                p2 = dict(pend); p2[f[3]] = f[4]
                if f[5]: walk(h, k+1, f[2], {**pages, **p2}, {}, after)
                else: walk(h, k+1, f[2], pages, p2, after)
            if stop: finish(pages)
        for after in ((False, True) if any(isT(v) for v in hdr) else (False,)):
            hs = side(hdr, after)
            for h in hs + (['torn'] if len(hs) > 1 else []):
                if isinstance(h, int): walk(h, 0, ('H', h), {}, {}, after)
                else: finish({})
        m.memo[key] = res
        return res
    def check(m, s):
        W, shm, hdr, fr, db, procs, pub, acked, cnt, sus = s
        for x, y in m.images(hdr, fr, db):
            if x != y: return f'POWER LOSS here may leave pages of different transactions: page 0 from t{x}, page 1 from t{y} (corrupt)'
            if x in pub:
                if pub.index(x) < acked: return f'POWER LOSS here may leave the state of t{x}, but t{pub[acked]} was acknowledged as durable'
            elif not m.o['phantom'] and x < pub[-1]:
                return f'POWER LOSS here may bring up t{x}, which was never published (its writer was killed before), in the place of t{pub[-1]}, which was committed and seen by others'
        return None
V = {
 'base':            dict(partial=True, truncate='atomic', kill=0),
 'truncate-any':    dict(truncate='any'),
 'base-kill':       dict(partial=True, truncate=False, kill=1),
 'base-alldie':     dict(partial=False, truncate='atomic', kill=0, alldie=1),
 'held-reader':      dict(ckptlock='reader', txns=4, ckpts=3, writers=2, kill=0),
 'held-reader-kill': dict(ckptlock='reader', txns=4, ckpts=2, writers=2, kill=1),
 'distrust-word':    dict(fail=1, react='word', late=True, ckpts=0),
 'distrust-slots':   dict(fail=1, react='slots', late=True, ckpts=0),
 'distrust-word-kill':  dict(fail=1, react='word', late=True, ckpts=0, kill=1),
 'distrust-slots-kill': dict(fail=1, react='slots', late=True, ckpts=0, kill=1),
 'big':             dict(partial=True, truncate='atomic', kill=1, alldie=1, txns=4, ckpts=2, writers=2, ack='start'),
 '3writers':        dict(partial=True, truncate='atomic', txns=5, ckpts=2, writers=3, ack='start'),
 'ack-start':       dict(ack='start', partial=True, truncate='atomic'),
 'ack-end':         dict(ack='end'),
 'mut-ack-no-sync': dict(ack='none-sync'),
 'mut-no-walsync':  dict(walsync=False),
 'mut-no-dbsync':   dict(dbsync=False),
 'mut-no-hdrsync':  dict(hdrsync=False),
 'ckpt-beside-commits': dict(ckptlock=False, ckpts=3, txns=4),
 'phantom':         dict(kill=1, phantom=False, txns=3, ckpts=1),
 'syncfail-text':   dict(fail=1, react='text'),
 'syncfail-text-nockpt': dict(fail=1, react='text', ckpts=0),
 'syncfail-rewrite':dict(fail=1, react='rewrite', ckpts=3),
 'syncfail-newfile':dict(fail=1, react='newfile', ckpts=3),
 'syncfail-mark-only':   dict(fail=1, react='mark'),
}
if __name__ == '__main__':
    names = sys.argv[1:] or list(V)
    for n in names:
        mod = Model(**V[n]); report(n, explore(mod.init(), mod.next, mod.check))

#!/usr/bin/env python3
"""M5 spool and cursor (design 5.7, I-3, I-4). One stream, pages 1..NP (page k: after c(k-1), next c(k)), helpers that receive,
drainers that empty the spool, kills between every two steps. The database is busy a bounded number of times.
 ack     'page' the server keeps each page until that page is acknowledged, and redelivers it
         'upto' an acknowledgement of c(k) covers every page up to k (cumulative cursor)
 refuse  'drop'  a page that does not fit is refused and not acknowledged     'spool' it goes to the spool and is acknowledged
 direct  'plain' a direct write does not look at the spool    'behind' it goes behind what the spool holds for the stream
 admit   'any'   any page may be spooled and acknowledged     'chain' only one whose predecessor is the cursor or is in the spool
 order   'strict' only the head of the spool is tried         'skip' one that does not fit yet lets the next be tried
 park    'count' a page that does not fit counts as a failed attempt (parked after 2)    'wait' it does not
 rec     'cursor' an applied page is known only by next == cursor   'file' also by the spool file's id, written in the transaction
         'link'  by its (stream, next), written in the transaction
 killwho 'all' or 'drain' (only drainers are killed)
 reset   n times recovery sets the cursor back to the start (data lost, links forgotten); the server then sends one page X from
         the start straight to the end, so that a page waiting in the spool may never find its predecessor
 stale   'keep' nothing special   'merge' a spooled page carries the store identity it was received under; after a reset its events are merged,
         the cursor does not move and the file is removed; a direct write of before the reset is superseded
The goal that must stay reachable from every state: all pages applied, cursor at the end, spool empty, nothing parked, nothing unacknowledged."""
import sys
from explorer import explore, report
class Model:
    def __init__(m, **o):
        m.o = dict(ack='page', refuse='drop', direct='plain', admit='any', order='strict', park='count', rec='cursor', pages=2, helpers=2, drainers=1, busy=2, kills=1, inorder=False, killwho='all', reset=0, stale='keep'); m.o.update(o)
    def init(m):
        o = m.o
        # cursor, data, ids, links, spool, parked, unacked, helpers, drainers, (busy, kills), nextfile
        return (0, frozenset(), frozenset(), frozenset(), (), (), frozenset(range(1, o['pages']+1)), (None,)*o['helpers'], (None,)*o['drainers'], (o['busy'], o['kills']), 1, (o['reset'], 0))
    def fits(m, k, f, s):
        cur, data, ids, links = s[:4]
        if k == m.o['pages'] + 1: return 'apply' if cur == 0 else 'known' if cur == m.o['pages'] else 'no'
        if cur == k-1: return 'apply'
        if cur == k: return 'known'
        if m.o['rec'] == 'link' and k in links: return 'known'
        if m.o['rec'] == 'file' and f in ids: return 'known'
        return 'no'
    def next(m, s):
        o = m.o; cur, data, ids, links, spool, parked, unacked, hs, ds, (busy, kills), nf, rs = s; out = []; X = o['pages'] + 1
        H = lambda i, v: hs[:i] + (v,) + hs[i+1:]
        D = lambda i, v: ds[:i] + (v,) + ds[i+1:]
        cl = (lambda x: frozenset(x))
        for i, h in enumerate(hs):
            n = f'helper {i}'
            if h is None:
                for k in sorted(unacked):
                    if o['inorder'] and k != min(unacked): continue
                    if any(x and x[1] == k for x in hs): continue
                    out.append((f'{n} receives page {k}', (cur, data, ids, links, spool, parked, unacked, H(i, ('got', k, rs[1])), ds, (busy, kills), nf, rs)))
            elif h[0] == 'got':
                k = h[1]
                def to_spool(why, b):
                    if o['admit'] == 'chain' and not (cur >= k-1 or any(p[0] == k-1 for p in spool)):
                        return (f'{n}: {why}; predecessor is neither the cursor nor in the spool: page {k} is refused, not acknowledged', (cur, data, ids, links, spool, parked, unacked, H(i, None), ds, (b, kills), nf, rs))
                    return (f'{n}: {why}; page {k} goes to the spool, synced', (cur, data, ids, links, spool + ((k, nf, 0, h[2]),), parked, unacked, H(i, ('ack', k)), ds, (b, kills), nf+1, rs))
                if busy and len(spool) < o['pages'] + 1: out.append(to_spool('database busy', busy-1))
                if o['direct'] == 'behind' and spool and len(spool) < o['pages'] + 1 and m.fits(k, None, s) != 'known': out.append(to_spool('packets wait in the spool', busy))
                else:
                    w = m.fits(k, None, s)
                    if o['stale'] == 'merge' and h[2] < rs[1]: out.append((f'{n}: superseded by the recovery, page {k} given back, not acknowledged', (cur, data, ids, links, spool, parked, unacked, H(i, None), ds, (busy, kills), nf, rs)))
                    elif w == 'apply': out.append((f'{n} writes page {k}: data and cursor c{k} in one transaction', (X-1 if k == X else k, data | (set(range(1, X)) if k == X else {k}), ids, links | {k}, spool, parked, unacked, H(i, ('ack', k)), ds, (busy, kills), nf, rs)))
                    elif w == 'known': out.append((f'{n}: page {k} is already applied', (cur, data, ids, links, spool, parked, unacked, H(i, ('ack', k)), ds, (busy, kills), nf, rs)))
                    elif o['refuse'] == 'drop': out.append((f'{n}: page {k} does not fit (cursor c{cur}): refused whole, not acknowledged', (cur, data, ids, links, spool, parked, unacked, H(i, None), ds, (busy, kills), nf, rs)))
                    elif len(spool) < o['pages'] + 1: out.append(to_spool(f'page {k} does not fit (cursor c{cur})', busy))
            elif h[0] == 'ack':
                k = h[1]; un = unacked - (unacked if k == X else {k} if o['ack'] == 'page' else {j for j in unacked if j <= k})
                out.append((f'{n} acknowledges page {k} to the server' + (' (and with it all before)' if o['ack'] == 'upto' else ''), (cur, data, ids, links, spool, parked, frozenset(un), H(i, None), ds, (busy, kills), nf, rs)))
            if h and kills and o['killwho'] == 'all': out.append((f'--- {n} is killed ({h[0]} page {h[1]})', (cur, data, ids, links, spool, parked, unacked, H(i, None), ds, (busy, kills-1), nf, rs)))
        for i, d in enumerate(ds):
            n = f'drainer {i}'
            if d is None:
                cand = spool[:1] if o['order'] == 'strict' else spool
                for p in cand:
                    out.append((f'{n} reads spool file {p[1]} (page {p[0]})', (cur, data, ids, links, spool, parked, unacked, hs, D(i, ('read', p[0], p[1])), (busy, kills), nf, rs)))
            elif d[0] == 'read':
                k, f = d[1], d[2]; w = m.fits(k, f, s); here = [p for p in spool if p[1] == f]
                if here and o['stale'] == 'merge' and here[0][3] < rs[1] and w != 'known': out.append((f'{n}: page {k} is of before the reset: its events are merged, the cursor stays', (cur, data | {k}, ids | {f}, links, spool, parked, unacked, hs, D(i, ('done', k, f)), (busy, kills), nf, rs)))
                elif w == 'apply': out.append((f'{n} applies page {k}: data, cursor c{k} in one transaction', (X-1 if k == X else k, data | (set(range(1, X)) if k == X else {k}), ids | {f}, links | {k}, spool, parked, unacked, hs, D(i, ('done', k, f)), (busy, kills), nf, rs)))
                elif w == 'known': out.append((f'{n}: page {k} is already applied', (cur, data, ids, links, spool, parked, unacked, hs, D(i, ('done', k, f)), (busy, kills), nf, rs)))
                elif not here: out.append((f'{n}: file {f} is gone', (cur, data, ids, links, spool, parked, unacked, hs, D(i, None), (busy, kills), nf, rs)))
                elif o['park'] == 'count':
                    a = here[0][2] + 1
                    if a >= 2: out.append((f'{n}: page {k} does not fit (cursor c{cur}), attempt {a}: parked', (cur, data, ids, links, tuple(p for p in spool if p[1] != f), parked + ((k, f),), unacked, hs, D(i, None), (busy, kills), nf, rs)))
                    else: out.append((f'{n}: page {k} does not fit (cursor c{cur}), attempt {a}', (cur, data, ids, links, tuple((p[0], p[1], a, p[3]) if p[1] == f else p for p in spool), parked, unacked, hs, D(i, None), (busy, kills), nf, rs)))
                else: out.append((f'{n}: page {k} does not fit yet (cursor c{cur})', (cur, data, ids, links, spool, parked, unacked, hs, D(i, None), (busy, kills), nf, rs)))
            elif d[0] == 'done':
                out.append((f'{n} removes spool file {d[2]}', (cur, data, ids, links, tuple(p for p in spool if p[1] != d[2]), parked, unacked, hs, D(i, None), (busy, kills), nf, rs)))
            if d and kills: out.append((f'--- {n} is killed ({"after the commit, before the removal" if d[0] == "done" else "before the transaction"}, page {d[1]})', (cur, data, ids, links, spool, parked, unacked, hs, D(i, None), (busy, kills-1), nf, rs)))
        if rs[0] and all(x is None for x in ds):
            out.append(('--- recovery: pages lost, cursor set back to the start; the server will send all again as page X', (0, frozenset(), ids, frozenset(), spool, parked, frozenset({X}), hs, ds, (busy, kills), nf, (rs[0]-1, rs[1]+1))))
        return out
    def check(m, s):
        cur, data = s[0], s[1]
        for k in range(1, cur+1):
            if k not in data: return f'cursor c{cur} is ahead of the data of page {k}'
        # what was acknowledged must be durable somewhere
        for k in range(1, m.o['pages']+1):
            if k not in s[6] and m.o['pages']+1 not in s[6] and k not in data and not any(p[0] in (k, m.o['pages']+1) for p in s[4] + s[5]):
                return f'page {k} was acknowledged to the server but is neither in the database nor in the spool: LOST'
        return None
    def goal(m, s):
        return s[0] == m.o['pages'] and not s[4] and not s[5] and not s[6] and all(x is None for x in s[7] + s[8])
FIX = dict(order='skip', park='wait', rec='link')
V = {
 'literal':            dict(),
 'literal-refspool':   dict(refuse='spool'),
 'strict-wait':        dict(park='wait'),
 'skip-count':         dict(order='skip', park='count'),
 'skip-wait-cursor':   dict(order='skip', park='wait', rec='cursor'),
 'skip-wait-file':     dict(order='skip', park='wait', rec='file'),
 'fixed':              dict(**FIX, kills=2),
 'fixed-2drainers':    dict(**FIX, drainers=2, kills=2),
 'fixed-refspool':     dict(**FIX, refuse='spool', kills=2),
 'fixed-3pages':       dict(**FIX, pages=3, kills=1, busy=3),
 'skip-count-link':    dict(order='skip', park='count', rec='link'),
 'drainkill-cursor':   dict(order='skip', park='wait', rec='cursor', killwho='drain'),
 'drainkill-strict':   dict(order='strict', park='wait', rec='cursor', killwho='drain', admit='chain', inorder=True),
 'reset-keep':         dict(**FIX, pages=3, reset=1, kills=0),
 'reset-merge':        dict(**FIX, pages=3, reset=1, kills=1, stale='merge'),
 'upto-any':           dict(**FIX, ack='upto'),
 'upto-any-inorder':   dict(**FIX, ack='upto', inorder=True, helpers=1, kills=1),
 'upto-chain':         dict(**FIX, ack='upto', admit='chain', kills=2),
 'upto-chain-3pages':  dict(**FIX, ack='upto', admit='chain', pages=3, busy=3),
 'behind-strict':      dict(direct='behind', order='strict', park='wait', rec='link', admit='chain'),
 'behind-strict-any':  dict(direct='behind', order='strict', park='wait', rec='link', admit='any'),
}
if __name__ == '__main__':
    for n in sys.argv[1:] or list(V):
        mod = Model(**V[n]); r = explore(mod.init(), mod.next, mod.check, goal=mod.goal); report(n, r)
        if r.get('final'): f = r['final']; print(f"    state: cursor c{f[0]}, data {sorted(f[1])}, spool {[p[0] for p in f[4]]}, parked {[p[0] for p in f[5]]}, server still holds {sorted(f[6])}")

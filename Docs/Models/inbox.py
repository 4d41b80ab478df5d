#!/usr/bin/env python3
"""M5e pages as edges and inbox files (5.7 and M-12). Page k carries data k and the edge (k-1, k). Data is merged in any case; the
cursor follows edges from where it stands; an edge that does not start at the cursor waits (bound WAIT). A file's name is recorded in the
transaction that applies it; a recorded name is only unlinked; a writer drains the files first, oldest first.
 num    'counter' a file's number is never given again    'max+1' the largest in the folder plus one, taken under the folder's lock
 rec    'keep' recorded names stay    'prune' the record goes in a later transaction once the file is gone
 passed 'next'   an edge is a redelivery only if its next is the cursor      'memory' passed edges are remembered
        'both'   the same, and a remembered one takes no waiting place
 ack    'page' per page   'upto-next' cumulative by the page's next   'upto-cursor' cumulative by the cursor that the receipt states
        (edges in the files counted in)
 recov  n recoveries: data lost, cursor back to the start; edges 'keep' or 'drop' (waiting and remembered)
 full   'block' a file whose edge finds no room holds up the writer that drains first   'pass' the writer goes on with its own page
 kills, busy: bounds.   Goal: all data, cursor at the end, no file, nothing unacknowledged; with clean=True also no edge left waiting."""
import sys
from explorer import explore, report
class Model:
    def __init__(m, **o):
        m.o = dict(num='counter', rec='keep', passed='memory', ack='page', recov=0, edges='drop', kills=1, busy=2, pages=2, helpers=2, drainers=1, WAIT=4, clean=False, drain_first=True, full='block'); m.o.update(o)
    def init(m):
        o = m.o
        return (0, frozenset(), frozenset(), frozenset(), (), frozenset(), frozenset(range(1, o['pages']+1)), (None,)*o['helpers'], (None,)*o['drainers'], (o['busy'], o['kills'], o['recov']), 1, frozenset())
    # cursor, data, waiting edges (by page), passed edges, files ((name,page)...), recorded names, unacked, helpers, drainers, budgets, next name, everkept (name->page ghosts)
    def apply(m, s, k):
        cur, data, wait, passed = s[0], s[1] | {k}, set(s[2]), set(s[3])
        if k == cur: return (cur, data, s[2], s[3])                 # next is the cursor: redelivery
        if m.o['passed'] in ('memory', 'both') and k in passed: return (cur, data, s[2], s[3])
        if k-1 != cur and len(wait) >= m.o['WAIT'] and k not in wait: return None   # bound: refused whole
        wait.add(k)
        while cur + 1 in wait: cur += 1; wait.discard(cur); passed.add(cur) if m.o['passed'] != 'next' else None
        return (cur, data, frozenset(wait), frozenset(passed))
    def next(m, s):
        o = m.o; cur, data, wait, passed, files, rec, un, hs, ds, (busy, kills, recov), nn, kept = s; out = []
        H = lambda i, v: hs[:i] + (v,) + hs[i+1:]
        D = lambda i, v: ds[:i] + (v,) + ds[i+1:]
        B = (busy, kills, recov)
        for i, h in enumerate(hs):
            n = f'helper {i}'
            if h is None:
                for k in sorted(un):
                    if any(x and x[1] == k for x in hs): continue
                    out.append((f'{n} receives page {k}', (cur, data, wait, passed, files, rec, un, H(i, ('got', k)), ds, B, nn, kept)))
            elif h[0] == 'got':
                k = h[1]
                if busy and len(files) < o['pages'] + 1:
                    name = nn if o['num'] == 'counter' else max([f[0] for f in files], default=0) + 1
                    out.append((f'{n}: database busy; page {k} becomes file {name}, synced', (cur, data, wait, passed, files + ((name, k),), rec, un, H(i, ('ack', k)), ds, (busy-1, kills, recov), nn+1, kept)))
                stuck = files and files[0][0] not in rec and m.apply(s, files[0][1]) is None and o['full'] == 'pass'
                if not (o['drain_first'] and files) or stuck:
                    a = m.apply(s, k)
                    if a is None: out.append((f'{n}: no room for a waiting edge, page {k} is refused whole, not acknowledged', (cur, data, wait, passed, files, rec, un, H(i, None), ds, B, nn, kept)))
                    else: out.append((f'{n} writes page {k}: data, edge; the cursor is c{a[0]}', a + (files, rec, un, H(i, ('ack', k)), ds, B, nn, kept)))
                else:
                    name, kk = files[0]      # drains the oldest first, in a transaction of its own
                    if name in rec: out.append((f'{n} drains first: file {name} is recorded as applied, it is only unlinked', (cur, data, wait, passed, files[1:], rec, un, hs, ds, B, nn, kept)))
                    else:
                        a = m.apply(s, kk)
                        if a: out.append((f'{n} drains first: applies file {name} (page {kk}), records the name', a + (files, rec | {name}, un, hs, ds, B, nn, kept)))
                        else: out.append((f'{n}: file {name} has no room for its edge', (cur, data, wait, passed, files, rec, un, H(i, None), ds, B, nn, kept)))
            elif h[0] == 'ack':
                k = h[1]
                if o['ack'] == 'page': gone = {k}
                elif o['ack'] == 'upto-next': gone = {j for j in un if j <= k}
                else:
                    c = cur; es = set(wait) | {f[1] for f in files}
                    while c + 1 in es: c += 1
                    gone = {j for j in un if j <= c}
                out.append((f'{n} acknowledges page {k}' + ('' if o['ack'] == 'page' else f' (the server drops {sorted(gone)})'), (cur, data, wait, passed, files, rec, un - gone, H(i, None), ds, B, nn, kept)))
            if h and kills: out.append((f'--- {n} is killed', (cur, data, wait, passed, files, rec, un, H(i, None), ds, (busy, kills-1, recov), nn, kept)))
        for i, d in enumerate(ds):
            n = f'drainer {i}'
            if d is None and files:
                name, k = files[0]; out.append((f'{n} reads file {name} (page {k})', (cur, data, wait, passed, files, rec, un, hs, D(i, ('read', name, k)), B, nn, kept)))
            elif d and d[0] == 'read':
                name, k = d[1], d[2]
                if name in rec: out.append((f'{n}: name {name} is recorded as applied', (cur, data, wait, passed, files, rec, un, hs, D(i, ('done', name, k)), B, nn, kept)))
                else:
                    a = m.apply(s, k)
                    if a: out.append((f'{n} applies file {name} (page {k}) and records the name; the cursor is c{a[0]}', a + (files, rec | {name}, un, hs, D(i, ('done', name, k)), B, nn, kept)))
                    else: out.append((f'{n}: no room for the edge', (cur, data, wait, passed, files, rec, un, hs, D(i, None), B, nn, kept)))
            elif d and d[0] == 'done':
                out.append((f'{n} unlinks file {d[1]}', (cur, data, wait, passed, tuple(f for f in files if f[0] != d[1]), rec, un, hs, D(i, None), B, nn, kept)))
            if d and kills: out.append((f'--- {n} is killed' + (' after the commit, before the unlink' if d[0] == 'done' else ''), (cur, data, wait, passed, files, rec, un, hs, D(i, None), (busy, kills-1, recov), nn, kept)))
        if o['rec'] == 'prune':
            for r in rec:
                if not any(f[0] == r for f in files): out.append((f'the record of name {r} is pruned, its file is gone', (cur, data, wait, passed, files, rec - {r}, un, hs, ds, B, nn, kept)))
        if recov and all(x is None for x in hs + ds):
            w2, p2 = (wait, passed) if o['edges'] == 'keep' else (frozenset(), frozenset())
            out.append((f'--- recovery: all data lost, cursor back to the start, edges {"kept" if o["edges"] == "keep" else "dropped"}; the server is asked again from the start',
                        (0, frozenset(), w2, p2, files, rec, frozenset(range(1, o['pages']+1)), hs, ds, (busy, kills, recov-1), nn, kept)))
        return out
    def check(m, s):
        cur, data, un = s[0], s[1], s[6]
        for k in range(1, cur+1):
            if k not in data: return f'cursor c{cur} is ahead of the data of page {k}'
        for k in range(1, m.o['pages']+1):
            if k not in un and k not in data and not any(f[1] == k and f[0] not in s[5] for f in s[4]): return f'page {k} was acknowledged but is neither in the database nor in a file that will be applied: LOST'
        return None
    def goal(m, s): return s[0] == m.o['pages'] and s[1] == frozenset(range(1, m.o['pages']+1)) and not s[4] and not s[6] and (not m.o['clean'] or not s[2])
V = {
 'base':            dict(kills=2),
 'base-2drainers':  dict(drainers=2, kills=2),
 'base-3pages':     dict(pages=3, busy=3, kills=1),
 'prune-counter':   dict(rec='prune', kills=2),
 'num-max1':        dict(num='max+1', kills=0),
 'num-max1-prune':  dict(num='max+1', rec='prune', kills=1),
 'prune-2drainers': dict(rec='prune', drainers=2, kills=1),
 'passed-next':     dict(passed='next', pages=3, kills=2, busy=0, WAIT=1, clean=False),
 'passed-next-clean': dict(passed='next', pages=2, kills=1, busy=1, clean=True),
 'passed-memory-clean': dict(passed='memory', pages=3, kills=2, busy=1, WAIT=1, clean=True),
 'full-block':      dict(pages=3, kills=1, busy=1, WAIT=1),
 'full-pass':       dict(pages=3, kills=1, busy=1, WAIT=1, full='pass'),
 'recovery-keep':   dict(pages=2, recov=1, edges='keep', passed='memory', kills=0),
 'recovery-keep-next': dict(pages=2, recov=1, edges='keep', passed='next', kills=0),
 'recovery-drop':   dict(pages=2, recov=1, edges='drop', passed='memory', kills=1),
 'upto-next':       dict(ack='upto-next'),
 'upto-cursor':     dict(ack='upto-cursor', kills=2),
 'upto-cursor-3':   dict(ack='upto-cursor', pages=3, kills=1, busy=3),
}
if __name__ == '__main__':
    for n in sys.argv[1:] or list(V):
        mod = Model(**V[n]); r = explore(mod.init(), mod.next, mod.check, goal=mod.goal); report(n, r)
        if r.get('final'): f = r['final']; print(f"    state: cursor c{f[0]}, data {sorted(f[1])}, waiting edges {sorted(f[2])}, files {f[4]}, recorded {sorted(f[5])}, server still holds {sorted(f[6])}")

#!/usr/bin/env python3
"""M5f does the cursor come out the same in every order? (I-5 "pages out of order included", M-12). Sets of edges over opaque cursors,
all orders, each rule; reports sets whose final cursor depends on the order.  Rules for an edge whose start is not the cursor:
 wait        kept until the cursor comes to its start (forgotten once followed)
 wait+passed the same; one that starts at a cursor value already left is a redelivery"""
import itertools, sys
def run(order, rule):
    cur, wait, left = 'null', [], set()
    for a, n in order:
        if n == cur: continue
        if rule == 'wait+passed' and a in left and a != cur: continue
        wait.append((a, n))
        moved = True
        while moved:
            moved = False
            for e in wait:
                if e[0] == cur and e[1] != cur: wait.remove(e); left.add(cur); cur = e[1]; moved = True; break
                if e[0] == cur and e[1] == cur: wait.remove(e); moved = True; break
    return cur
sets = {'line': [('null','a'),('a','b'),('b','c')],
        'fork (two processes ask from the same cursor with other page sizes)': [('null','a'),('null','b')],
        'fork that joins': [('null','a'),('a','b'),('null','b')],
        'fork that joins, more behind': [('null','a'),('a','b'),('null','b'),('b','c')],
        'empty page (next = after)': [('null','a'),('a','a'),('a','b')],
        'cycle': [('null','a'),('a','b'),('b','a')]}
KEEPS_THE_CONTRACT = {'line', 'fork that joins', 'fork that joins, more behind', 'empty page (next = after)'}
V = {'forks-that-join': KEEPS_THE_CONTRACT, 'forks-that-part': set(sets) - KEEPS_THE_CONTRACT}
for variant in sys.argv[1:] or list(V):
    count = 0
    for name in sorted(V[variant]):
        for rule in ('wait', 'wait+passed'):
            res = {run(p, rule) for p in itertools.permutations(sets[name])}
            count += len(res) > 1
            print(f'{name:70s} {rule:12s} final cursors {sorted(res)}' + ('   <- depends on the order' if len(res) > 1 else ''))
    print(f'{variant} | errors: {count}')

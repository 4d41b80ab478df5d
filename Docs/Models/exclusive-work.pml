/* M6n exclusive work as the design has it (5.5, 5.8). Users 0,1; repairers 2,3 (have it open, see the damage).
   Everybody passes ENTRY shared, takes PRESENCE shared, then reads the registry's current file, then opens it. One worker by a try-lock on
   MAINTENANCE (the others give up PRESENCE and wait on that byte, shared); it takes ENTRY exclusively, sets the leave word; all finish, close, wait;
   proof by SQLite's exclusive lock; new file; publish (registry: file, generation, identity in one transaction).
   PASS   1 ENTRY is released after PRESENCE is held   2 "passes": taken and released before PRESENCE
   LV     1 the leave word is a plain flag, cleared by the worker at the end
          2 it counts only while ENTRY is held exclusively; who can take ENTRY shared ignores it
   PROOF  1 SQLite's exclusive lock is held until the new file is published   2 it is given up before the damaged set is moved (5.8: "no connection open")
          0 no proof by SQLite (damaged header: the read fails with NOTADB before anything is known)
   MOVE   1 the damaged set is moved before the new file is built   2 after the publication
   HOSTMT 1 the host holds MAINTENANCE for as long as it lives ("one owner under MAINTENANCE (the host)")   0 only for each checkpoint
   OWNPRES 1 the worker keeps its own PRESENCE shared while it waits for the others (and counts only the others)   0 gives it up
   RECHK  1 the damage is looked at again after MAINTENANCE is held
   FOREIGN 1 a foreign program has the file open (no PRESENCE, no leave word)
   KILLS of repairers, XS repairers, STOPS of user 0, BACK 1: a killed repairer comes again as a new process */
#ifndef PASS
#define PASS 1
#endif
#ifndef LV
#define LV 2
#endif
#ifndef PROOF
#define PROOF 1
#endif
#ifndef MOVE
#define MOVE 2
#endif
#ifndef HOSTMT
#define HOSTMT 0
#endif
#ifndef OWNPRES
#define OWNPRES 0
#endif
#ifndef RECHK
#define RECHK 1
#endif
#ifndef FOREIGN
#define FOREIGN 0
#endif
#ifndef KILLS
#define KILLS 0
#endif
#ifndef XS
#define XS 1
#endif
#ifndef STOPS
#define STOPS 0
#endif
#ifndef BACK
#define BACK 1
#endif
#ifndef USERS
#define USERS 1
#endif
#ifdef WORDS
#define say(f) printf(f)
#define say1(f,a) printf(f,a)
#define say2(f,a,b) printf(f,a,b)
#else
#define say(f) skip
#define say1(f,a) skip
#define say2(f,a,b) skip
#endif
byte regn = 1, ex; byte fst[6]; bool dmg[6], copying[6]; byte xl[6];   /* fst: 0 not at its path 1 whole 2 partial; xl: SQLite's exclusive lock */
bool es[4], pr[4], op1[4], stopped[4], fin[4], mts[4]; byte opn_[4];     /* ENTRY shared, PRESENCE shared; opn_: file a process has open (SQLite shared lock) */
byte mt, leave; byte kills = KILLS, stops = STOPS, repairs, refused; byte stale;
#define NOES (!es[0] && !es[1] && !es[2] && !es[3])
#define NOPR(i) ((i == 0 || !pr[0]) && (i == 1 || !pr[1]) && (i == 2 || !pr[2]) && (i == 3 || !pr[3]))
#define NOMTS (!mts[0] && !mts[1] && !mts[2] && !mts[3])
#define NOOPEN(f,i) ((i == 0 || opn_[0] != f) && (i == 1 || opn_[1] != f) && (i == 2 || opn_[2] != f) && (i == 3 || opn_[3] != f) && !(FOREIGN && f == 1 && foreignopen))
#define SH ((pr[0] || es[0]) && stopped[0])
bool foreignopen = FOREIGN;
proctype User(byte i) { byte n, w = 0; bool bad;
 opn: skip;
  d_step { !stopped[i] && ex == 0 -> es[i] = 1; say1("user %d has ENTRY shared\n", i) };
#if PASS == 2
  d_step { !stopped[i] -> es[i] = 0; say1("user %d has passed ENTRY\n", i) };
#endif
  d_step { !stopped[i] -> pr[i] = 1; say1("user %d has PRESENCE shared\n", i) };
#if PASS == 1
  d_step { !stopped[i] -> es[i] = 0 };
#endif
  d_step { !stopped[i] -> n = regn; say2("user %d reads the registry: file %d\n", i, n) };
  if :: d_step { !stopped[i] && (fst[n] == 0 || xl[n] != 0) -> pr[i] = 0; n = 0; say1("user %d cannot open it, leaves\n", i) }; if :: fst[regn] != 0 && xl[regn] == 0 && ex == 0 -> skip fi; goto opn
     :: d_step { !stopped[i] && fst[n] != 0 && xl[n] == 0 -> opn_[i] = n; say2("user %d opens file %d\n", i, n); assert(fst[n] == 1) } fi;
  do
  :: d_step { !stopped[i] && leave && !(LV == 2 && ex == 0) -> opn_[i] = 0; pr[i] = 0; n = 0; say1("user %d sees the leave word, closes and leaves\n", i);
       if :: ex == 0 -> stale++; assert(stale < 3) :: else fi };                   /* E8 nobody leaves for a worker that is gone, again and again */
     goto opn
  :: d_step { !stopped[i] && w < 2 && xl[n] == 0 -> w++; bad = copying[n]; say2("user %d commits to file %d\n", i, n) };
     d_step { !stopped[i] -> assert(!bad || fst[n] == 0);                            /* E2 no receipt for a commit that the copy does not hold, unless the path check reports it */
              if :: fst[n] == 0 -> say1("user %d: the file was replaced: error\n", i) :: else fi; bad = 0 }
  :: d_step { !stopped[i] && w == 2 -> opn_[i] = 0; pr[i] = 0; fin[i] = 1; say1("user %d closes\n", i) }; break
  od }
#define DIE(i) if :: d_step { kills > 0 -> kills--; pr[i] = 0; es[i] = 0; opn_[i] = 0; mts[i] = 0; if :: xl[1] == i+1 -> xl[1] = 0 :: else fi; if :: xl[2] == i+1 -> xl[2] = 0 :: else fi; if :: ex == i+1 -> ex = 0 :: else fi; if :: mt == i+1 -> mt = 0 :: else fi; copying[1] = 0; say1("--- repairer %d is killed\n", i) }; if :: BACK -> goto fresh :: !BACK -> goto gone fi :: skip fi
proctype Repairer(byte i) { byte old, nw;
 fresh: skip;
  if :: d_step { ex == 0 && !es[i] -> es[i] = 1 } fi; d_step { pr[i] = 1; es[i] = 0; say1("repairer %d has PRESENCE\n", i) };
  if :: d_step { dmg[regn] -> say1("repairer %d sees the damage\n", i) } :: d_step { !dmg[regn] -> pr[i] = 0 }; goto gone fi;
  if :: d_step { mt == 0 && NOMTS -> mt = i+1; say1("repairer %d has MAINTENANCE by a try\n", i) }
     :: d_step { mt != 0 || !NOMTS -> pr[i] = 0; say1("repairer %d: MAINTENANCE is taken, gives up PRESENCE and waits on it\n", i) };
        d_step { mt == 0 -> mts[i] = 1 }; mts[i] = 0; goto fresh
  fi;
  DIE(i);
  if :: d_step { ex == 0 && NOES -> ex = i+1; say1("repairer %d has ENTRY exclusively\n", i) }
     :: d_step { SH && es[0] -> refused++; say1("repairer %d gives up: user 0 is stopped in ENTRY\n", i); mt = 0; pr[i] = 0 }; goto gone fi;
  DIE(i);
  d_step { leave = 1; if :: !OWNPRES -> pr[i] = 0 :: else fi; say1("repairer %d sets the leave word\n", i) };
  DIE(i);
  if :: d_step { NOPR(i) -> say1("repairer %d: nobody has PRESENCE\n", i) }
     :: d_step { SH && pr[0] -> refused++; say1("repairer %d gives up: user 0 is stopped\n", i); leave = 0; ex = 0; mt = 0; pr[i] = 0 }; goto gone fi;
  DIE(i);
  old = regn;
  if :: RECHK && !dmg[old] -> goto rel :: else -> skip fi;
#if PROOF
  if :: d_step { NOOPEN(old,i) && xl[old] == 0 -> xl[old] = i+1; say1("repairer %d holds SQLite's exclusive lock\n", i) }
     :: d_step { !NOOPEN(old,i) -> refused++; say1("repairer %d: somebody has the file open (SQLite says busy): refused, named\n", i); leave = 0; ex = 0; mt = 0; pr[i] = 0; assert(FOREIGN || SH || PASS == 2) }; goto gone fi;
  DIE(i);
#endif
#if PROOF == 2
  d_step { xl[old] = 0; say1("repairer %d closes its exclusive connection\n", i) }; DIE(i);
#endif
#if MOVE == 1
  d_step { fst[old] = 0; say1("  file %d is moved to damaged\n", old) }; DIE(i);
#endif
  d_step { copying[old] = 1; nw = old+1; fst[nw] = 2; say1("  builds file %d (leftovers set aside)\n", nw) }; DIE(i);
  d_step { fst[nw] = 1; say1("  file %d is whole, its fence has the new generation\n", nw) }; DIE(i);
  d_step { regn = nw; repairs++; say1("  publishes file %d\n", nw); assert(repairs == 1) }; DIE(i);
#if MOVE == 2
  d_step { fst[old] = 0; say1("  file %d is moved to damaged\n", old) }; DIE(i);
#endif
  d_step { if :: xl[old] == i+1 -> xl[old] = 0 :: else fi };
 rel: skip;
  d_step { leave = 0; ex = 0; mt = 0; pr[i] = 0; say1("repairer %d is done\n", i) };
 gone: skip; d_step { fin[i] = 1; if :: mt == i+1 -> mt = 0 :: else fi } }
#if STOPS
active proctype Nemesis() { end: do :: d_step { stops > 0 && !fin[0] -> stops--; stopped[0] = 1; say("--- user 0 is stopped for good\n") } od }
#endif
#if FOREIGN
active proctype Foreign() { bool bad; d_step { foreignopen && xl[1] == 0 -> bad = copying[1]; say("the foreign program commits to file 1\n") }; d_step { assert(!bad); foreignopen = 0; say("the foreign program closes\n") } }
#endif
init { atomic { fst[1] = 1; dmg[1] = 1; if :: HOSTMT -> mt = 9 :: else fi; run User(0); if :: USERS == 2 -> run User(1) :: else -> fin[1] = 1 fi; run Repairer(2); if :: XS == 2 -> run Repairer(3) :: else -> fin[3] = 1 fi }
  timeout -> say("at rest\n");
  assert((fin[0] || stopped[0]) && fin[1] && fin[2] && fin[3]);
  assert(refused > 0 || !dmg[regn] || !BACK);
  assert(fst[regn] == 1 && ex == 0) }

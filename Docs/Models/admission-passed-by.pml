/* M1n admission as the design has it (5.1): QUEUE, WRITER, release QUEUE; the kernel's wait list as in m1 KERN 1;
   "WRITER free while QUEUE is held, seen for 20 ms: whoever sees it takes WRITER directly and sets the skip word, and everybody
   passes QUEUE by until it can be taken again".
   DET  1 the sight is exact: a running holder of QUEUE takes a free WRITER within 20 ms, so only a stopped one is seen so
        2 two looks 20 ms apart, each sees WRITER free and QUEUE held (in between anything may have happened)
        3 as 2, shown only where the turnstile moved between the looks (somebody was admitted): a healthy one
        4 two looks, and no admission between them (a counter that every taker of WRITER raises)
   CLR  1 with the skip word set, each admission first tries QUEUE without waiting; if it gets it, it clears the word and stands
        2 the word is cleared only by the process that was passed by, when it goes on
        3 nobody tries QUEUE while the word is set; the host's tick clears it when QUEUE is free
   GHOST 1 the thread of a passer stays blocked in QUEUE's list; when it is granted for nobody it releases at once; the next caller of
           that process may use its place       0 it leaves the list
   STOPS, KILLS, ROUNDS as in m1; KILLSTOPPED 1: the stopped one is killed, not continued */
#ifndef N
#define N 3
#endif
#ifndef DET
#define DET 1
#endif
#ifndef CLR
#define CLR 1
#endif
#ifndef GHOST
#define GHOST 1
#endif
#ifndef STOPS
#define STOPS 0
#endif
#ifndef KILLS
#define KILLS 0
#endif
#ifndef ROUNDS
#define ROUNDS 255
#endif
#ifndef CAP
#define CAP 3
#endif
#ifdef WORDS
#define say(f) printf(f, _pid)
#define sayx(f,a) printf(f, a)
#else
#define say(f) skip
#define sayx(f,a) skip
#endif
#define MORE !(ROUNDS != 255 && n == ROUNDS)
byte Q = 0, W = 0, inside = 0; bool S, everstop; byte adm; byte setter;
bool stopped[N], dead[N], ended[N], inlist[N], ghost[N], asked[N], stand[N], wasstop[N];
byte over[N], overst[N]; bool later[N*N], laterst[N*N];
byte qw[N]; byte qn = 0; byte nk = KILLS, ns = STOPS; byte u, v;
inline unlist(x) { u = 0; v = 0; inlist[x] = 0; ghost[x] = 0;
  do :: u < qn -> if :: qw[u] == x+1 -> skip :: else -> qw[v] = qw[u]; v++ fi; u++ :: else -> break od;
  if :: v < qn -> qn--; qw[qn] = 0 :: else fi; u = 0; v = 0 }
inline pass(x) { if :: GHOST -> ghost[x] = 1 :: else -> unlist(x) fi }
inline note_ask(x) { u = 0;
  do :: u < N -> later[x*N+u] = 0; laterst[x*N+u] = 0; if :: u != x && asked[u] -> later[u*N+x] = 1 :: else fi; if :: u != x && stand[u] -> laterst[u*N+x] = 1 :: else fi; u++ :: else -> break od;
  asked[x] = 1; over[x] = 0; overst[x] = 0; u = 0 }
inline note_gone(x) { u = 0; asked[x] = 0; stand[x] = 0; wasstop[x] = 0; over[x] = 0; overst[x] = 0;
  do :: u < N -> later[x*N+u] = 0; laterst[x*N+u] = 0; later[u*N+x] = 0; laterst[u*N+x] = 0; u++ :: else -> break od; u = 0 }
inline note_admit(x) { u = 0; adm = (adm+1)%4;
  do :: u < N -> if :: u != x && asked[u] && later[u*N+x] && over[u] < CAP -> over[u]++ :: else fi; if :: u != x && stand[u] && laterst[u*N+x] && overst[u] < CAP -> overst[u]++ :: else fi; u++ :: else -> break od;
  note_gone(x) }
active [N] proctype P() provided (!stopped[_pid] && !dead[_pid])
{ byte n = 0; bool look = 0; byte c = 0;
idle: skip;
  assert(Q != _pid+1 && W != _pid+1);
  if
  :: ROUNDS != 255 && n == ROUNDS -> goto fin
  :: d_step { MORE && S && CLR == 1 && Q == 0 -> note_ask(_pid); if :: inlist[_pid] -> unlist(_pid) :: else fi; Q = _pid+1; S = 0; stand[_pid] = 1; say("P%d tries QUEUE, gets it, clears the skip word: stands in QUEUE\n") }; goto wantW
  :: d_step { MORE && S && (CLR != 1 || Q != 0) -> note_ask(_pid); say("P%d passes QUEUE by\n") }; goto wantW
  :: d_step { MORE && !S && inlist[_pid] && ghost[_pid] -> note_ask(_pid); ghost[_pid] = 0; say("P%d comes and uses its thread's place in QUEUE's line\n") }
  :: d_step { MORE && !S && !inlist[_pid] && Q == 0 -> note_ask(_pid); Q = _pid+1; stand[_pid] = 1; say("P%d comes, QUEUE is free: stands in QUEUE\n") }; goto wantW
  :: d_step { MORE && !S && !inlist[_pid] && Q != 0 -> note_ask(_pid); qw[qn] = _pid+1; qn++; inlist[_pid] = 1; say("P%d comes and waits for QUEUE\n") }
  fi;
waitQ:
  if
  :: d_step { Q == 0 && qn > 0 && qw[0] == _pid+1 -> Q = _pid+1; unlist(_pid); stand[_pid] = 1; look = 0; c = 0; say("P%d stands in QUEUE\n") }; goto wantW
  :: d_step { !inlist[_pid] -> qw[qn] = _pid+1; qn++; inlist[_pid] = 1; say("P%d waits for QUEUE again, at the end\n") }; goto waitQ
  :: d_step { S -> pass(_pid); look = 0; c = 0; say("P%d sees the skip word, passes QUEUE by\n") }; goto wantW
#if DET == 1
  :: d_step { Q != 0 && W == 0 && stopped[Q-1] -> pass(_pid); S = 1; setter = _pid+1; W = _pid+1; inside++; note_admit(_pid); say("P%d has seen WRITER free and QUEUE held for 20 ms: takes WRITER, sets the skip word\n") }; goto gotW
#else
  :: d_step { Q != 0 && W == 0 && !look -> look = 1; c = adm; say("P%d looks: WRITER free, QUEUE held\n") }; goto waitQ
  :: d_step { Q != 0 && W == 0 && look && (DET == 2 || (DET == 3 && c != adm) || (DET == 4 && c == adm && stopped[Q-1])) -> look = 0; c = 0; pass(_pid); S = 1; setter = _pid+1; W = _pid+1; inside++; note_admit(_pid); say("P%d looks 20 ms later: WRITER free, QUEUE held; takes WRITER, sets the skip word\n") }; goto gotW
#endif
  fi;
wantW:
  if :: d_step { W == 0 -> W = _pid+1; inside++; note_admit(_pid); say("P%d takes WRITER\n") } fi;
gotW:
  assert(inside <= 1);
  if :: d_step { Q == _pid+1 -> Q = 0; if :: CLR == 2 && wasstop[_pid] -> S = 0 :: else fi; say("P%d releases QUEUE\n") } :: Q != _pid+1 fi;
  d_step { inside--; W = 0; say("P%d commits, releases WRITER\n") };
  n = (ROUNDS == 255 -> n : n+1);
  goto idle;
fin: ended[_pid] = 1
}
#if GHOST
active proctype Threads() { end: do
  :: d_step { Q == 0 && qn > 0 && ghost[qw[0]-1] && !stopped[qw[0]-1] -> v = qw[0]-1; sayx("the thread of P%d is granted QUEUE for nobody, releases it\n", v); u = v; inlist[v] = 0; ghost[v] = 0; v = 1; do :: v < qn -> qw[v-1] = qw[v]; v++ :: else -> break od; qn--; qw[qn] = 0; u = 0; v = 0 }
  od }
#endif
#define STOP(x) d_step { ns > 0 && !stopped[x] && !dead[x] && !ended[x] -> stopped[x] = 1; everstop = 1; ns--; wasstop[x] = 1; if :: ghost[x] || inlist[x] -> unlist(x) :: else fi; sayx("--- SIGSTOP P%d\n", x) }
#define CONT(x) d_step { stopped[x] && !KILLSTOPPED -> stopped[x] = 0; sayx("--- SIGCONT P%d\n", x) }
#define KILL(x) d_step { nk > 0 && !dead[x] && !ended[x] && (!KILLSTOPPED || stopped[x]) -> dead[x] = 1; nk--; stopped[x] = 0; unlist(x); if :: W == x+1 -> W = 0; inside-- :: else fi; if :: Q == x+1 -> Q = 0 :: else fi; note_gone(x); sayx("--- SIGKILL P%d\n", x) }
#ifndef KILLSTOPPED
#define KILLSTOPPED 0
#endif
#if STOPS + KILLS
active proctype Nemesis() { end: do :: STOP(0) :: CONT(0) :: KILL(0) :: STOP(1) :: CONT(1) :: KILL(1)
#if N > 2
  :: STOP(2) :: CONT(2) :: KILL(2)
#endif
  od }
#endif
#define BADSTAND(x) :: !wasstop[x] && overst[x] >= CHECK_STAND && (!everstop) -> assert(false)
#ifdef CHECK_STAND      /* S2: while nobody has ever been stopped nobody in QUEUE is overtaken, and the skip word is never set */
active proctype MonStand() { end: do BADSTAND(0) BADSTAND(1) BADSTAND(2) :: S && !everstop -> assert(false) od }
#endif
#ifdef CHECK_CLEAR      /* S6: when all is quiet one more admission finds or makes the skip word cleared */
active proctype MonClear() { byte m = 0;
  atomic { timeout -> do :: m < N -> assert(dead[m] || ended[m]); m++ :: else -> break od;
    if :: S && CLR == 1 && Q == 0 -> S = 0 :: else fi; if :: S && CLR == 3 && Q == 0 -> S = 0 :: else fi; assert(!S) } }
#endif

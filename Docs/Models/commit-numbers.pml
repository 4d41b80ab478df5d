/* M4b commit numbers over power losses (5.3): the fence row keeps the boot id, the first write transaction under another boot id
   raises the number by J (2^32 in the design) before its own row; a position that is neither a row nor the floor (0) answers resync.
   FIRST 0 as the text   1 the first transaction under a new boot id is synced before anybody can see it
   JUMP  0 no jump at all (the old text)
   A consumer keeps its position durably and reads the log whenever it likes. */
#ifndef J
#define J 3
#endif
#ifndef FIRST
#define FIRST 0
#endif
#ifndef JUMP
#define JUMP 1
#endif
#ifndef LOSSES
#define LOSSES 2
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
#define MAXN 24
byte uid[MAXN], head, dhead, fb = 1, dfb = 1, boot = 1, nuid, losses = LOSSES, commits = 4, k; byte pos; short seen; short used[MAXN];
#define ROW(p) (p == 0 || (p <= head && uid[p] != 0))
active proctype Writer() { byte n; end: do
  :: d_step { commits > 0 -> commits--; n = head + 1; if :: JUMP && fb != boot -> n = n + J :: else fi; fb = boot; nuid++; uid[n] = nuid; head = n;
        say2("boot %d: commit number %d\n", boot, n); assert(used[n] == 0); used[n] = nuid;      /* I-8 never reused */
        if :: FIRST && dfb != boot -> dhead = head; dfb = fb; say("  synced before anybody sees it\n") :: else fi; n = 0 }
  :: d_step { dhead != head || dfb != fb -> dhead = head; dfb = fb; say1("the log is synced up to %d\n", head) }
  od }
active proctype Power() { end: do :: d_step { losses > 0 -> losses--; boot++; k = dhead+1; do :: k < MAXN -> uid[k] = 0; k++ :: else -> break od; k = 0; head = dhead; fb = dfb; say1("--- POWER LOSS, the log ends at %d\n", head) } od }
active proctype Consumer() { end: do
  :: d_step { pos != head -> if :: ROW(pos) -> k = pos+1; do :: k <= head -> if :: uid[k] -> seen = seen | (1 << uid[k]) :: else fi; k++ :: else -> break od; say2("consumer at %d reads on to %d\n", pos, head)
                   :: else -> seen = 0; k = 1; do :: k <= head -> if :: uid[k] -> seen = seen | (1 << uid[k]) :: else fi; k++ :: else -> break od; say2("consumer at %d gets resync, now at %d\n", pos, head) fi; k = 0; pos = head;
       k = 1; do :: k <= pos -> assert(uid[k] == 0 || (seen & (1 << uid[k]))); k++ :: else -> break od; k = 0 } od }

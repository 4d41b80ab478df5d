/* M5b is a spooled packet ever drained when nobody comes later?  ("one for B exactly while the switch runs")
   CASE 1: helper finds B not active -> spools;  switch activates B, then drains B's spool once
   CASE 2: helper finds the database busy -> spools;  the process that made it busy commits, (looks at the spool), leaves
   RECHECK 1: after the file is in the spool the helper looks again (active? free?) and drains if so
   LOOK 1: the writer looks at the spool after it has released WRITER   2: before it releases   0: not */
#ifdef WORDS
#define say(f) printf(f)
#define sayn(n) printf("%d drains (1 helper, 2 switch, 3 writer)\n", n)
#else
#define say(f) skip
#define sayn(n) skip
#endif
bool act, held = (CASE == 2), spool; byte applied;
inline drain(w) { if :: d_step { spool -> spool = 0; applied++; sayn(w) } :: !spool fi }
active proctype Helper() {
  if :: CASE == 1 -> if :: act -> applied++; goto done :: !act -> say("helper: B is not active\n") fi
     :: CASE == 2 -> if :: !held -> applied++; goto done :: held -> say("helper: busy past its deadline\n") fi fi;
  d_step { spool = 1; say("helper: packet is in the spool, synced, acknowledged\n") };
#if RECHECK
  if :: (CASE == 1 && act) || (CASE == 2 && !held) -> drain(1) :: else -> skip fi;
#endif
done: skip }
active proctype Other() {
#if CASE == 1
  d_step { act = 1; say("switch: B active\n") }; drain(2)
#else
#if LOOK == 2
  drain(3);
#endif
  d_step { held = 0; say("writer leaves\n") };
#if LOOK == 1
  drain(3)
#endif
#endif
}
init { timeout -> assert(applied == 1) }

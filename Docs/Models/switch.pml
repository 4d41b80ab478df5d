/* M2 fencing and switch (design 4).
   Registry workspace.db (FULL, one transaction = one step): counter, per account state and generation, foreground, intent.
   Each account: messages fence (fgen,fact), settings fence (sgen,sact); one SQLite transaction = one step.
   SWITCH is a kernel lock: freed when its holder dies.  Accounts 0=A 1=B 2=C; at the start A is active with generation 1.

   GENMODE 1 the intent and all generation numbers it will use are written in ONE registry transaction
           2 each step takes the next number in a registry transaction of its own, then writes the fence
           3 numbers are counter+1, counter+2; the counter itself is written at completion
   GUARD   1 a fence row only moves to a higher generation (UPDATE ... WHERE generation < ?)     0 unconditional
   BYSTATE 1 roll-forward decides by the state in the fence (active or not)  0 by the generation in the fence
   FROM    1 the account to retire is read after SWITCH is held   0 before
   INTENT  1 every change of a fence has an intent (also sign-out)  0 only switch
   LOOK    1 whoever opens the workspace and sees an intent takes SWITCH and finishes it   0 only the next switch does
   SES     1 session() takes its token from the registry   2 from the fence, only if active   3 from the fence, any state
   CMP     1 a write compares account and generation, and the state must be active   0 generation only
   CHECKIN 1 the fence is compared inside the write transaction  0 before it
   FAILRET what is done when the retirement fails after the intent:  1 intent left, error told   2 intent withdrawn, error told
   FAILACT what is done when the target cannot be activated after the retirement:
           1 intent left, error told  2 the old account is activated again under a new generation; the intent is rewritten to that first
           3 the same, but the intent is left as it was until the registry is completed
   SETT    0 no settings.db  1 own fence row, retired after messages, activated after messages
           2 own row, retired before messages, activated before messages
           3 no own row: the messages fence is read before the settings transaction
           4 no own row: the same, but under the account's WRITER, which retirement takes as well
           5 own row, retired first, activated LAST is wrong order check: retired before, activated after messages
   POWER   n power losses;  DUR 1 each fence is synced before the next step  0 not
   RECON   2 where fence and registry disagree the higher generation wins (under SWITCH); the registry keeps each account's generation
           1 who looks also compares fence rows with the registry and repairs under SWITCH
   RESTORE 1 the restored file (fence of the backup) is published, then gets its new generation   2 the other way round
   RECOV   1 recovery's new generation is taken without SWITCH  2 under SWITCH
   OPS of the two switchers: see OP0, OP1: 0..2 switch to that account, 3 sign out the foreground, 9 nothing, 8 any target     */
#ifndef GENMODE
#define GENMODE 1
#endif
#ifndef GUARD
#define GUARD 1
#endif
#ifndef BYSTATE
#define BYSTATE 0
#endif
#ifndef FROM
#define FROM 1
#endif
#ifndef INTENT
#define INTENT 1
#endif
#ifndef LOOK
#define LOOK 1
#endif
#ifndef SES
#define SES 1
#endif
#ifndef CMP
#define CMP 1
#endif
#ifndef CHECKIN
#define CHECKIN 1
#endif
#ifndef FAILRET
#define FAILRET 0
#endif
#ifndef EXCL
#define EXCL 1
#endif
#ifndef MSGDEC
#define MSGDEC 0      /* 1: where settings and messages disagree and there is no intent, the settings fence is set to the messages fence */
#endif
#ifndef TRANSIENT
#define TRANSIENT 0   /* 1: the activation fails once only (disk full) */
#endif
#ifndef FIN
#define FIN 1   /* 0: a helper that finds an intent finishes it without taking SWITCH */
#endif
#ifndef FAILACT
#define FAILACT 0
#endif
#ifndef SETT
#define SETT 0
#endif
#ifndef POWER
#define POWER 0
#endif
#ifndef DUR
#define DUR 1
#endif
#ifndef RECON
#define RECON 0
#endif
#ifndef RESTORE
#define RESTORE 0
#endif
#ifndef RECOV
#define RECOV 0
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef OP0
#define OP0 1
#endif
#ifndef OP1
#define OP1 9
#endif
#ifndef SKIPACT
#define SKIPACT 0   /* 1: a target that is already active keeps its generation */
#endif
#ifndef CTRLOSS
#define CTRLOSS 0   /* the registry is lost and made anew: 1 its counter starts at 0  2 at the highest generation found in any fence  3 the same, and the intent is lost  4 and the intent is found in the fences */
#endif
#ifndef MULTI
#define MULTI 0
#endif
#ifndef WRITES
#define WRITES 2
#endif
#ifdef WORDS
#define say(f) printf(f)
#define say1(f,a) printf(f,a)
#define say2(f,a,b) printf(f,a,b)
#define say3(f,a,b,c) printf(f,a,b,c)
#else
#define say(f) skip
#define say1(f,a) skip
#define say2(f,a,b) skip
#define say3(f,a,b,c) skip
#endif
#define L(a) (a+65)
#define NG 16
byte ctr = 1 + MULTI, reg[3], rgen[3], fgr;            /* reg: 1 active */
byte iop, ifrom, ito, ig1, ig2, iowner;                /* iop 0 none 1 switch 2 sign-out; iowner: op that wrote it */
byte fgen[3], fact[3], sgen[3], sact[3];               /* fences */
byte dgen[3], dact[3];                                 /* what the disk holds for sure */
byte sw;                                               /* SWITCH owner */
byte wr[3];                                            /* WRITER owner of an account, only for SETT 4 */
byte used[NG];                                         /* generation -> 1 + acc*2 + state */
byte maxg[3];                                          /* highest generation the account's fence ever had */
bool told[3];                                          /* op was told that it failed */
byte succ[3];                                          /* op was told that it succeeded */
byte crashes = CRASHES, power = POWER, retfail = (FAILRET > 0), actfail = (FAILACT > 0);
byte done, bad = 9, lastgood = 0, epoch;               /* epoch: number of power losses */
bool opdone[2]; bool goto_act; byte pend[3]; bool reopen[2]; bool lossdone = 1;

inline setfence(a, g, s) {   /* a transaction in account a */
  if :: !GUARD || g > fgen[a] ->
       assert(g >= fgen[a]);                                              /* T1 a fence never goes back */
       assert(used[g] == 0 || used[g] == 1 + a*2 + s);                    /* T2 a generation names one activation or retirement */
       assert(!(g == fgen[a] && s == 1 && fact[a] == 0));                 /* T3 never active again with a number it had */
       used[g] = 1 + a*2 + s; fgen[a] = g; fact[a] = s;
       if :: g > maxg[a] -> maxg[a] = g :: else fi;
       if :: DUR -> dgen[a] = g; dact[a] = s :: else fi;
       say3("  fence of %c := generation %d, active=%d\n", L(a), g, s)
     :: else -> say2("  fence of %c already past %d: left\n", L(a), g) fi }
inline setsett(a, g, s) { if :: !GUARD || g > sgen[a] -> sgen[a] = g; sact[a] = s; say3("  settings fence of %c := %d, active=%d\n", L(a), g, s) :: else fi }

#define CRASH(who) if :: d_step { crashes > 0 -> crashes--; sw = 0; say1("--- process %d is killed\n", who) }; goto died :: skip fi
#define POWERED (myepoch != epoch)

/* finish whatever intent is there. Caller holds SWITCH. */
inline finish(who) {
  do :: iop == 0 -> break
     :: iop != 0 ->
     d_step { assert(!(told[iowner] && iowner != 2));                                     /* T4 an operation that was told "failed" is not carried out later */
        say1("process %d finds an intent and rolls it forward\n", who) };
     steps(who)
  od }
#define NEED1 (pend[ifrom] == 0) && (BYSTATE -> fact[ifrom] == 1 : (GENMODE == 2 -> fact[ifrom] == 1 : fgen[ifrom] < ig1))
#define NEED2 (BYSTATE -> fact[ito] == 0 : (GENMODE == 2 -> fact[ito] == 0 || ito == ifrom : fgen[ito] < ig2 && !(SKIPACT && reg[ito] == 1 && ito != ifrom && fact[ito])))
inline steps(who) {
  /* retire */
  if :: ifrom != 9 && NEED1 ->
        if :: FAILRET == 5 && retfail > 0 ->
              d_step { retfail = 0; pend[ifrom] = ig1; maxg[ifrom] = ig1; used[ig1] = 1 + ifrom*2; if :: EXCL -> reopen[0] = 1; reopen[1] = 1 :: else fi;
                 say1("  A cannot be written: retired in the registry, its fence is to be written by whoever opens it next (everybody out: %d)\n", EXCL) }; goto_act = 1
           :: FAILRET == 6 -> d_step { iop = 0; told[iowner] = 1; say1("  A cannot be written: process %d withdraws the intent\n", who) }; break
           :: FAILRET < 5 || (FAILRET == 5 && retfail == 0) -> skip fi;
        if :: goto_act -> skip :: !goto_act && (FAILRET == 5 || FAILRET == 0 || FAILRET >= 3) -> skip
           :: d_step { retfail > 0 && FAILRET < 3 && !goto_act -> retfail--; say("  the retirement fails (A's WRITER is held by a stopped process: busy)\n") };
              if :: FAILRET == 2 -> d_step { iop = 0; told[iowner] = 1; say1("  process %d withdraws the intent and tells its caller that it failed\n", who) }; break
                 :: FAILRET == 1 -> d_step { told[iowner] = 1; say1("  process %d tells its caller that it failed; the intent stays\n", who) }; break
              fi
           :: FAILRET < 3 && !goto_act -> skip fi;
        if :: goto_act -> goto_act = 0 :: else ->
        if :: GENMODE == 2 -> d_step { ctr++; ig1 = ctr }; CRASH(who) :: else fi;
        if :: SETT == 2 || SETT == 5 -> d_step { setsett(ifrom, ig1, 0) }; CRASH(who) :: else fi;
        if :: FAILRET >= 3 && retfail > 0 ->
              if :: d_step { retfail--; say("  the messages fence cannot be written (disk full, busy)\n") };
                    if :: FAILRET == 3 -> d_step { iop = 0; told[iowner] = 1; say1("  process %d withdraws the intent\n", who) }; break
                       :: FAILRET == 4 -> d_step { told[iowner] = 1; ctr++; ig1 = 0; ig2 = ctr; ito = ifrom; ifrom = 9; iowner = 2; say1("  process %d turns the intent round: the old account again, under a new generation\n", who) }; goto_act = 1
                    fi
                 :: skip fi
           :: else fi;
        if :: goto_act -> goto_act = 0 :: else ->
        if :: SETT == 4 -> d_step { wr[ifrom] == 0 -> setfence(ifrom, ig1, 0) } :: else -> d_step { setfence(ifrom, ig1, 0) } fi; CRASH(who);
        if :: SETT == 1 -> d_step { setsett(ifrom, ig1, 0) }; CRASH(who) :: else fi fi fi
     :: else ->
        if :: ifrom != 9 && SETT == 1 && sgen[ifrom] < ig1 -> d_step { setsett(ifrom, ig1, 0) }; CRASH(who) :: else fi
  fi;
  /* activate */
  if :: iop == 1 && NEED2 ->
        if :: d_step { actfail > 0 || bad == ito -> if :: actfail > 0 -> actfail-- :: else fi; if :: !TRANSIENT -> bad = ito :: else fi; say1("  %c cannot be activated (file damaged or disk full since the preparation)\n", L(ito)) };
              if :: FAILACT == 2 && ifrom == 9 -> d_step { say1("  process %d: going back fails as well; the intent (back to the old account) stays for the next that looks\n", who) }; break
                 :: FAILACT == 2 && ifrom != 9 -> d_step { told[iowner] = 1; ctr++; ig2 = ctr; ito = ifrom; iowner = 2; say1("  process %d turns the intent round: back to the old account, and tells its caller\n", who) }
                 :: FAILACT == 3 -> d_step { ctr++; say1("  process %d activates the old account under a third generation\n", who); setfence(ifrom, ctr, 1) }; CRASH(who); d_step { reg[ifrom] = 1; rgen[ifrom] = fgen[ifrom]; fgr = ifrom+1; told[iowner] = 1; iop = 0; ifrom = 9; ito = 9 }; break
                 :: FAILACT == 1 -> d_step { say1("  process %d tells its caller; the intent stays\n", who) }; break
              fi
           :: bad != ito -> skip fi;
        if :: GENMODE == 2 -> d_step { ctr++; ig2 = ctr }; CRASH(who) :: else fi;
        if :: SETT == 2 -> d_step { setsett(ito, ig2, 1) }; CRASH(who) :: else fi;
        d_step { setfence(ito, ig2, 1) }; CRASH(who);
        if :: SETT == 1 || SETT == 5 -> d_step { setsett(ito, ig2, 1) }; CRASH(who) :: else fi
     :: else ->
        if :: iop == 1 && (SETT == 1 || SETT == 5) && sgen[ito] < ig2 -> d_step { setsett(ito, ig2, 1) }; CRASH(who) :: else fi
  fi;
  /* complete: one registry transaction */
  d_step { if :: ifrom != 9 -> reg[ifrom] = 0 :: else fi;
     if :: ifrom != 9 -> rgen[ifrom] = fgen[ifrom] :: else fi;
     if :: iop == 1 -> reg[ito] = 1; rgen[ito] = fgen[ito]; fgr = ito+1 :: else -> fgr = 0 fi;
     if :: GENMODE == 3 -> ctr = ig2 :: else fi;
     if :: told[iowner] -> skip :: else -> succ[iowner]++ fi;
     iop = 0; ifrom = 9; ito = 9; ig1 = 0; ig2 = 0; say1("process %d completes the registry\n", who) };
  CRASH(who) }

inline reconcile(who) { byte ra; ra = 0;
  if :: RECON == 2 -> do :: ra < 3 && iop == 0 ->
        if :: d_step { fgen[ra] > rgen[ra] && (reg[ra] != fact[ra] || rgen[ra] != fgen[ra]) -> rgen[ra] = fgen[ra]; reg[ra] = fact[ra]; if :: fgr == ra+1 && !fact[ra] -> fgr = 0 :: else fi; if :: fact[ra] -> fgr = ra+1 :: else fi; say2("process %d: the fence of %c is newer than the registry: the registry follows\n", who, L(ra)) }
           :: d_step { fgen[ra] < rgen[ra] -> setfence(ra, rgen[ra], reg[ra]); say2("process %d: the registry is newer than the fence of %c: the fence follows\n", who, L(ra)) }
           :: d_step { !(fgen[ra] > rgen[ra] && (reg[ra] != fact[ra] || rgen[ra] != fgen[ra])) && !(fgen[ra] < rgen[ra]) -> skip } fi; ra++
     :: else -> break od; ra = 0 :: else -> skip fi;
  do :: RECON != 2 && ra < 3 && iop == 0 ->
        if :: d_step { reg[ra] && (!fact[ra] || fgen[ra] != rgen[ra]) -> ctr = (ctr > fgen[ra] -> ctr : fgen[ra]); ctr++; setfence(ra, ctr, 1); rgen[ra] = ctr; say1("process %d reconciles: registry says active\n", who) }
           :: d_step { !reg[ra] && fact[ra] -> ctr++; setfence(ra, ctr, 0); say1("process %d reconciles: registry says retired\n", who) }
           :: d_step { !(reg[ra] && (!fact[ra] || fgen[ra] != rgen[ra])) && !(!reg[ra] && fact[ra]) -> skip } fi; ra++
     :: else -> break od; ra = 0 }


proctype Op(byte who; byte what) provided (epoch == 0)
{ byte from, target; 
  if :: what == 8 -> if :: target = 0 :: target = 1 :: target = 2 fi :: else -> target = what fi;
  if :: !FROM -> d_step { from = fgr; say2("process %d reads that %c is in front\n", who, L(from-1)) } :: else fi;
  d_step { sw == 0 && (who == 0 || lossdone) -> sw = who+1; say1("process %d takes SWITCH\n", who) };
  CRASH(who);
  finish(who);
  if :: iop != 0 -> d_step { sw = 0; told[who] = 1; say1("process %d: the pending intent cannot be finished, own request refused\n", who) }; goto out :: else fi;
  if :: FROM -> from = fgr :: else fi;
  if :: target < 3 && bad == target -> d_step { sw = 0; told[who] = 1; say1("process %d: the target cannot be prepared, nothing changed\n", who) }; goto out :: else fi;
  if :: target < 3 || INTENT ->
     d_step { iop = (target < 3 -> 1 : 2); ifrom = (from == 0 -> 9 : from-1); ito = (target < 3 -> target : 9); iowner = who;
        if :: GENMODE == 1 -> ig1 = ctr+1; ig2 = ctr+2; ctr = ctr+2 :: GENMODE == 3 -> ig1 = ctr+1; ig2 = ctr+2 :: else fi;
        say3("process %d writes the intent: %c -> %c\n", who, (from == 0 -> 45 : L(from-1)), (target < 3 -> L(target) : 45)) };
     CRASH(who);
     do :: iop == 0 -> break :: iop != 0 -> steps(who); break od
  :: else ->      /* sign-out without an intent: fence, then registry */
     if :: from == 0 -> goto rel :: else fi;
     d_step { ctr++; setfence(from-1, ctr, 0); say1("process %d signs out (no intent): fence first\n", who) }; CRASH(who);
     d_step { reg[from-1] = 0; rgen[from-1] = fgen[from-1]; fgr = 0; succ[who]++ }; CRASH(who)
  fi;
rel: sw = 0; goto out;
died: /* the caller's process is gone; a new process of the same program comes */
  if :: LOOK -> 
       d_step { sw == 0 -> sw = who+1; say1("a new process %d takes SWITCH\n", who) };
       finish(who);
       if :: RECON -> reconcile(who) :: else fi;
       sw = 0
     :: else fi;
out: opdone[who] = 1; done++
}
#define CURRENT(a,g) (fact[a] == 1 && fgen[a] == g && (epoch -> (reg[a] == 1 || (iop != 0 && ito == a)) : g == maxg[a]))   /* after a power loss no token of before exists */
proctype Writer(byte who; byte acc; byte gen) provided (epoch == 0)
{ byte n = 0; bool ok;
  do
  :: n < WRITES && gen != 0 -> n++;
     /* a write with the token it has */
     if :: CHECKIN ->
          d_step { if :: reopen[who] -> reopen[who] = 0; if :: pend[acc] > fgen[acc] -> fgen[acc] = pend[acc]; fact[acc] = 0; say2("writer %d opens %c again and writes its pending fence first\n", who, L(acc)) :: else fi :: else fi;
                    if :: fgen[acc] == gen && (!CMP || fact[acc]) -> say3("writer %d commits to %c with generation %d\n", who, L(acc), gen);
                         assert(CURRENT(acc,gen))                                     /* T5 = I-2 */
                      :: else -> say2("writer %d is superseded (held %d)\n", who, gen);
                         assert(!(MULTI == 2 && acc == 1 && reg[1] == 1));            /* T8 background account never left */
                         gen = 0 fi }
        :: !CHECKIN ->
          ok = (fgen[acc] == gen && fact[acc]); 
          d_step { if :: ok -> say3("writer %d commits to %c with generation %d\n", who, L(acc), gen); assert(CURRENT(acc,gen)) :: else -> gen = 0 fi }
     fi
#if SETT
  :: n < WRITES && gen != 0 -> n++;
     if :: SETT == 1 || SETT == 2 || SETT == 5 ->
          d_step { if :: sgen[acc] == gen && sact[acc] -> say3("writer %d commits to settings of %c with generation %d\n", who, L(acc), gen);
                         assert(CURRENT(acc,gen))                                     /* T6 = I-2 for settings */
                      :: else -> say3("writer %d: settings of %c refuse generation %d\n", who, L(acc), gen);
#if MSGDEC
                         if :: iop == 0 && sgen[acc] != fgen[acc] -> sgen[acc] = fgen[acc]; sact[acc] = fact[acc]; say1("  no intent: the messages fence decides, the settings fence of %c follows it\n", L(acc)) :: else fi;
#endif
#ifdef STRICTSETT
                         assert(!CURRENT(acc,gen) || iop != 0 || (sgen[acc] == gen && sact[acc]));                       /* T7 a current token is refused at rest */
#endif
                         if :: sgen[acc] == gen && sact[acc] -> skip :: else -> gen = 0 fi fi }
        :: SETT == 3 -> ok = (fgen[acc] == gen && fact[acc]); d_step { if :: ok -> say2("writer %d commits to settings of %c, fence read before\n", who, L(acc)); assert(CURRENT(acc,gen)) :: else -> gen = 0 fi }
        :: SETT == 4 -> d_step { wr[acc] == 0 -> wr[acc] = who+1 }; ok = (fgen[acc] == gen && fact[acc]);
                        d_step { if :: ok -> say2("writer %d commits to settings of %c under WRITER\n", who, L(acc)); assert(CURRENT(acc,gen)) :: else -> gen = 0 fi; wr[acc] = 0 }
     fi
#endif
  :: n < WRITES -> n++;                                                            /* take a new session */
     if :: acc = 0 :: acc = 1 fi;
     d_step { if :: SES == 1 && reg[acc] == 1 -> gen = rgen[acc] :: SES == 2 && fact[acc] == 1 -> gen = fgen[acc] :: SES == 3 -> gen = fgen[acc] :: else -> gen = 0 fi;
        if :: gen -> say3("writer %d opens a session of %c, generation %d\n", who, L(acc), gen) :: else fi }
  :: n == WRITES -> break
  od; done++
}
#if FIN == 0
proctype Finisher(byte who) { byte f, to, a1, a2;
  d_step { iop == 1 && ifrom != 9 -> f = ifrom; to = ito; a1 = ig1; a2 = ig2; say1("helper %d reads the intent and finishes it without SWITCH\n", who) };
  d_step { if :: fgen[f] < a1 -> setfence(f, a1, 0) :: else fi };
  d_step { if :: fgen[to] < a2 -> setfence(to, a2, 1) :: else fi } }
#endif
#if CTRLOSS
proctype Loss() { d_step { ((opdone[0] && iop == 0) || CTRLOSS >= 3) && sw == 0 ->
   if :: CTRLOSS == 3 -> iop = 0; ifrom = 9; ito = 9; reg[0] = fact[0]; reg[1] = fact[1]; reg[2] = fact[2]; rgen[0] = fgen[0]; rgen[1] = fgen[1]; rgen[2] = fgen[2]; fgr = (fact[1] -> 2 : (fact[0] -> 1 : 0)) :: else fi;
   if :: CTRLOSS == 1 -> ctr = 0 :: CTRLOSS >= 2 -> ctr = fgen[0]; if :: fgen[1] > ctr -> ctr = fgen[1] :: else fi; if :: fgen[2] > ctr -> ctr = fgen[2] :: else fi fi;
   /* 4: the fences of a switch name each other: the one that is left says which one is to follow, and under which generation */
   if :: CTRLOSS == 4 -> reg[0] = fact[0]; reg[1] = fact[1]; reg[2] = fact[2]; rgen[0] = fgen[0]; rgen[1] = fgen[1]; rgen[2] = fgen[2]; fgr = (fact[1] -> 2 : (fact[0] -> 1 : 0));
        if :: iop == 1 && ifrom != 9 && ito != 9 && ito != ifrom && !fact[ifrom] && fgen[ifrom] >= ig1 && fgen[ito] < ig2 -> ctr++; ig2 = ctr :: else -> iop = 0; ifrom = 9; ito = 9 fi :: else fi;
   say1("the registry is lost and made anew from the account folders, counter %d\n", ctr); lossdone = 1; done++ } }
#endif
#if RESTORE
proctype Restore() { byte g;    /* of A; backup made when A had generation 1 and was active */
  d_step { sw == 0 && iop == 0 && opdone[0] -> sw = 9; say("restore of A starts (everyone is out), the backup holds fence (1, active)\n") };
  if :: RESTORE == 1 -> d_step { fgen[0] = 1; fact[0] = 1; say("  new file published\n") }; d_step { ctr++; setfence(0, ctr, reg[0]); rgen[0] = ctr }
     :: RESTORE == 2 -> d_step { ctr++; fgen[0] = ctr; fact[0] = reg[0]; if :: fact[0] -> rgen[0] = ctr :: else fi; maxg[0] = ctr; used[ctr] = 1 + reg[0]; say("  fence rewritten in the new file, then published\n") } fi;
  sw = 0; done++ }
#endif
#if RECOV
proctype Recov() { bool act; byte g;   /* recovery of A gives it a new generation; it keeps A's state */
  if :: RECOV == 2 -> d_step { sw == 0 && iop == 0 -> sw = 9; say("recovery of A takes SWITCH\n") } :: else fi;
  act = reg[0]; say1("recovery of A: registry says active=%d\n", act);
  d_step { ctr++; g = ctr };
  d_step { say("recovery publishes A with a new generation\n"); if :: g > fgen[0] || !GUARD -> setfence(0, g, act) :: else fi };
  d_step { if :: act -> rgen[0] = g; reg[0] = 1 :: else fi };
  if :: RECOV == 2 -> sw = 0 :: else fi; done++ }
#endif
#if POWER
proctype WriterP(byte who) { byte acc, gen, n = 0;
  do :: n < 3 -> n++; if :: acc = 0 :: acc = 1 fi;
     d_step { if :: SES == 1 && reg[acc] == 1 -> gen = rgen[acc] :: SES == 2 && fact[acc] == 1 -> gen = fgen[acc] :: else -> gen = 0 fi;
        if :: gen -> say3("writer %d opens a session of %c, generation %d\n", who, L(acc), gen) :: else fi };
     d_step { if :: gen != 0 && fgen[acc] == gen && fact[acc] -> say3("writer %d commits to %c with generation %d\n", who, L(acc), gen); assert(CURRENT(acc,gen)) :: else fi }
  :: n == 3 -> break od }
proctype Power() {   /* at one moment everything dies; each account's file keeps its unsynced fence or loses it */
  atomic { power > 0 -> power--; epoch++; say("--- POWER LOSS\n");
    if :: fgen[0] = dgen[0]; fact[0] = dact[0]; say2("  A's file is back at generation %d, active %d\n", fgen[0], fact[0]) :: skip fi;
    if :: fgen[1] = dgen[1]; fact[1] = dact[1]; say2("  B's file is back at generation %d, active %d\n", fgen[1], fact[1]) :: skip fi;
    sw = 0; crashes = 0; run WriterP(5) } }
#endif
#define NPROC (3 + (CTRLOSS > 0) + (RESTORE > 0) + (RECOV > 0))
init {
  atomic {
    reg[0] = 1; rgen[0] = 1; fgr = 1; fgen[0] = 1; fact[0] = 1; dgen[0] = 1; dact[0] = 1; sgen[0] = 1; sact[0] = 1; used[1] = 2; maxg[0] = 1; ifrom = 9; ito = 9;
    if :: MULTI -> reg[1] = 1; rgen[1] = 2; fgen[1] = 2; fact[1] = 1; dgen[1] = 2; dact[1] = 1; used[2] = 4; maxg[1] = 2; sgen[1] = 2; sact[1] = 1 :: else fi;
    run Op(0, OP0); if :: OP1 != 9 -> run Op(1, OP1) :: else -> done++; opdone[1] = 1 fi;
    if :: MULTI -> run Writer(0, 1, 2) :: else -> run Writer(0, 0, 1) fi;
#if CTRLOSS
    lossdone = 0; run Loss();
#endif
#if FIN == 0
    run Finisher(5);
#endif
#if RESTORE
    run Restore();
#endif
#if RECOV
    run Recov();
#endif
#if POWER
    run Power();
#endif
  }
  /* at rest */
  timeout ->
  say("at rest\n"); crashes = 0;
  assert(done == NPROC || epoch);                                                            /* T9 nobody hangs */
  if :: LOOK && sw == 0 -> sw = 9; finish(7); if :: RECON -> reconcile(7) :: else fi; sw = 0 :: else fi;
  goto judge;
died: skip;
judge:
  atomic {
#ifndef NOREST
    byte k = 0, act = 0; bool out = 0;
    do :: k < 3 -> act = act + fact[k];
          assert(iop == 0);                                                         /* R1 nothing pending */
          assert(reg[k] == fact[k] || (pend[k] && !reg[k]));                                                /* R2 registry and fences agree */
          assert(!reg[k] || rgen[k] == fgen[k]); k++                                /* R3 a session taken now can write */
       :: else -> break od;
    out = (OP0 == 3 || OP1 == 3);
    assert(MULTI || pend[0] || act == 1 || (out && act == 0));                                 /* R4 exactly one active, none after a sign-out */
    assert(fgr == 0 || fact[fgr-1]);                                                /* R5 the one in front is active */
    assert(fgr != 0 || out);
#if FAILRET >= 5
    assert(succ[0] > 0 || CRASHES > 0)                                                             /* R6 one can leave an account that cannot be written */
#endif
#else
    skip
#endif
  }
}

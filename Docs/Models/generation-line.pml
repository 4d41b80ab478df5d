/* M4g the generation-change line ("a generation-change line and no range of A after it without asking again")
   LINE 1 the hub sends the line when the switch announces it and goes on reading A's log for the subscribers it has
        2 it first reads A's log to its head (after the retirement it cannot grow), sends that, then the line, then nothing of A
        3 it sends the line and nothing of A after it; what was not sent is found by asking again
   ORD  1 a waiting (merged) range and a waiting line may go out in any order    2 the range first
   LATE a writer may commit under the old generation and be stopped before it announces */
#ifdef WORDS
#define say(f) printf(f)
#define say1(f,a) printf(f,a)
#else
#define say(f) skip
#define say1(f,a) skip
#endif
byte head, sent, pos; bool retired, told, line, gone, ann; byte wr;   /* wr: range waiting up to */
active [2] proctype W() { byte n = 0;
  do :: d_step { n < 2 && !retired -> n++; head++; say1("writer commits %d\n", head) }; if :: ann = 1 :: skip fi :: n == 2 || retired -> break od }
active proctype Switch() { d_step { retired = 1; say("switch retires A\n") }; d_step { told = 1; say("switch completes and announces\n") } }
active proctype Hub() {
  end: do
  :: d_step { (ann || sent < head) && !(gone && LINE >= 2) && sent < head -> ann = 0; wr = head; sent = head; say1("hub reads the log up to %d\n", head) }
  :: d_step { told && !line && !gone && (LINE != 2 || sent == head) -> line = 1; say("hub has a line to send\n") }
  :: d_step { wr > 0 && (ORD == 1 || LINE >= 2 || true) && !(gone && LINE == 3) -> say1("hub sends the range up to %d\n", wr); assert(!gone); pos = wr; wr = 0 }
  :: d_step { line && !gone && (ORD == 1 || wr == 0) -> line = 0; gone = 1; if :: LINE == 3 -> wr = 0 :: else fi; say("hub sends the generation-change line\n") }
  od }
init { timeout -> if :: LINE == 3 -> pos = head; say("subscriber asks again with its position: the rest comes from the log\n") :: else fi; assert(pos == head && gone) }

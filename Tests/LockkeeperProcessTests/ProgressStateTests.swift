import LockkeeperDomain
import Testing

@testable import LockkeeperCommand

@Suite("When and how it is said how far long work is")
struct ProgressStateTests {
    private func instant(_ milliseconds: Int) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: 7_000_000_000 + Int64(milliseconds) * 1_000_000)
    }

    private func step(_ done: Int, of count: Int?, unit: String = "pages") -> ProgressState.Step {
        ProgressState.Step(what: "backup", done: done, count: count, unit: unit)
    }

    @Test("work that is done within a second says nothing, on a terminal and elsewhere")
    func quiet() {
        for reader in [ProgressState.Reader.terminal, .log] {
            var state = ProgressState(for: reader, at: instant(0))
            for time in stride(from: 0, through: 999, by: 37) {
                #expect(state.take(step(time, of: 999), at: instant(time)) == nil)
            }
        }
    }

    @Test("a bar comes at most ten times in a second, with rate and time left")
    func bar() {
        var state = ProgressState(for: .terminal, at: instant(0))
        let shown = (0...3_000).compactMap {
            state.take(step($0, of: 12_000), at: instant($0))
        }
        #expect(shown.count == 21)
        #expect(shown.first == "backup [#...................] 8 %, 1 000 pages/s, 11 s left")
        #expect(shown.last == "backup [#####...............] 25 %, 1 000 pages/s, 9 s left")
        #expect(
            state.take(step(12_000, of: 12_000), at: instant(4_000))
                == "backup [####################] 100 %, 3 000 pages/s"
        )
    }

    @Test("a log gets a line every five seconds, and no bar")
    func lines() {
        var state = ProgressState(for: .log, at: instant(0))
        let shown = stride(from: 0, through: 20_000, by: 10).compactMap {
            state.take(step($0 * 1_000, of: 100_000_000, unit: "bytes"), at: instant($0))
        }
        #expect(
            shown == [
                "backup: 1 %, 1.0 MB/s, 1 min 39 s left", "backup: 6 %, 1.0 MB/s, 1 min 34 s left",
                "backup: 11 %, 1.0 MB/s, 1 min 29 s left",
                "backup: 16 %, 1.0 MB/s, 1 min 24 s left",
            ]
        )
    }

    @Test("where nobody knows how much there is, it is said how much is done")
    func unknown() {
        var state = ProgressState(for: .terminal, at: instant(0))
        #expect(state.doneSoFar == nil)
        #expect(
            state.take(step(1_234_567, of: nil, unit: "events"), at: instant(2_000))
                == "backup: 1 234 567 events, 617 283 events/s"
        )
        #expect(state.doneSoFar == "backup: 1 234 567 events")
        // More than was thought, or nothing at all, is no reason to stop.
        #expect(state.take(step(3, of: 2), at: instant(9_000))?.contains("100 %") == true)
        #expect(state.take(step(0, of: 0), at: instant(20_000))?.contains("0 pages") == true)
    }
}

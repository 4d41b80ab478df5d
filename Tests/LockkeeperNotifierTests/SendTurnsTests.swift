import LockkeeperDomain
import Testing

@testable import LockkeeperNotifier

/// Many subscribers are told a few at a time, so that they do not stand before those who write.
@Suite("Turns of sending") struct SendTurnsTests {
    private static let pause = Duration.milliseconds(2)

    @Test("many are told a few at a time, each once, in their order, with a pause between")
    func turns() {
        var turns = SendTurns(countMax: 8, pause: Self.pause)
        turns.append((1...20).map(ConnectionID.init))
        var now = MonotonicInstant(nanoseconds: 0)
        var told: [[UInt64]] = []
        while told.flatMap(\.self).count < 20 {
            told.append(turns.takeTurn(at: now).map(\.rawValue))
            let isEarlyTurnEmpty = turns.takeTurn(at: now).isEmpty
            #expect(isEarlyTurnEmpty)
            guard let next = turns.nextTurn else { break }
            #expect(next == Deadline(after: Self.pause, from: now))
            now = next.instant
        }
        #expect(told == [Array(1...8), Array(9...16), Array(17...20)])
        #expect(turns.nextTurn == nil)
    }

    @Test("where no more listen than are told at once, nobody waits")
    func few() {
        var turns = SendTurns(countMax: 8, pause: Self.pause)
        let now = MonotonicInstant(nanoseconds: 0)
        for _ in 1...3 {
            turns.append((1...8).map(ConnectionID.init))
            let told = turns.takeTurn(at: now)
            #expect(told.count == 8 && turns.nextTurn == nil)
        }
    }

    @Test("who stands in the line keeps the place, and may come again once told")
    func places() {
        var turns = SendTurns(countMax: 2, pause: Self.pause)
        var now = MonotonicInstant(nanoseconds: 0)
        turns.append((1...3).map(ConnectionID.init))
        var told = turns.takeTurn(at: now).map(\.rawValue)
        turns.append([3, 1, 2].map(ConnectionID.init))
        while let next = turns.nextTurn {
            now = next.instant
            told += turns.takeTurn(at: now).map(\.rawValue)
        }
        #expect(told == [1, 2, 3, 1, 2])
    }

    // I-7, I-9
    @Test("what is committed while many are being told is merged into one range behind it")
    func mergedMeanwhile() throws {
        var stream = AccountStream(serial: 1)
        var head = StoreHead.fixture()
        stream.restart(at: head)
        let now = MonotonicInstant(nanoseconds: 0)
        var later = now
        for commit in Int64(1)...5 {
            let range = ChangeRange.fixture(head: head, commits: commit...commit)
            head.head = range.last
            let verdict = stream.accept(range, isFromLog: false)
            #expect(verdict == .taken)
            guard commit > 1 else {
                // The first goes at once, however many listen.
                #expect(stream.isDue(at: now))
                let sent = stream.takeHeld(at: now, mergeWait: .zero, sendTime: Self.pause)
                #expect(sent == [range])
                continue
            }
            #expect(!stream.isDue(at: later))
            later = later.advanced(by: Self.pause / 5)
        }
        let due = try #require(stream.mergeDeadline).instant
        #expect(due == now.advanced(by: Self.pause) && stream.isDue(at: due))
        let sent = stream.takeHeld(at: due, mergeWait: .zero, sendTime: Self.pause)
        #expect(sent.map(\.predecessor.rawValue) == [1] && sent.map(\.last.rawValue) == [5])
    }
}

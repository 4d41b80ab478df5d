import LockkeeperDomain
import Testing

@testable import LockkeeperLocking

/// Every order of calls, stops, kills and looks of a few processes, over the shipped state
/// machines.
///
/// Shown for each reachable state: at most one process is inside, and each admission is counted;
/// while nobody was ever stopped nobody who stands in QUEUE is overtaken, and the skip word is not
/// set; it is set only because of a process that was stopped as it stood there; where nothing can
/// happen any more nobody waits but behind a stopped process that is inside; and one more admission
/// finds the skip word cleared, or clears it, unless QUEUE is still a stopped process's (I-1,
/// I-12).
@Suite
struct TurnstileEnumerationTests {
    @Test(
        "No order of events breaks a promise, whether or not QUEUE's holder can be found",
        arguments: [
            // Processes, admissions of each, units of time, stops, kills.
            (2, 2, 3, 1, 1), (3, 1, 3, 1, 0), (3, 1, 3, 0, 1), (2, 3, 2, 0, 0),
        ],
        [true, false]
    )
    func everyOrder(bounds: (Int, Int, Int, Int, Int), findsHolders: Bool) {
        let start = TurnstileModel(
            processCount: bounds.0,
            asks: bounds.1,
            ticks: bounds.2,
            stops: bounds.3,
            kills: bounds.4,
            findsHolders: findsHolders
        )
        var census = Census()
        census.visit(from: start)
        print("turnstile \(bounds): \(census.seen.count) states, \(census.passCount) passed by")
        #expect(census.violation == nil)
        #expect(census.seen.count > 1000)
        // Without this the enumeration would say nothing about passing by.
        if bounds.3 > 0 { #expect(census.passCount > 0) }
        if bounds.3 == 0 { #expect(census.passCount == 0) }
    }

    @Test("A suspicion must still be true under WRITER, or WRITER is let go")
    func suspicionIsLookedAtAgain() {
        var suspecting = Passage()
        suspecting.queueTried(isTaken: false)
        let clears = suspecting.skipWordRead(isSet: false)
        #expect(!clears)
        suspecting.queueAwaited(suspicion: 7)
        suspecting.writerTried(isTaken: true)
        func ruling(_ count: UInt64, isQueueHeld: Bool) -> (Passage.Ruling, next: Passage.Step) {
            var passage = suspecting
            let words = TurnstileWords(admissionCount: count, isQueuePassedBy: false)
            return (passage.settle(words, isQueueHeld: isQueueHeld), passage.next)
        }
        let moved = ruling(8, isQueueHeld: true)
        #expect(moved.0 == .letWriterGo && moved.next == .tryQueue)
        let free = ruling(7, isQueueHeld: false)
        #expect(free.0 == .letWriterGo && free.next == .tryQueue)
        let written = TurnstileWords(admissionCount: 8, isQueuePassedBy: true)
        let still = ruling(7, isQueueHeld: true)
        #expect(still.0 == .write(written) && still.next == .done)
    }
}

/// A breadth-first search that visits each state once.
private struct Census {
    var seen: Set<TurnstileModel> = []
    var violation: String?
    var passCount = 0

    mutating func visit(from start: TurnstileModel) {
        var layer = [start]
        seen = [start]
        while !layer.isEmpty && violation == nil {
            var next: [TurnstileModel] = []
            for state in layer {
                check(state)
                for action in state.actions {
                    var follower = state
                    follower.apply(action)
                    if let broken = follower.violation {
                        violation = "\(broken), after \(action) in \(state)"
                        return
                    }
                    if seen.insert(follower).inserted { next.append(follower) }
                }
            }
            layer = next
        }
    }

    private mutating func check(_ state: TurnstileModel) {
        if state.words.isQueuePassedBy { passCount += 1 }
        guard state.isAtRest else { return }
        let writerHolder = state.holders[.writer].map { state.processes[$0] }
        let isBehindStopped = writerHolder?.isStopped ?? false
        // The horizon of time is no dead end.
        let isAtHorizon = state.ticksLeft == 0
        for process in state.processes where process.isRunning && process.passage != nil {
            if !isBehindStopped && !isAtHorizon {
                violation = "a process waits for ever in \(state)"
            }
        }
        if isBehindStopped || state.processes.contains(where: { $0.isStopped }) { return }
        // All is quiet: one more admission.
        guard let alive = state.processes.firstIndex(where: { $0.isRunning && $0.passage == nil })
        else { return }
        var after = state
        after.processes[alive].asksLeft = 1
        after.apply(.ask(alive))
        while after.actions.contains(.step(alive)) { after.apply(.step(alive)) }
        if after.words.isQueuePassedBy && !isAtHorizon {
            violation = "the skip word stays set in \(state)"
        }
    }
}

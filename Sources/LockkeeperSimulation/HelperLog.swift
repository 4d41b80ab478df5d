import LockkeeperDomain
package import LockkeeperMessages
package import LockkeeperPlatform

/// What one helper was given to store, and what it acknowledged: over all its lives, because a
/// helper that was killed is started again and given everything that has no receipt.
///
/// Lock rule: the monitor guards the sums; nothing else is taken inside it.
package final class HelperLog: Sendable {
    /// The helper's name.
    package let name: String
    /// The events that it is to store, in order.
    package let share: [Event]
    private let state = Monitor(State())

    /// The sums.
    package struct State: Sendable {
        /// How many events of the share are acknowledged: receipts come in their order.
        package fileprivate(set) var acknowledgedCount = 0
        /// Lines that were written to it, in all its lives.
        package fileprivate(set) var sentCount = 0
        /// Events that became something new.
        package fileprivate(set) var storedCount = 0
        /// Events that were known or overtaken.
        package fileprivate(set) var repeatedCount = 0
        /// Events that were put aside.
        package fileprivate(set) var quarantinedCount = 0
        /// Events that it read and could not store.
        package fileprivate(set) var refusedCount = 0
        /// The commits of its receipts.
        package fileprivate(set) var commits: [Int64] = []
        /// How long its batches stood in line.
        package fileprivate(set) var waits = WaitHistogram()
        /// How its last life ended; `nil` while it lives.
        package fileprivate(set) var ending: ExitStatus?
        /// A line of output that could not be understood.
        package fileprivate(set) var unreadable: String?

        // How much of the share was acknowledged when the present life began; its receipts count
        // lines from there.
        fileprivate var base = 0
    }

    /// A log of a helper that has not started.
    package init(name: String, share: [Event]) {
        self.name = name
        self.share = share
    }

    /// The sums as they are.
    package var sums: State { state.withLock { $0 } }

    /// The part of the share that has no receipt. A new life begins with it.
    package func beginLife() -> ArraySlice<Event> {
        state.withLock { state in
            state.base = state.acknowledgedCount
            state.ending = nil
            return share[state.base...]
        }
    }

    /// The part of the share that its present life was given.
    package var presentShare: ArraySlice<Event> { share[state.withLock { $0.base }...] }

    /// Takes what happened to the process.
    package func observe(_ occurrence: ManagedProcess.Occurrence) {
        state.withLock { state in
            switch occurrence {
            case .ended(let status): state.ending = status
            case .line(let line):
                guard let output = try? CommandOutput(line) else {
                    state.unreadable = String(decoding: line, as: UTF8.self)
                    return
                }
                Self.take(output, into: &state)
            }
        }
        state.broadcast()
    }

    /// Notes how many lines were written to a life that has ended.
    package func countSent(_ count: Int) { state.withLock { $0.sentCount += count } }

    /// Waits until the sums satisfy a condition; `nil` at the deadline. Blocks the thread.
    package func wait<Result>(
        until deadline: Deadline,
        for predicate: (State) -> Result?
    ) -> Result? {
        state.wait(until: deadline) { predicate($0) }
    }

    private static func take(_ output: CommandOutput, into state: inout State) {
        switch output {
        case .receipt(let receipt):
            state.acknowledgedCount = state.base + receipt.lines.upperBound
            state.storedCount += receipt.inserted + receipt.updated
            state.repeatedCount += receipt.repeated
            state.quarantinedCount += receipt.quarantined
            if let commit = receipt.commit { state.commits.append(commit) }
            state.waits.add(receipt.waited)
        case .summary(let refusedCount): state.refusedCount += refusedCount
        case .ready, .range, .other: break
        }
    }
}

package import LockkeeperDomain

/// What one process of a benchmark did: counted by itself, read by the process that started it.
///
///     line: commits messages busy gap_ns, then the waits as they write themselves; numbers in decimal
package struct BenchTally: Sendable, Hashable {
    /// Transactions that were acknowledged as durable in time.
    package private(set) var commitCount = 0
    /// Messages in them.
    package private(set) var messageCount = 0
    /// How often a write was refused because its wait was over.
    package private(set) var busyCount = 0
    /// The longest time without an acknowledgement, the beginning and the end counted in. A
    /// percentile of waits forgets those who starve; this does not.
    package private(set) var gap: Duration = .zero
    /// How long each commit took: from the one before, or, where the process rests in between, from
    /// the call.
    package private(set) var waits = WaitHistogram()

    private var last: MonotonicInstant
    private let end: MonotonicInstant

    /// Begins to count.
    package init(from start: MonotonicInstant, to end: MonotonicInstant) {
        last = start
        self.end = end
    }

    /// Reads a line; `nil` when it is none.
    package init?(line: String) {
        let numbers = line.split(separator: " ").map { Int64($0) }
        guard numbers.count > 4, !numbers.contains(nil) else { return nil }
        let counts = numbers.compactMap { $0 }
        guard let waits = WaitHistogram(numbers: counts[4...]) else { return nil }
        commitCount = Int(counts[0])
        messageCount = Int(counts[1])
        busyCount = Int(counts[2])
        gap = .nanoseconds(counts[3])
        self.waits = waits
        last = MonotonicInstant(nanoseconds: 0)
        end = last
    }

    /// Reads the line that a worker has printed.
    ///
    /// - Throws: ``SimulationError/unreadableOutput(process:line:)``.
    init(printed line: String) throws(SimulationError) {
        guard let tally = BenchTally(line: line) else {
            throw .unreadableOutput(process: "a worker", line: line)
        }
        self = tally
    }

    /// The tally as a line.
    package var line: String {
        let counts = [
            Int64(commitCount), Int64(messageCount), Int64(busyCount), gap.wholeNanoseconds,
        ]
        return (counts + waits.numbers).map(String.init).joined(separator: " ")
    }

    /// Counts an acknowledgement, unless it came too late.
    ///
    /// - Parameter called: when the write was called for, where the process rests between writes.
    package mutating func acknowledge(
        messageCount count: Int,
        called: MonotonicInstant? = nil,
        at now: MonotonicInstant
    ) {
        guard now <= end else { return }
        commitCount += 1
        messageCount += count
        gap = max(gap, now.duration(since: last))
        waits.add(now.duration(since: called ?? last))
        last = now
    }

    /// Counts a write that was refused.
    package mutating func refuse() { busyCount += 1 }

    /// Ends the counting: who got nothing until the end has waited until then.
    package mutating func finish() { gap = max(gap, end.duration(since: last)) }
}

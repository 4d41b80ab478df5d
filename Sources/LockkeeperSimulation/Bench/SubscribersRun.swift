import LockkeeperDomain
import LockkeeperPlatform

/// Measures what subscribers, one of them stopped, cost those who write. The caller's thread may
/// block.
package struct SubscribersRun: Sendable {
    private let plan: SubscribersPlan
    private let program: String
    private let root: String
    private let note: @Sendable (String) -> Void

    /// A run that has not begun.
    ///
    /// - Parameters:
    ///   - program: the path of `lockkeeper`.
    ///   - root: an empty folder on the disk that is to be measured.
    ///   - note: told of each measurement as it is made.
    package init(
        _ plan: SubscribersPlan,
        program: String,
        root: String,
        note: @escaping @Sendable (String) -> Void
    ) {
        self.plan = plan
        self.program = program
        self.root = root
        self.note = note
    }

    /// Measures.
    ///
    /// - Throws: ``SimulationError`` when a process fails or a subscriber was not told everything;
    ///   what the store throws.
    package func run() async throws -> SubscribersReport {
        var pairs: [SubscribersReport.Pair] = []
        for round in 0..<plan.repeatCount {
            // The one that goes first does not always go first.
            let counts = [0, plan.subscriberCount]
            var figures: [Int: BenchFigures] = [:]
            for count in round.isMultiple(of: 2) ? counts : counts.reversed() {
                figures[count] = try await measure(count, round)
            }
            guard let alone = figures[0], let heard = figures[plan.subscriberCount] else {
                preconditionFailure("both were measured")
            }
            let pair = SubscribersReport.Pair(alone: alone, heard: heard)
            note(pair.sentence)
            pairs.append(pair)
        }
        return SubscribersReport(pairs)
    }

    private func measure(_ subscriberCount: Int, _ round: Int) async throws -> BenchFigures {
        let folder = "\(try FileSystem.canonicalPath(root))/\(subscriberCount)-\(round)"
        try FileSystem.makeDirectory(folder, mode: 0o700)
        try await BenchWorker.makeAccount(in: folder, running: NoticeWorker.table)
        var parts = plan.listeners(subscriberCount).map { $0.part }
        let listening = parts.count - 1
        if listening > 0 {
            // The last of them is stopped: it neither reads nor says anything.
            parts[listening].isStopped = true
            parts[listening].counts = false
        }
        parts += plan.writers.map { $0.part }
        let lines = try BenchProcesses(program: program, folder: folder, time: plan.time)
            .run(parts, oneByOne: true)
        let tallies = try lines.suffix(plan.writerCount).map(BenchTally.init(printed:))
        try FileSystem.removeTree(folder)
        return BenchFigures(tallies, over: plan.time)
    }
}

import LockkeeperDomain
import LockkeeperPlatform

/// Measures how long it takes from a commit until another process has read the row, through the hub,
/// beside the same with two socket hops in plain C. The caller's thread may block.
package struct NotifyRun: Sendable {
    private let commitCount: Int
    private let repeatCount: Int
    private let program: String
    private let root: String
    private let note: @Sendable (String) -> Void

    /// A run that has not begun.
    ///
    /// - Parameters:
    ///   - commitCount: commits of each measurement.
    ///   - repeatCount: how often both are measured, in turn.
    ///   - program: the path of `lockkeeper`.
    ///   - root: an empty folder on the disk that is to be measured.
    ///   - note: told of each measurement as it is made.
    package init(
        commitCount: Int,
        repeatCount: Int,
        program: String,
        root: String,
        note: @escaping @Sendable (String) -> Void
    ) {
        precondition(commitCount > 0 && repeatCount > 0, "something is measured")
        self.commitCount = commitCount
        self.repeatCount = repeatCount
        self.program = program
        self.root = root
        self.note = note
    }

    /// Measures.
    ///
    /// - Throws: ``SimulationError`` when a process fails or a row was not read; what the stores throw.
    package func run() async throws -> NotifyReport {
        var rounds: [NotifyReport.Round] = []
        for round in 0..<repeatCount {
            // The one that goes first does not always go first.
            let stores = BenchAssignment.Store.allCases
            var delays: [BenchAssignment.Store: [Duration]] = [:]
            for store in round.isMultiple(of: 2) ? stores : stores.reversed() {
                delays[store] = try await measure(store, round)
            }
            let measured = NotifyReport.Round(
                baseline: delays[.baseline] ?? [],
                lockkeeper: delays[.lockkeeper] ?? []
            )
            note(measured.sentence)
            rounds.append(measured)
        }
        return NotifyReport(rounds)
    }

    private func measure(
        _ store: BenchAssignment.Store,
        _ round: Int
    ) async throws -> [Duration] {
        let folder = "\(try FileSystem.canonicalPath(root))/\(store.rawValue)-\(round)"
        try FileSystem.makeDirectory(folder, mode: 0o700)
        switch store {
        case .baseline: try HopsBaseline.create(in: folder)
        case .lockkeeper: try await BenchWorker.makeAccount(in: folder, running: NoticeWorker.table)
        }
        let roles: [NoticeAssignment.Role] = [.hub, .reader, .writer]
        let parts = roles.map {
            NoticeAssignment(store: store, role: $0, count: commitCount).part
        }
        // Commits are at most 2 ms apart, and a notice that was missed is made good within a second.
        let time = Duration.milliseconds(commitCount * 3)
        let lines = try BenchProcesses(program: program, folder: folder, time: time)
            .run(parts, oneByOne: true)
        let (seen, committed) = (numbers(lines[0]), numbers(lines[1]))
        guard seen.count == commitCount, committed.count == commitCount else {
            throw SimulationError.lost(acknowledged: committed.count, stored: seen.count)
        }
        try FileSystem.removeTree(folder)
        return zip(seen, committed).map { .nanoseconds($0 - $1) }
    }

    private func numbers(_ line: String) -> [Int64] {
        line.split(separator: " ").compactMap { Int64($0) }
    }
}

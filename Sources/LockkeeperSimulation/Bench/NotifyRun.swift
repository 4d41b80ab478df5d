import LockkeeperDomain

/// Measures how long it takes from a commit until another process has read the row, through the hub,
/// beside the same with two socket hops in plain C. The caller's thread may block.
package struct NotifyRun: Sendable {
    private let commitCount: Int
    private let repeatCount: Int
    private let site: BenchSite

    /// A run that has not begun.
    ///
    /// - Parameters:
    ///   - commitCount: commits of each measurement.
    ///   - repeatCount: how often both are measured, in turn.
    package init(commitCount: Int, repeatCount: Int, at site: BenchSite) {
        precondition(commitCount > 0 && repeatCount > 0, "something is measured")
        self.commitCount = commitCount
        self.repeatCount = repeatCount
        self.site = site
    }

    /// Measures.
    ///
    /// - Throws: ``SimulationError`` when a process fails or a row was not read; what the stores throw.
    package func run() async throws -> BenchReport {
        var delays: [BenchAssignment.Store: [BenchDelays]] = [:]
        for round in 0..<repeatCount {
            for store in BenchAssignment.Store.turn(round) {
                let measured = BenchDelays(try await measure(store, round))
                site.note("\(store.rawValue): \(measured.sentence)")
                delays[store, default: []].append(measured)
            }
        }
        return BenchReport(
            "notify",
            "\(commitCount) commits each, \(repeatCount) rounds, beside two socket hops in C",
            BenchDelays.figures(
                "from a commit to the row read in another process",
                delays[.lockkeeper] ?? [],
                against: delays[.baseline] ?? [],
                budget: .atMost(4)
            )
        )
    }

    private func measure(
        _ store: BenchAssignment.Store,
        _ round: Int
    ) async throws -> [Duration] {
        try await site.withFolder("\(store.rawValue)-\(round)") { folder in
            try await measure(store, in: folder)
        }
    }

    private func measure(
        _ store: BenchAssignment.Store,
        in folder: String
    ) async throws -> [Duration] {
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
        let lines = try BenchProcesses(program: site.program, folder: folder, time: time)
            .run(parts, oneByOne: true)
        let (seen, committed) = (numbers(lines[0]), numbers(lines[1]))
        guard seen.count == commitCount, committed.count == commitCount else {
            throw SimulationError.lost(acknowledged: committed.count, stored: seen.count)
        }
        return zip(seen, committed).map { .nanoseconds($0 - $1) }
    }

    private func numbers(_ line: String) -> [Int64] {
        line.split(separator: " ").compactMap { Int64($0) }
    }
}

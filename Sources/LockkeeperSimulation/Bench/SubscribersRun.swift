import LockkeeperDomain

/// Measures what subscribers, one of them stopped, cost those who write. The caller's thread may
/// block.
package struct SubscribersRun: Sendable {
    private let plan: SubscribersPlan
    private let site: BenchSite

    /// A run that has not begun.
    package init(_ plan: SubscribersPlan, at site: BenchSite) {
        self.plan = plan
        self.site = site
    }

    /// Measures.
    ///
    /// - Throws: ``SimulationError`` when a process fails or a subscriber was not told everything;
    ///   what the store throws.
    package func run() async throws -> BenchReport {
        var (alone, heard): ([BenchFigures], [BenchFigures]) = ([], [])
        for round in 0..<plan.repeatCount {
            // The one that goes first does not always go first.
            let counts = [0, plan.subscriberCount]
            for count in round.isMultiple(of: 2) ? counts : counts.reversed() {
                let figures = try await measure(count, round)
                site.note("\(count) subscribers: \(figures.sentence)")
                if count == 0 { alone.append(figures) } else { heard.append(figures) }
            }
        }
        return report(heard, against: alone)
    }

    private func report(_ heard: [BenchFigures], against alone: [BenchFigures]) -> BenchReport {
        func waits(
            _ name: String,
            _ time: KeyPath<BenchFigures, Duration>,
            _ budget: BenchFigure.Budget? = nil
        ) -> BenchFigure {
            BenchFigure(
                "wait for a commit, \(name)",
                .milliseconds,
                heard.map { $0[keyPath: time].milliseconds },
                against: alone.map { $0[keyPath: time].milliseconds },
                budget: budget
            )
        }
        let setting =
            "\(plan.subscriberCount) subscribers against none, \(plan.writerCount) processes with"
            + " \(plan.rate) commits/s, \(plan.time) each, \(plan.repeatCount) pairs"
        return BenchReport(
            "subscribers",
            setting,
            [
                BenchFigure(
                    "commits",
                    .perSecond,
                    heard.map(\.commitsPerSecond),
                    against: alone.map(\.commitsPerSecond)
                ),
                waits("p50", \.p50), waits("p90", \.p90, .atMost(1.3)), waits("p99", \.p99),
                BenchFigure("refused", .count, heard.map(\.busyCount)),
            ]
        )
    }

    private func measure(_ subscriberCount: Int, _ round: Int) async throws -> BenchFigures {
        try await site.withFolder("\(subscriberCount)-\(round)") { folder in
            try await measure(subscriberCount, in: folder)
        }
    }

    private func measure(
        _ subscriberCount: Int,
        in folder: String
    ) async throws -> BenchFigures {
        try await BenchWorker.makeAccount(in: folder, running: NoticeWorker.table)
        var parts = plan.listeners(subscriberCount).map { $0.part }
        let listening = parts.count - 1
        if listening > 0 {
            // The last of them is stopped: it neither reads nor says anything.
            parts[listening].isStopped = true
            parts[listening].counts = false
        }
        parts += plan.writers.map { $0.part }
        let lines = try BenchProcesses(program: site.program, folder: folder, time: plan.time)
            .run(parts, oneByOne: true)
        let tallies = try lines.suffix(plan.writerCount).map(BenchTally.init(printed:))
        return BenchFigures(tallies, over: plan.time)
    }
}

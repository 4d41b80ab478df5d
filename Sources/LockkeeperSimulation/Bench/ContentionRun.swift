import LockkeeperDomain

/// Measures contention: real processes of this program, started at one instant, on plain SQLite and
/// on Lockkeeper in turn. The caller's thread may block.
package struct ContentionRun: Sendable {
    private let plan: ContentionPlan
    private let site: BenchSite

    /// A run that has not begun.
    package init(_ plan: ContentionPlan, at site: BenchSite) {
        self.plan = plan
        self.site = site
    }

    /// Measures.
    ///
    /// - Throws: ``SimulationError`` when a process fails or acknowledged messages are missing
    ///   afterwards; what the stores throw.
    package func run() async throws -> BenchReport {
        var runs: [BenchAssignment.Store: [BenchFigures]] = [:]
        for round in 0..<plan.repeatCount {
            for store in BenchAssignment.Store.turn(round) {
                let tallies = try await WriteMeasurement(site: site).tallies(
                    of: plan.assignments(store),
                    in: "\(store.rawValue)-\(round)"
                )
                let figures = BenchFigures(plan.reported(tallies), over: plan.time)
                site.note("\(store.rawValue): \(figures.sentence)")
                runs[store, default: []].append(figures)
            }
        }
        return BenchReport(
            "contention",
            plan.setting,
            figures(runs[.lockkeeper] ?? [], against: runs[.baseline] ?? [])
        )
    }

    private func figures(
        _ own: [BenchFigures],
        against baseline: [BenchFigures]
    ) -> [BenchFigure] {
        func times(_ name: String, _ time: KeyPath<BenchFigures, Duration>) -> BenchFigure {
            BenchFigure(
                name,
                .milliseconds,
                own.map { $0[keyPath: time].milliseconds },
                against: baseline.map { $0[keyPath: time].milliseconds },
                budget: time == \.gap ? plan.gapBudget : nil
            )
        }
        return [
            BenchFigure(
                "commits",
                .perSecond,
                own.map(\.commitsPerSecond),
                against: baseline.map(\.commitsPerSecond),
                budget: plan.rateBudget
            ),
            BenchFigure("fair", .share, own.map(\.fairness), budget: plan.fairnessBudget),
            BenchFigure("fair, in C", .share, baseline.map(\.fairness)),
            times("gap", \.gap), times("wait p50", \.p50), times("wait p99", \.p99),
            times("wait p99.9", \.p999),
            BenchFigure("refused", .count, own.map(\.busyCount)),
            BenchFigure("refused, in C", .count, baseline.map(\.busyCount)),
        ]
    }
}

extension BenchFigures {
    /// The figures as a line for people.
    var sentence: String {
        "\(number(commitsPerSecond)) commits/s, fair \(decimal(fairness)),"
            + " gap \(decimal(gap.milliseconds, 1)) ms, p50 \(decimal(p50.milliseconds)),"
            + " p90 \(decimal(p90.milliseconds)), p99 \(decimal(p99.milliseconds)) ms,"
            + " refused \(number(busyCount))"
    }
}

import LockkeeperDomain

/// Measures one process that ingests as fast as it can, beside plain SQLite in C that writes the same
/// rows. The caller's thread may block.
package struct IngestSpeedRun: Sendable {
    private let plan: IngestPlan
    private let site: BenchSite

    /// A run that has not begun.
    package init(_ plan: IngestPlan, at site: BenchSite) {
        self.plan = plan
        self.site = site
    }

    /// Measures.
    ///
    /// - Throws: ``SimulationError`` when a process fails or acknowledged messages are missing
    ///   afterwards; what the stores throw.
    package func run() async throws -> BenchReport {
        var figures: [BenchFigure] = []
        for batchCount in plan.batchCounts { figures += try await measure(batchCount) }
        if plan.variants.contains(.file) {
            figures += try await IngestedFile.measure(plan, at: site)
        }
        return BenchReport(
            "ingest",
            "one process, \(plan.durability.rawValue), \(plan.time) each, \(plan.repeatCount) rounds",
            figures
        )
    }

    /// What is written: by C where it is the baseline of something, else by Lockkeeper.
    private struct Side: Hashable {
        let store: BenchAssignment.Store
        let variant: IngestPlan.Variant
    }

    private func measure(_ batchCount: Int) async throws -> [BenchFigure] {
        let variants = plan.variants.filter { $0 != .file }
        var sides: [Side] = []
        for variant in variants {
            for side in [Self.base(of: variant), Side(store: .lockkeeper, variant: variant)]
            where !sides.contains(side) { sides.append(side) }
        }
        var rates: [Side: [Double]] = [:]
        for round in 0..<plan.repeatCount {
            // The one that goes first does not always go first.
            for side in round.isMultiple(of: 2) ? sides : sides.reversed() {
                rates[side, default: []].append(try await rate(side, batchCount, round))
            }
        }
        return variants.map { variant in
            BenchFigure(
                "messages in batches of \(batchCount), \(variant.rawValue)",
                .perSecond,
                rates[Side(store: .lockkeeper, variant: variant)] ?? [],
                against: rates[Self.base(of: variant)] ?? [],
                budget: plan.budget(batchCount, variant)
            )
        }
    }

    /// What a way of ingesting is held against. The index is no part of the baseline, which is the same
    /// with and without; what encryption costs shows beside a plain account.
    private static func base(of variant: IngestPlan.Variant) -> Side {
        switch variant {
        case .encrypted: Side(store: .lockkeeper, variant: .everything)
        case .quiet: Side(store: .baseline, variant: .quiet)
        default: Side(store: .baseline, variant: .everything)
        }
    }

    private func rate(_ side: Side, _ batchCount: Int, _ round: Int) async throws -> Double {
        let assignment = plan.assignment(side.store, batchCount, side.variant)
        let name = "\(side.store.rawValue)-\(side.variant.rawValue)-\(batchCount)-\(round)"
        let tallies = try await WriteMeasurement(site: site).tallies(of: [assignment], in: name)
        let rate = Double(tallies[0].messageCount) / plan.time.secondCount
        site.note(
            "\(side.store.rawValue), \(side.variant.rawValue), \(batchCount): \(number(rate))/s"
        )
        return rate
    }
}

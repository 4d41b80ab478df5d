import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform

/// Measures how long the first page of hits takes: once the index has caught up, and while another
/// process ingests. The caller's thread may block.
package struct SearchSpeedRun: Sendable {
    private let plan: SearchPlan
    private let site: BenchSite
    private let clock = SystemClock()

    /// A run that has not begun.
    package init(_ plan: SearchPlan, at site: BenchSite) {
        self.plan = plan
        self.site = site
    }

    /// When something was measured.
    private enum Phase: String, CaseIterable {
        case caughtUp = "caught up"
        case ingesting = "while a process ingests"
    }

    /// Measures.
    ///
    /// - Throws: ``SimulationError/hitsDiffer(needle:found:expected:)`` where a search does not find
    ///   what a scan of all texts does; what the stores throw.
    package func run() async throws -> BenchReport {
        try await site.withFolder("search") { folder in
            try await BenchWorker.makeAccount(in: folder)
            return try await BenchWorker.withStore(in: folder) { store in
                try await fill(store)
                let texts = try await SearchedTexts(of: store)
                let needles = texts.needles()
                try await store.catchUpSearch()
                site.note("\(plan.file == nil ? "made" : "read") and indexed")
                for needle in needles { try await check(needle, in: store) }
                return try await measure(needles, in: store, folder)
            }
        }
    }

    private func fill(_ store: MessageStore) async throws {
        let path = try plan.file ?? IngestedFile.make(plan.messageCount, in: site.root)
        let lines = try IngestedFile(path: path, site: site).decode().lines
        try await IngestedFile.ingest(lines, into: store, .committed)
    }

    /// Counts all hits of a needle, page by page.
    private func check(_ needle: SearchedTexts.Needle, in store: MessageStore) async throws {
        var (count, place): (Int, SearchPlace?) = (0, nil)
        repeat {
            let hits = try await store.search(needle.query, after: place, limit: 1000)
            count += hits.count
            place = hits.last?.place
        } while place != nil
        guard count == needle.hitCount else {
            throw SimulationError.hitsDiffer(
                needle: needle.kind,
                found: count,
                expected: needle.hitCount
            )
        }
    }

    private func measure(
        _ needles: [SearchedTexts.Needle],
        in store: MessageStore,
        _ folder: String
    ) async throws -> BenchReport {
        var delays: [Phase: [[BenchDelays]]] = [:]
        for _ in 0..<plan.repeatCount {
            try await store.catchUpSearch()
            delays[.caughtUp, default: []].append(try await search(needles, in: store))
            let writer = try PacedWriter(plan.writer, program: site.program, folder: folder)
            delays[.ingesting, default: []].append(try await search(needles, in: store))
            try writer.end()
        }
        var figures: [BenchFigure] = []
        for (index, needle) in needles.enumerated() {
            figures.append(BenchFigure("hits of \(needle.kind)", .count, [Double(needle.hitCount)]))
            for phase in Phase.allCases {
                let rounds = (delays[phase] ?? []).map { $0[index] }
                let name = "\(needle.kind), \(phase.rawValue)"
                figures.append(
                    BenchFigure("\(name), p50", .milliseconds, rounds.map(\.p50.milliseconds))
                )
                figures.append(
                    BenchFigure(
                        "\(name), p99",
                        .milliseconds,
                        rounds.map(\.p99.milliseconds),
                        budget: phase == .caughtUp ? .atMost(50) : nil
                    )
                )
            }
        }
        let setting =
            "first page of \(SearchPlan.limit), \(plan.searchCount) searches each,"
            + " \(plan.repeatCount) rounds"
        return BenchReport("search", setting, figures)
    }

    /// Searches for each needle in turn.
    private func search(
        _ needles: [SearchedTexts.Needle],
        in store: MessageStore
    ) async throws -> [BenchDelays] {
        var times: [[Duration]] = Array(repeating: [], count: needles.count)
        for _ in 0..<plan.searchCount {
            for (index, needle) in needles.enumerated() {
                let start = clock.now()
                let hits = try await store.search(needle.query, limit: SearchPlan.limit)
                times[index].append(clock.now().duration(since: start))
                let expected = min(needle.hitCount, SearchPlan.limit)
                guard hits.count == expected else {
                    throw SimulationError.hitsDiffer(
                        needle: needle.kind,
                        found: hits.count,
                        expected: expected
                    )
                }
            }
        }
        let delays = times.map { BenchDelays($0) }
        for (needle, delays) in zip(needles, delays) {
            site.note("\(needle.kind): \(delays.sentence)")
        }
        return delays
    }
}

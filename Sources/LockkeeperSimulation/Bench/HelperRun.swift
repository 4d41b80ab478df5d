import LockkeeperDomain
import LockkeeperPlatform

/// Measures a helper that is woken for one message: start, commit durably, exit; beside a program in C
/// that does the same. And the memory that a helper needs for many messages. The caller's thread may
/// block.
package struct HelperRun: Sendable {
    private let startCount: Int
    private let messageCount: Int
    private let repeatCount: Int
    private let site: BenchSite
    private let clock = SystemClock()

    /// The memory that a helper may need, in MiB: what a system gives to one that is woken by a push.
    private static let memoryBudget = 24.0

    /// A run that has not begun.
    ///
    /// - Parameters:
    ///   - startCount: starts of each program in a round.
    ///   - messageCount: messages of the run whose memory is looked at.
    package init(startCount: Int, messageCount: Int, repeatCount: Int, at site: BenchSite) {
        precondition(startCount > 0 && messageCount > 0 && repeatCount > 0, "something is measured")
        self.startCount = startCount
        self.messageCount = messageCount
        self.repeatCount = repeatCount
        self.site = site
    }

    /// Measures.
    ///
    /// - Throws: ``SimulationError`` when a program fails or the one in C is missing.
    package func run() async throws -> BenchReport {
        guard try FileSystem.status(site.baseline) != nil else {
            throw SimulationError.unusableInput(
                path: site.baseline,
                reason: "it is not there; 'swift build' makes it beside lockkeeper"
            )
        }
        var (inC, own): ([Double], [Double]) = ([], [])
        for round in 0..<repeatCount {
            try await site.withFolder("helper-\(round)") { folder in
                let plain = BenchWorker.baselinePath(in: folder)
                try BaselineWriter.create(plain, vfs: nil)
                try await BenchWorker.makeAccount(in: folder)
                var times: (inC: [Duration], own: [Duration]) = ([], [])
                for number in 0..<startCount {
                    times.inC.append(try time(of: site.baseline, [plain, "\(number)"]))
                    let path = "\(folder)/event"
                    // A conversation of its own for each, as those in C have.
                    var messages = BenchMessages(number: number)
                    try FileSystem.replaceFile(at: path, with: messages.nextLines(1))
                    times.own.append(try time(of: site.program, ingesting(path, folder)))
                }
                inC.append(median(times.inC).milliseconds)
                own.append(median(times.own).milliseconds)
                site.note("C \(number(inC[round])) ms, lockkeeper \(number(own[round])) ms")
            }
        }
        let memory = try await site.withFolder("memory") { folder in
            try await BenchWorker.makeAccount(in: folder)
            return try IngestMemory(site: site).measure(messageCount, in: folder)
        }
        return BenchReport(
            "helper",
            "\(startCount) starts each, \(repeatCount) rounds; memory of \(messageCount) messages",
            [
                BenchFigure(
                    "start, commit one message durably, exit",
                    .milliseconds,
                    own,
                    against: inC,
                    budget: .atMost(5)
                ),
                BenchFigure(
                    "largest memory of an ingest",
                    .mebibytes,
                    [memory],
                    budget: .atMost(Self.memoryBudget)
                ),
            ]
        )
    }

    private func ingesting(_ path: String, _ folder: String) -> [String] {
        ["ingest", path, "--root", folder, "--account", "\(BenchWorker.account)"]
    }

    private func time(of program: String, _ arguments: [String]) throws -> Duration {
        let start = clock.now()
        let child = try ChildProcess(
            program: program,
            arguments: arguments,
            output: .null,
            error: .null
        )
        let status = try child.wait()
        let time = clock.now().duration(since: start)
        guard status == .exited(0) else {
            throw SimulationError.endedUnexpectedly(
                process: program,
                ending: status.sentence,
                lastErrors: []
            )
        }
        return time
    }
}

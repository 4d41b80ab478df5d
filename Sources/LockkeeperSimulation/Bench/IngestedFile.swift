import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform

/// A file of event lines: what decoding costs beside storing.
struct IngestedFile {
    let path: String
    let site: BenchSite
    private let clock = SystemClock()

    init(path: String, site: BenchSite) {
        self.path = path
        self.site = site
    }

    /// Measures the command `ingest` on a file beside the library with the same events decoded.
    ///
    /// - Throws: ``SimulationError`` when the command fails or does not store every line; what the
    ///   store throws.
    static func measure(_ plan: IngestPlan, at site: BenchSite) async throws -> [BenchFigure] {
        let path = try plan.file ?? make(plan.fileMessageCount, in: site.root)
        let file = IngestedFile(path: path, site: site)
        var rates = Rates()
        for round in 0..<plan.repeatCount {
            let (lines, decoding) = try file.decode()
            let count = Double(lines.count)
            rates.decoded.append(count / decoding.secondCount)
            // The one that goes first does not always go first.
            for isCommand in round.isMultiple(of: 2) ? [true, false] : [false, true] {
                if isCommand {
                    let time = try await file.ingestByCommand(lines.count, plan.durability, round)
                    rates.command.append(count / time.secondCount)
                    rates.shares.append(decoding / time)
                } else {
                    let times = try await file.ingestByLibrary(lines, plan.durability, "\(round)")
                    rates.library.append(count / times.first.secondCount)
                    rates.known.append(count / times.again.secondCount)
                }
            }
            var generator = SeededGenerator(seed: UInt64(round))
            let times = try await file.ingestByLibrary(
                lines.shuffled(using: &generator),
                plan.durability,
                "\(round)-disorder"
            )
            rates.disorder.append(count / times.first.secondCount)
            site.note("a file: \(number(rates.command[round]))/s by the command")
        }
        return rates.figures
    }

    /// Events in a second, round by round.
    private struct Rates {
        var decoded: [Double] = []
        var library: [Double] = []
        var command: [Double] = []
        /// Of the command's time, what decoding takes by itself.
        var shares: [Double] = []
        /// Each event comes a second time.
        var known: [Double] = []
        /// Events come in an order drawn by chance.
        var disorder: [Double] = []

        var figures: [BenchFigure] {
            [
                BenchFigure(
                    "events of a file, decoded and stored by the command",
                    .perSecond,
                    command,
                    against: library,
                    budget: .atLeast(0.5)
                ),
                BenchFigure("events of a file, decoded alone", .perSecond, decoded),
                BenchFigure("decoding, of the command's time", .share, shares),
                BenchFigure(
                    "events that are known already",
                    .perSecond,
                    known,
                    against: library
                ),
                BenchFigure("events in disorder", .perSecond, disorder, against: library),
            ]
        }
    }

    /// Makes a log of messages and gives its path.
    static func make(_ messageCount: Int, in folder: String) throws -> String {
        let path = "\(folder)/events.ndjson"
        let file = try FileDescriptor(opening: path, [.create, .writeOnly])
        var messages = BenchMessages(number: 0, words: BenchWords(seed: 1))
        var left = messageCount
        while left > 0 {
            let count = min(left, 1000)
            try file.write(messages.nextLines(count))
            left -= count
        }
        return path
    }

    /// Decodes a file, and says how long it took.
    ///
    /// - Throws: ``SystemCallError`` when it cannot be read, ``SimulationError`` when it has no line.
    func decode() throws -> (lines: [DecodedLine], time: Duration) {
        let file = try FileDescriptor(opening: path)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
        defer { buffer.deallocate() }
        var decoder = LineDecoder()
        var lines: [DecodedLine] = []
        let start = clock.now()
        while case let count = try file.read(into: buffer), count > 0 {
            decoder.feed(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { _, line, _ in
                lines.append(line)
            }
        }
        decoder.finish { _, line, _ in lines.append(line) }
        let time = clock.now().duration(since: start)
        guard !lines.isEmpty else {
            throw SimulationError.unusableInput(path: path, reason: "it has no line")
        }
        return (lines, time)
    }

    /// Stores decoded lines in a store of their own, and then all of them once more.
    private func ingestByLibrary(
        _ lines: [DecodedLine],
        _ durability: Durability,
        _ name: String
    ) async throws -> (first: Duration, again: Duration) {
        try await site.withFolder("library-\(name)") { folder in
            try await BenchWorker.makeAccount(in: folder)
            return try await BenchWorker.withStore(in: folder) { store in
                let start = clock.now()
                try await Self.ingest(lines, into: store, durability)
                let middle = clock.now()
                try await Self.ingest(lines, into: store, durability)
                let again = clock.now().duration(since: middle)
                return (middle.duration(since: start), again)
            }
        }
    }

    /// Stores decoded lines.
    ///
    /// - Throws: why they could not be stored.
    static func ingest(
        _ lines: [DecodedLine],
        into store: MessageStore,
        _ durability: Durability
    ) async throws {
        let ingester = try Ingester(store, durability: durability) { _ in }
        for (index, line) in lines.enumerated() {
            // Why it takes no more stands in its summary.
            guard (try? ingester.submitBlocking(line, mark: index)) != nil else { break }
        }
        let summary = await ingester.finish()
        if let failure = summary.failure { throw failure }
        guard summary.storedCount == lines.count else {
            throw SimulationError.lost(acknowledged: lines.count, stored: summary.storedCount)
        }
    }

    private func ingestByCommand(
        _ lineCount: Int,
        _ durability: Durability,
        _ round: Int
    ) async throws -> Duration {
        try await site.withFolder("command-\(round)") { folder in
            try await BenchWorker.makeAccount(in: folder)
            let start = clock.now()
            let child = try ChildProcess(
                program: site.program,
                arguments: [
                    "ingest", path, "--root", folder, "--durability", durability.rawValue,
                ],
                output: .null,
                error: .null
            )
            let status = try child.wait()
            let time = clock.now().duration(since: start)
            guard status == .exited(0) else {
                throw SimulationError.endedUnexpectedly(
                    process: "ingest",
                    ending: status.sentence,
                    lastErrors: []
                )
            }
            return time
        }
    }
}

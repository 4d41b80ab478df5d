import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation

/// `stress`: real processes under everything that can happen to them, judged by their histories.
struct StressCommand: Command {
    static let name = "stress"
    static let usage = "[options]"
    static let summary =
        "many processes, killed and stopped at random, and a verdict on what is left"
    static let details = """
        Starts a host, helpers and followers as programs of their own on a fresh workspace, and for
        the given time does to them what the seed says: kills and stops them, holds the write lock
        from a foreign sqlite3, keeps readers open, deletes the hub's socket, switches the account,
        steps clocks, makes backups and checks; each run leaves some of it out. Then the trouble ends
        and everything must come to rest. Every process has written down what it asked and what it
        was told; that is compared with what the databases hold: what was acknowledged is there, once
        and nothing else, under no stale generation; every follower heard of every commit; counters
        are what a recount gives; nothing is left behind.

        The first line says the seed; --seed repeats the plan, though not when the kernel runs which
        process. Each broken promise is told with the lines that prove it, and the code is 1.
        --inject-bug gives every process a defect, which must be found.

          lockkeeper stress --duration 60 --seed 7
        """
    static let options: [OptionSpecification] = [
        .value("seed", "N", "repeats the plan of an earlier run [drawn anew]"),
        .value("duration", "TIME", "how long trouble is made: 90, 30s, 10m, 1h [20s]"),
        .value("faults", "LIST", "the trouble that is made: kill,stop,… [drawn]"),
        .flag("small-disk", "the workspace has a small disk of its own, which is filled"),
        .value("report", "FILE", "writes a page to look at: who was inside when, and the verdict"),
        .value("histories", "DIR", "keeps the histories there"),
        .value("inject-bug", "BUG", "the defect that every process has"),
    ]

    private let plan: StressPlan
    private let histories: String?
    private let page: String?
    private let hasSmallDisk: Bool

    init(_ arguments: inout Arguments) throws(UsageError) {
        hasSmallDisk = arguments.flag("small-disk")
        histories = arguments.value("histories")
        page = arguments.value("report")
        plan = StressPlan(
            seed: try arguments.integer("seed", in: 0...UInt64.max)
                ?? .random(in: 0...UInt64(UInt32.max)),
            duration: try Self.duration(arguments.value("duration") ?? "20s"),
            hasSmallDisk: hasSmallDisk,
            faults: try Self.faults(arguments.value("faults"), hasSmallDisk),
            defect: try arguments.choice("inject-bug", of: PlantedDefect.self)
        )
    }

    /// Reads a duration; a number alone is one of seconds.
    private static func duration(_ text: String) throws(UsageError) -> Duration {
        let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600]
        let unit = text.last.flatMap { units[$0] }
        let digits = unit == nil ? text[...] : text.dropLast()
        guard let number = Int(digits), (1...86_400).contains(number),
            number * (unit ?? 1) <= 86_400
        else { throw UsageError("--duration takes 1s to 24h: 90, 30s, 10m, 1h.") }
        return .seconds(number * (unit ?? 1))
    }

    private static func faults(
        _ list: String?,
        _ hasSmallDisk: Bool
    ) throws(UsageError) -> Set<StressFault>? {
        guard let list else { return nil }
        var faults: Set<StressFault> = []
        for name in list.split(separator: ",") {
            guard let fault = StressFault(rawValue: String(name)) else {
                let known = StressFault.allCases.map(\.rawValue).joined(separator: ", ")
                throw UsageError("There is no trouble '\(name)'. There is \(known).")
            }
            if fault == .fillDisk, !hasSmallDisk {
                throw UsageError("'full-disk' needs --small-disk and a --root that is one.")
            }
            faults.insert(fault)
        }
        return faults
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        let console = context.console
        console.note("seed \(plan.seed)")
        let folder = try ScratchFolder(kept: context.options.namedRoot, for: "stress")
        defer { folder.remove() }
        if hasSmallDisk { try requireSmallDisk(folder.path) }
        let own = try ScratchFolder(kept: histories, for: "stress-histories")
        defer { own.remove() }
        var run = StressRun(
            plan,
            program: try context.program,
            places: StressRun.Places(workspace: folder.path, histories: own.path),
            note: { console.note($0) }
        )
        let outcome = try await run.run()
        let report = StressReport(outcome, command: repetition)
        if let page {
            let text = StressPage(outcome, report: report, command: repetition).html
            try FileSystem.replaceFile(at: page, with: Array(text.utf8))
        }
        if context.options.isJSON {
            try console.print { report.write(into: &$0) }
        } else {
            for line in report.lines { try console.print(line) }
        }
        return report.isClean ? .success : .found
    }

    /// What repeats the run.
    private var repetition: String {
        let faults = StressFault.allCases.filter(plan.faults.contains).map(\.rawValue)
        var words = [
            "lockkeeper stress", "--seed \(plan.seed)",
            "--duration \(plan.duration.components.seconds)",
            "--faults \(faults.joined(separator: ","))",
        ]
        if hasSmallDisk { words.append("--small-disk --root DIR") }
        if let defect = plan.defect { words.append("--inject-bug \(defect.rawValue)") }
        return words.joined(separator: " ")
    }

    /// Filling a disk that others use would be trouble for them.
    private func requireSmallDisk(_ path: String) throws {
        let folder = try FileSystem.status(path)
        let parent = FileSystem.directory(of: path)
        let isApart = folder?.identity.device != (try FileSystem.status(parent)?.identity.device)
        guard folder != nil, isApart, try FileSystem.freeBytes(at: path) < 1 << 30 else {
            throw CommandError(
                "no-small-disk",
                .usage,
                "\(path) is no disk of its own with less than 1 GiB. Mount one, and name it with --root:"
                    + " mount -t tmpfs -o size=16m,mode=700 tmpfs DIR"
            )
        }
    }
}

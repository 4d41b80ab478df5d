import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform

/// `backup`: copies a database of an account while others write.
struct BackupCommand: Command {
    static let name = "backup"
    static let usage = "[FILE] [options]"
    static let summary = "copy a database into one file while others write"
    static let details = """
        Copies the account's messages up to one commit into FILE, which must not be there yet, and
        prints that commit. The copy is inspected before it has its name, and durable once it has.
        It holds no settings: --settings copies those. Documents and large media are files that are
        only ever replaced whole: any program may copy them. Secrets are in no backup. Without FILE it
        is kept in the account's folder 'backups'; --keep and --retain say for how long. Text that is
        recalled later stands in a backup until it is removed, so give --retain where that matters.

          lockkeeper backup /mnt/usb/alice.db --account alice
          lockkeeper backup --account alice --keep 7 --retain 30d
        """
    static let options: [OptionSpecification] = [
        .flag("settings", "copy the settings instead"),
        .value("keep", "N", "keep the N newest in the account's folder"),
        .value("retain", "TIME", "remove this one after 36h, 30d, …"),
    ]

    static let awaitedSignals: [Signal] = [.interrupt]

    private let path: String?
    private let kind: StoreKind
    private let retention: BackupRetention

    init(_ arguments: inout Arguments) throws(UsageError) {
        path = arguments.optionalPositional()
        kind = arguments.flag("settings") ? .settings : .messages
        var retention = BackupRetention()
        retention.countMax = try arguments.integer("keep", in: 1...10_000)
        retention.timeMax = try arguments.value("retain").map(Self.time)
        if path != nil, retention != BackupRetention() {
            throw UsageError(
                "--keep and --retain are about backups in the account's own folder: leave FILE out."
            )
        }
        self.retention = retention
    }

    private func make(
        in context: CommandContext,
        _ meter: ProgressMeter
    ) async throws -> BackupReport {
        try await context.changing { workspace in
            let account = try await context.account(in: workspace)
            return try await workspace.backUp(account, kind, to: path, retention: retention) {
                meter.show(done: $0.pagesDone, of: $0.pageCount)
            }
        }
    }

    private static func time(_ text: String) throws(UsageError) -> Duration {
        let units: [Character: Int] = ["h": 3600, "d": 86_400]
        guard let unit = text.last.flatMap({ units[$0] }), let count = Int(text.dropLast()),
            (1...100_000).contains(count)
        else { throw UsageError("--retain takes hours or days: 36h, 30d.") }
        return .seconds(count * unit)
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        let meter = ProgressMeter(context, "backup", unit: "pages")
        let report = try await meter.whileRunning(interrupted: "No backup was made.") {
            try await Interrupts.cancelling { try await make(in: context, meter) }
        }
        guard context.options.isJSON else {
            try context.console.print(
                "\(report.path)  complete to commit \(report.position.commit),"
                    + " \(report.byteCount) bytes"
            )
            return .success
        }
        try context.console.print { writer in
            writer.beginVersionedObject()
            writer.member("account", report.account)
            writer.member("database", report.kind.rawValue)
            writer.member("path", report.path)
            writer.member("position", report.position.description)
            writer.member("bytes", report.byteCount)
            writer.member("duration_ms", milliseconds: report.duration)
            writer.endObject()
        }
        return .success
    }
}

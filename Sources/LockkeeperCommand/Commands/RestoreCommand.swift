import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform

/// `restore`: makes an account what it was when a backup was made.
struct RestoreCommand: Command {
    static let name = "restore"
    static let usage = "FILE [--yes] [options]"
    static let summary = "make an account what it was when a backup was made"
    static let details = """
        Puts a backup in the place of the account's messages, or of its settings where FILE is a
        backup of those. What is there now is moved to the account's folder 'damaged', and nothing is
        deleted. Processes that have the account open are asked to leave it; where one does not, it
        is named and nothing is changed. The result is another store: every subscriber reads anew,
        and what the server still has is fetched again from the cursors in the backup.

        What the outbox was to tell when the backup was made may have been told since: messages are
        held as unknown, unless the server refuses doubles, edits and reactions always, everything else
        is told again. Notifications that waited are not shown again. It says how many, and what to do.

          lockkeeper restore /mnt/usb/alice.db --account alice --yes
        """
    static let destroys: String? =
        "This puts the backup in the place of what the account holds now."

    static let awaitedSignals: [Signal] = [.interrupt]

    private let path: String

    init(_ arguments: inout Arguments) throws(UsageError) {
        path = try arguments.positional("FILE")
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try Interrupts.explaining(
            "What was not published has changed nothing; 'lockkeeper status' says how things stand.",
            on: context.console
        )
        let report = try await Ticking.whileRunning("restore", on: context.console) {
            try await context.changing { workspace in
                let account = try await context.account(in: workspace)
                return try await workspace.restore(account, from: path)
            }
        }
        guard context.options.isJSON else {
            try context.console.print(
                "\(terminalID(report.account.description))  \(report.kind.rawValue) are those of"
                    + " commit \(report.position.commit), generation \(report.generation)"
            )
            for note in report.notes + report.moved { try context.console.print("  \(note)") }
            return .success
        }
        try context.console.print { writer in
            writer.beginVersionedObject()
            writer.member("account", report.account)
            writer.member("database", report.kind.rawValue)
            writer.member("position", report.position.description)
            writer.member("generation", report.generation.rawValue)
            writer.member("duration_ms", milliseconds: report.duration)
            writer.member("notes", report.notes)
            writer.member("moved", report.moved)
            writer.endObject()
        }
        return .success
    }
}

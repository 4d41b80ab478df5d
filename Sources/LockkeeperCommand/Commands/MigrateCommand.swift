import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform

/// `migrate`: brings an account's databases to this program's schema.
struct MigrateCommand: Command {
    static let name = "migrate"
    static let usage = "[--list] [options]"
    static let summary = "bring an account's databases to this program's schema"
    static let details = """
        Applies the migrations that are pending, each once and whole, and prints them; opening an
        account does the same. A backup is made first of a database in which something stands, and
        the two newest of these are kept for 30 days in the account's folder. With --list nothing is
        changed. A store of a newer program is refused with code 69, and not a byte of it changes.

          lockkeeper migrate --account alice
        """
    static let options: [OptionSpecification] = [
        .flag("list", "only print what is pending")
    ]

    static let awaitedSignals: [Signal] = [.interrupt]

    private let isListing: Bool

    init(_ arguments: inout Arguments) throws(UsageError) { isListing = arguments.flag("list") }

    func run(in context: CommandContext) async throws -> ExitCode {
        try Interrupts.explaining(
            "Each step was applied whole or not at all; run it again for the rest.",
            on: context.console
        )
        let migrations = try await Ticking.whileRunning("migrate", on: context.console) {
            try await context.changing { workspace in
                let account = try await context.account(in: workspace)
                return isListing
                    ? try await workspace.pendingMigrations(of: account)
                    : try await workspace.migrate(account)
            }
        }
        for migration in migrations {
            guard context.options.isJSON else {
                try context.console.print(
                    "\(migration.kind.rawValue)  \(migration.owner)  \(migration.name)"
                )
                continue
            }
            try context.console.print { writer in
                writer.beginVersionedObject()
                writer.member("database", migration.kind.rawValue)
                writer.member("owner", migration.owner)
                writer.member("name", migration.name)
                writer.member("applied", !isListing)
                writer.endObject()
            }
        }
        if migrations.isEmpty { context.console.note("lockkeeper: nothing is pending") }
        return .success
    }
}

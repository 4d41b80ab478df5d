import Lockkeeper
import LockkeeperDomain

/// `key change`: gives an account's files another key.
struct KeyChangeCommand: Command {
    static let name = "key change"
    static let usage = "--keys PLACE [--plain]"
    static let summary = "encrypt an account's files, or give them another key"
    static let details = """
        Draws a new key, keeps it in PLACE, and copies the account's databases into new files that are
        encrypted with it: plain ones are encrypted so. Processes that have the account open are asked to
        leave it; where one does not, it is named and nothing is changed. Whoever is killed on the way
        leaves the old files or the new ones, whole, and both keys in PLACE.

        The files that were replaced are moved to the account's folder 'damaged', and backups stay what
        they are: both keep the key that they had, which stays in PLACE for them; 'key list' says what
        still needs it, and 'key remove' removes it. --plain makes the new files plain, to export them
        elsewhere. Only programs that were built with encryption can do this.

          lockkeeper key change --account alice --keys /media/stick/keys
        """
    static let options: [OptionSpecification] = [
        .flag("plain", "leave the new files plain")
    ]

    private let change: StoreKeyChange

    init(_ arguments: inout Arguments) throws(UsageError) {
        change = arguments.flag("plain") ? .plain : .newKey
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try context.requireKeys()
        let report = try await context.changing { workspace in
            let account = try await context.account(in: workspace)
            return try await workspace.changeKey(of: account, to: change)
        }
        guard context.options.isJSON else {
            try context.console.print(
                "\(terminalText(report.account.description))  "
                    + (report.key.map { "key \($0)" } ?? "plain")
                    + ", generation \(report.generation)"
            )
            return .success
        }
        try context.console.print { writer in
            writer.beginVersionedObject()
            writer.member("account", report.account)
            writer.member("key", report.key)
            writer.member("generation", report.generation.rawValue)
            writer.member("duration_ms", milliseconds: report.duration)
            writer.endObject()
        }
        return .success
    }
}

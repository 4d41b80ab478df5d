import Lockkeeper
import LockkeeperDomain

/// `key remove`: removes a key that nothing needs.
struct KeyRemoveCommand: Command {
    static let name = "key remove"
    static let usage = "KEY --keys PLACE [PATH...]"
    static let summary = "remove a key of the account that no file and no backup needs"
    static let details = """
        Removes a key, by its name, from PLACE. It is refused with code 69, and a file is named, while one
        needs the key or may need it: in the account's folder, or at a PATH, a backup or a folder. Files
        elsewhere are not known to anybody: name the places where copies and backups are, and the folders
        of other workspaces that keep their keys in the same PLACE. Ends with code 1 where there is no such
        key.

          lockkeeper key remove a74c498eb751489d --keys /media/stick/keys /media/backups --yes
        """
    static let destroys: String? =
        "What has this key and lies where it was not looked for can never be read again."

    private let key: String
    private let paths: [String]

    init(_ arguments: inout Arguments) throws(UsageError) {
        key = try arguments.positional("KEY").lowercased()
        paths = arguments.remainingPositionals()
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try context.requireKeys()
        try await context.changing { workspace in
            try await workspace.removeKey(
                key,
                of: context.account(in: workspace),
                alsoIn: paths
            )
        }
        return .success
    }
}

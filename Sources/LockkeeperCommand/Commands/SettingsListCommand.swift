import LockkeeperState

/// `settings list`: everything that is set.
struct SettingsListCommand: Command {
    static let name = "settings list"
    static let usage = ""
    static let summary = "list the settings of the account that are set"
    static let details = """
        Prints one line for each setting that is set: name, kind and value, in the order of the
        names. With --json one object per line; bytes are hexadecimal digits then.

          lockkeeper settings list --json
        """

    init(_ arguments: inout Arguments) throws(UsageError) {}

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.readingSettings { settings in
            for setting in try await settings.all() { try SettingOutput.print(setting, context) }
        }
        return .success
    }
}

import Lockkeeper
import LockkeeperState

/// `settings unset`: makes a setting not set.
struct SettingsUnsetCommand: Command {
    static let name = "settings unset"
    static let usage = "NAME"
    static let summary = "make a setting not set, so that programs' defaults count again"
    static let details = """
        Removes one setting, durably. Programs see their registered default then. Does nothing where
        it is not set.

          lockkeeper settings unset notifies
        """

    private let setting: SettingName

    init(_ arguments: inout Arguments) throws(UsageError) {
        setting = try SettingName(argument: &arguments)
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.changing { workspace in
            let session = try await workspace.session(context.account(in: workspace))
            try await SettingsStore(session).remove(SettingKey<PropertyValue>(setting))
        }
        return .success
    }
}

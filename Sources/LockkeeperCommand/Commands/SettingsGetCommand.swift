import Lockkeeper
import LockkeeperDomain
import LockkeeperState

/// `settings get`: one setting.
struct SettingsGetCommand: Command {
    static let name = "settings get"
    static let usage = "NAME"
    static let summary = "print a setting of the account; ends with 1 where it is not set"
    static let details = """
        Prints the value of one setting, as a line of its own. Ends with code 1 and prints nothing
        where it is not set: what programs register as their defaults is not stored, and not known
        here.

          lockkeeper settings get notifies
        """

    private let setting: SettingName

    init(_ arguments: inout Arguments) throws(UsageError) {
        setting = try SettingName(argument: &arguments)
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.readingSettings { settings in
            guard let value = try await settings.stored(SettingKey<PropertyValue>(setting)) else {
                return .found
            }
            if context.options.isJSON {
                try SettingOutput.print(StoredSetting(name: setting, value: value), context)
            } else {
                try context.console.print(SettingOutput.text(of: value))
            }
            return .success
        }
    }
}

extension SettingName {
    /// Takes a setting's name.
    init(argument arguments: inout Arguments) throws(UsageError) {
        let text = try arguments.positional("NAME")
        do {
            try self.init(text)
        } catch {
            throw UsageError("NAME: \(error).")
        }
    }
}

extension CommandContext {
    /// Opens the workspace, reads the settings of an account that may be retired, and closes it again.
    func readingSettings<Value: Sendable>(
        _ body: (SettingsStore) async throws -> Value
    ) async throws -> Value {
        try await changing { workspace in
            let session = try await workspace.inspectionSession(account(in: workspace))
            return try await body(SettingsStore(session))
        }
    }
}

import Lockkeeper
import LockkeeperDomain
import LockkeeperState

/// `settings set`: sets a setting.
struct SettingsSetCommand: Command {
    static let name = "settings set"
    static let usage = "NAME VALUE [--kind KIND]"
    static let summary = "set a setting of the account, for every process"
    static let details = """
        Sets one setting, durably. What it was is replaced, of whatever kind it was. KIND is string,
        integer, real, bool, date (2026-11-30T09:00:00Z), data (hexadecimal digits), array or
        dictionary (JSON).

          lockkeeper settings set notifies false --kind bool
        """
    static let options: [OptionSpecification] = [
        .value("kind", "KIND", "what VALUE is [string]")
    ]

    private let setting: SettingName
    private let value: PropertyValue

    init(_ arguments: inout Arguments) throws(UsageError) {
        setting = try SettingName(argument: &arguments)
        let text = try arguments.positional("VALUE")
        let kind = try arguments.choice("kind", of: PropertyValue.Kind.self)
        value = try SettingOutput.value(text, as: kind ?? .string)
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.changing { workspace in
            let session = try await workspace.session(context.account(in: workspace))
            try await SettingsStore(session).set(value, for: SettingKey<PropertyValue>(setting))
            try SettingOutput.print(StoredSetting(name: setting, value: value), context)
        }
        return .success
    }
}

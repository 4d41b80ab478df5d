import Lockkeeper
import LockkeeperDomain
import LockkeeperState

/// A process that has the other state of the account "alice" open.
///
///     count NAME N    adds one to a setting N times, each time as one update: "counted"
///     watch NAME      says the setting's values from now on, one line each: "NAME VALUE" or "NAME none"
final class StateTool: Sendable {
    private let workspace: Workspace
    private let session: Session
    private let settings: SettingsStore

    init(root: String, name: String) async throws {
        workspace = try await Workspace.open(at: root, name: name, schemas: [.state])
        session = try await workspace.session("alice")
        settings = try await SettingsStore(session)
    }

    func answer(to line: String) async -> String? {
        let words = line.split(separator: " ").map(String.init)
        do {
            switch (words.first, words.count) {
            case ("count", 3):
                let key = SettingKey<Int>(try SettingName(words[1]))
                for _ in 0..<(Int(words[2]) ?? 0) {
                    try await settings.update { transaction in
                        try transaction.set((try transaction.stored(key) ?? 0) + 1, for: key)
                    }
                }
                return "counted"
            case ("watch", 2):
                let key = SettingKey<Int>(try SettingName(words[1]))
                let values = settings.observe(key)
                Task {
                    for try await value in values {
                        say("\(key.name) \(value.map(String.init) ?? "none")")
                    }
                }
                return nil
            default: return "unknown: \(line)"
            }
        } catch {
            return "failed: \(error)"
        }
    }

    func close() async { await workspace.close() }
}

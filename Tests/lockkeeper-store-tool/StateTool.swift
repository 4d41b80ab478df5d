import Lockkeeper
import LockkeeperDomain
import LockkeeperState

/// A process that has the other state of the account "alice" open.
///
///     count NAME N    adds one to a setting N times, each time as one update: "counted"
///     watch NAME      says the setting's values from now on, one line each: "NAME VALUE" or "NAME none"
///     save NAME N     saves a document N times, each time with other content: "saved"
///     load NAME N     reads it N times, and says what was wrong with it: "loaded" where nothing was
final class StateTool: Sendable {
    private let workspace: Workspace
    private let session: Session
    private let settings: SettingsStore
    private let documents: DocumentStore
    private let name: String

    /// A document of several pages whose parts all say the same: half of one, or two halves, are seen.
    private struct Pages: Document {
        static let kind = "pages"
        static let version = 1
        let writer: String
        let numbers: [Int]

        init(_ writer: String, _ number: Int) {
            self.writer = writer
            numbers = Array(repeating: number, count: 2000)
        }

        var isWhole: Bool { numbers.count == 2000 && Set(numbers).count == 1 }
    }

    init(root: String, name: String, keys: (any StoreKeySource)? = nil) async throws {
        workspace = try await Workspace.open(at: root, name: name, schemas: [.state], keys: keys)
        session = try await workspace.session("alice")
        settings = try await SettingsStore(session)
        documents = try await DocumentStore(session)
        self.name = name
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
            case ("save", 3):
                let document = try DocumentName(words[1])
                for number in 0..<(Int(words[2]) ?? 0) {
                    try await documents.save(Pages(name, number), as: document)
                }
                return "saved"
            case ("load", 3):
                let document = try DocumentName(words[1])
                for _ in 0..<(Int(words[2]) ?? 0) {
                    let pages = try await documents.load(Pages.self, from: document)
                    if !pages.isWhole { return "torn: written by \(pages.writer)" }
                }
                return "loaded"
            default: return "unknown: \(line)"
            }
        } catch {
            return "failed: \(error)"
        }
    }

    func close() async { await workspace.close() }
}

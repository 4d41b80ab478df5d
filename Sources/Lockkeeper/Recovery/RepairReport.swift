public import LockkeeperDomain
import LockkeeperPlatform
package import LockkeeperStorage

/// How a repair ended.
public struct RepairReport: Sendable, Hashable {
    /// How it ended.
    public enum Outcome: String, Sendable, Hashable {
        /// Nothing is damaged; nothing was done.
        case nothingFound
        /// The account has new files, with what could be saved.
        case repaired
        /// Another process has repaired it meanwhile, or died after its repair was published: what it
        /// reported is told.
        case repairedByAnother
        /// Another process has put other files in their place meanwhile, which a restore does.
        case replacedByAnother
    }

    /// How it ended.
    public let outcome: Outcome
    /// The account.
    public let account: AccountID
    /// The account's new generation: sessions of the one before are superseded. `nil` where nothing was
    /// done here.
    public let generation: Generation?
    /// The folder with the damaged files, `report.json` and `report.txt`; `nil` where nothing was done
    /// here.
    public let folder: String?
    /// Whether `workspace.db` was older than the account's files, and was made anew of them.
    public internal(set) var hasRenewedRegistry = false
    /// What became of each database that was damaged.
    package let databases: [SalvageReport]

    /// What another process reported, and whether it lost nothing.
    private var told: Told?

    private struct Told: Hashable {
        let lines: [String]
        let isWhole: Bool
    }

    /// Whether nothing was lost that was ever committed, as far as can be known.
    public var isWhole: Bool { told?.isWhole ?? databases.allSatisfy(\.isWhole) }

    /// What was set back, so that the server is asked again: streams that are to be synced from the
    /// start, as sentences.
    public var setBack: [String] { databases.flatMap(\.setBack) }

    /// What was kept and what was lost, table by table: a line each, for people. No message text.
    public var lines: [String] {
        let renewal =
            "'workspace.db' was older than the accounts' files, and was made anew of them; the old one is"
            + " in the workspace's folder 'damaged'"
        return (hasRenewedRegistry ? [renewal] : []) + linesOfDatabases
    }

    private var linesOfDatabases: [String] {
        switch outcome {
        case .nothingFound: return ["account \(account): nothing is damaged"]
        case .repairedByAnother:
            return ["account \(account): another process has repaired it"] + (told?.lines ?? [])
        case .replacedByAnother:
            return [
                "account \(account): another process has put other files in the place of these, as a"
                    + " restore does; 'lockkeeper check' says how they are"
            ]
        case .repaired:
            return ["account \(account) is repaired, generation \(generation ?? Generation(0))"]
                + databases.flatMap(\.lines)
                + (folder.map { ["the damaged files are in \($0)"] } ?? [])
        }
    }

    init(_ account: AccountID, _ outcome: Outcome) {
        self.outcome = outcome
        self.account = account
        generation = nil
        folder = nil
        databases = []
    }

    /// What another process has done to an account's files: the newest report beside damaged files tells
    /// whether that was a repair.
    ///
    /// - Throws: what the kernel throws.
    init(of record: AccountRecord, in paths: WorkspacePaths.Account) throws {
        account = record.id
        generation = nil
        databases = []
        let names =
            try FileSystem.status(paths.damaged) == nil ? [] : FileSystem.list(paths.damaged)
        for name in names where name.hasPrefix("recovery-") {
            let folder = "\(paths.damaged)/\(name)"
            guard let bytes = try? FileSystem.contents(of: "\(folder)/report.json"),
                let fields = Fields(bytes), fields.generation == record.generation.rawValue
            else { continue }
            let text = (try? FileSystem.contents(of: "\(folder)/report.txt")) ?? []
            let lines = text.split(separator: UInt8(ascii: "\n"))
            (outcome, self.folder) = (.repairedByAnother, folder)
            told = Told(
                lines: lines.map { String(decoding: $0, as: UTF8.self) },
                isWhole: fields.isWhole
            )
            return
        }
        (outcome, folder) = (.replacedByAnother, nil)
    }

    /// What is read again of a report.
    private struct Fields {
        var generation: Int64 = 0
        var isWhole = false

        init?(_ bytes: [UInt8]) {
            let isRead = bytes.withUnsafeBytes { buffer -> Bool in
                var scanner = JSONScanner(buffer)
                return (try? read(&scanner)) != nil
            }
            if !isRead { return nil }
        }

        private mutating func read(_ scanner: inout JSONScanner) throws(JSONError) {
            try scanner.beginObject()
            while let key = try scanner.nextKey() {
                if scanner.matches(key, "generation") {
                    if try !scanner.readNull() { generation = try scanner.readInteger() }
                } else if scanner.matches(key, "whole") {
                    isWhole = try scanner.readBool()
                } else {
                    _ = try scanner.nextValue()
                }
            }
        }
    }

    init(
        _ account: AccountID,
        _ generation: Generation,
        folder: String,
        _ databases: [SalvageReport]
    ) {
        outcome = .repaired
        self.account = account
        self.generation = generation
        self.folder = folder
        self.databases = databases
    }

    /// Writes the report as one JSON object, with `"v":1`.
    package func write(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("v")
        writer.integer(1)
        writer.key("account")
        writer.string(utf8: account.bytes)
        writer.key("outcome")
        writer.string(outcome.rawValue)
        writer.key("generation")
        if let generation { writer.integer(generation.rawValue) } else { writer.null() }
        writer.key("folder")
        if let folder { writer.string(folder) } else { writer.null() }
        writer.key("registry_renewed")
        writer.bool(hasRenewedRegistry)
        writer.key("whole")
        writer.bool(isWhole)
        writer.key("databases")
        writer.beginArray()
        for database in databases { database.write(into: &writer) }
        writer.endArray()
        writer.endObject()
    }

    /// Writes the report beside the damaged files.
    func write() throws {
        guard let folder else { return }
        var writer = JSONWriter()
        write(into: &writer)
        writer.endLine()
        try FileSystem.replaceFile(at: "\(folder)/report.json", with: writer.bytes)
        let text = lines.map { $0 + "\n" }.joined()
        try FileSystem.replaceFile(at: "\(folder)/report.txt", with: Array(text.utf8))
    }
}

/// How far a repair is.
public struct RepairProgress: Sendable, Hashable {
    /// "confirmed", "aside", "reindexing", "salvaging", "inspecting", "published".
    public let phase: String
    /// The database that is worked on; `nil` where both are.
    public let database: StoreKind?
    /// Tables that are done.
    public let done: Int
    /// How many there are; 0 where the phase has no steps.
    public let count: Int
    /// Rows that were copied of the table that is worked on.
    public let rowCount: Int64
}

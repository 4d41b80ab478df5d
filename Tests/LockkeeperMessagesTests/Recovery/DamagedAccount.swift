import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

/// An account at rest with messages, unsent items, packets, recalls, deletes, positions and cursors, of
/// which each test gets a copy to damage.
struct AccountAtRest: Sendable {
    static let pageByteCount = 4096
    static let messageCount = 10_000

    /// Its files by their paths in the workspace.
    private let files: [String: [UInt8]]
    /// What a fresh store that ingested the same holds, by its export.
    let exported: [String]

    /// Made once, by whoever needs it first.
    static let shared = Task { try await AccountAtRest() }

    /// The pages of the account's stream, in the order of the server.
    static func pages() -> [(events: [Event], page: SyncPage)] {
        (0..<10).map { number in
            let first = number * messageCount / 10 + 1
            let last = (number + 1) * messageCount / 10
            var events: [Event] = []
            for seq in first...last {
                let conversation = conversationID(seq % 20)
                events.append(
                    message(
                        messageID(seq),
                        seq: Int64(seq),
                        "message \(seq) " + String(repeating: "text ", count: seq % 40),
                        in: conversation
                    )
                )
                if seq % 100 == 0 { events.append(recall(messageID(seq), in: conversation)) }
                if seq % 173 == 0 {
                    events.append(
                        .delete(DeleteEvent(conversation: conversation, id: messageID(seq)))
                    )
                }
                if seq % 50 == 1 {
                    events.append(reaction(messageID(seq)).moved(to: conversation))
                }
            }
            let after = number == 0 ? nil : cursor(number - 1)
            return (events, page(after, cursor(number), done: number == 9))
        }
    }

    static func messageID(_ number: Int) -> MessageID {
        MessageID(unchecked: Array("m\(number)".utf8))
    }

    static func conversationID(_ number: Int) -> ConversationID {
        ConversationID(unchecked: Array("conversation \(number)".utf8))
    }

    private static func cursor(_ number: Int) -> Cursor {
        Cursor(unchecked: Array("c\(number)".utf8))
    }

    private init() async throws {
        let test = try TestWorkspace(schemas: [.messages(packets: .decoded(by: Refusing()))])
        let app = try await test.process("app")
        try await app.addAccount("alice", ownID: Array("me".utf8))
        let store = try MessageStore(try await app.activate("alice"))
        for (events, page) in Self.pages() {
            try await store.ingest(events, closing: page, durability: .committed)
        }
        for number in 0..<20 {
            let conversation = Self.conversationID(number)
            try await store.ingest([
                read(upTo: Int64(number) * 400, in: conversation),
                read(upTo: Int64(number) * 300, by: "bob", in: conversation),
                member("bob", role: "friend").moved(to: conversation),
            ])
        }
        for number in 1...5 {
            _ = try await store.send(
                OutgoingMessage(
                    conversation: "conversation 1",
                    body: "unsent \(number)",
                    clientID: try ClientID("client \(number)")
                )
            )
        }
        for number in 1...3 { _ = try await store.receive(Array("packet \(number)".utf8)) }
        exported = try await store.exported()
        await app.close()
        try Self.checkpoint(Self.database(in: test.root))
        files = try Self.contents(of: test.root, "")
        try FileSystem.removeTree(test.root)
    }

    static func folder(in root: String) -> String { "\(root)/accounts/alice" }

    static func database(in root: String, _ number: Int = 1) -> String {
        "\(folder(in: root))/messages-\(number).db"
    }

    /// Copies the log into the database file, as a host does in time.
    static func checkpoint(_ path: String) throws {
        let connection = try openWithSQLiteAlone(path)
        _ = try connection.checkpoint(.truncate)
        try connection.close()
    }

    private static func contents(of root: String, _ folder: String) throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for name in try FileSystem.list(root + folder) {
            let path = "\(folder)/\(name)"
            switch try FileSystem.status(root + path, followingLinks: false)?.kind {
            case .directory: files.merge(try contents(of: root, path)) { first, _ in first }
            case .regular: files[path] = try FileSystem.contents(of: root + path)
            default: break
            }
        }
        return files
    }

    /// Puts a copy into a folder that is there.
    func place(in root: String) throws {
        for (path, bytes) in files.sorted(by: { $0.key < $1.key }) {
            var folder = root
            for part in path.split(separator: "/").dropLast() {
                folder += "/\(part)"
                try FileSystem.makeDirectory(folder, mode: 0o700)
            }
            try FileSystem.replaceFile(at: root + path, with: bytes)
        }
    }

    /// Runs a test on a copy that was damaged.
    func damaged(
        _ damage: (_ path: String) throws -> Void,
        _ body: (_ test: TestWorkspace, _ original: TableContents) async throws -> Void
    ) async throws {
        try await TestWorkspace.with { test in
            try place(in: test.root)
            let path = Self.database(in: test.root)
            let original = try TableContents(of: path)
            try damage(path)
            try await body(test, original)
        }
    }
}

/// Can apply no packet, so that all of them wait.
private struct Refusing: PacketDecoder {
    struct Refused: Error {}

    func decode(_ packet: [UInt8]) throws -> DecodedPacket { throw Refused() }
}

/// Every row of every table of a database.
struct TableContents {
    private(set) var tables: [String: Set<[SQLValue]>] = [:]

    /// What is made anew, and so may differ.
    private static let derived: Set<String> = [
        "last_message", "last_place", "last_at", "last_preview", "last_is_cut", "top_seq", "unread",
        "unread_mentions",
    ]

    init(of path: String) throws {
        let connection = try openWithSQLiteAlone(path)
        try read(connection)
        // Once every statement is gone.
        try connection.close()
    }

    private mutating func read(_ connection: Connection) throws {
        let names = try connection.prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"
        )
        while try names.step() {
            let name = names.string(0)
            var columns: [String] = []
            let info = try connection.prepare("PRAGMA table_info(\(name))")
            while try info.step() {
                if !Self.derived.contains(info.string(1)) { columns.append(info.string(1)) }
            }
            let select = try connection.prepare(
                "SELECT \(columns.joined(separator: ", ")) FROM \(name)"
            )
            var rows: Set<[SQLValue]> = []
            while try select.step() { rows.insert(columns.indices.map { select.value($0) }) }
            tables[name] = rows
        }
    }
}

/// Overwrites a page with rubbish.
func overwrite(_ path: String, page: Int, with bytes: [UInt8]? = nil) throws {
    let size = AccountAtRest.pageByteCount
    var generator = SeededGenerator(seed: UInt64(page))
    let rubbish = (0..<size).map { _ in UInt8.random(in: 0...255, using: &generator) }
    let file = try FileDescriptor(opening: path, [.readWrite])
    try file.write(bytes ?? rubbish, at: Int64(page * size))
}

/// How many pages a file has.
func pageCount(_ path: String) throws -> Int {
    Int(try FileSystem.status(path)?.size ?? 0) / AccountAtRest.pageByteCount
}

/// The pages that hold nothing; counted from 0. The first page names the first page of the list;
/// each names the next one and the free pages that it lists itself.
///
/// Source: [SQLite, Database File Format, 1.5](https://www.sqlite.org/fileformat2.html).
func freePages(_ path: String) throws -> Set<Int> {
    let bytes = try FileSystem.contents(of: path)
    func number(at offset: Int) -> Int {
        bytes[offset..<(offset + 4)].reduce(0) { $0 << 8 | Int($1) }
    }
    var free: Set<Int> = []
    var list = number(at: 32)
    while list != 0 {
        let start = (list - 1) * AccountAtRest.pageByteCount
        free.insert(list - 1)
        free.formUnion((0..<number(at: start + 4)).map { number(at: start + 8 + 4 * $0) - 1 })
        list = number(at: start)
    }
    return free
}

/// The number of a tree's first page, counted from 1.
func rootPage(of name: String, _ path: String) throws -> Int {
    let connection = try openWithSQLiteAlone(path)
    defer { try? connection.close() }
    let root = try connection.value("SELECT rootpage FROM sqlite_schema WHERE name = '\(name)'")
    return Int(try #require(root?.integer))
}

/// The pages with rows of a table below one page above them, in the order of the rows; counted from 0.
func pages(of table: String, _ path: String) throws -> [Int] {
    try pages(below: try rootPage(of: table, path) - 1, path)
}

/// The same by the table's first page, counted from 0: that of the schema is 0.
func pages(below root: Int, _ path: String) throws -> [Int] {
    let size = AccountAtRest.pageByteCount
    let bytes = try FileSystem.contents(of: path)
    var above = root
    while true {
        let page = above * size
        let start = above == 0 ? 100 : page
        let count = Int(bytes[start + 3]) << 8 | Int(bytes[start + 4])
        let below = (0..<count).map { cell in
            let pointer = start + 12 + 2 * cell
            let offset = page + (Int(bytes[pointer]) << 8 | Int(bytes[pointer + 1]))
            return bytes[offset..<(offset + 4)].reduce(0) { $0 << 8 | Int($1) } - 1
        }
        let first = try #require(below.first)
        // 13: a page with rows; 5: one above such pages.
        if bytes[first * size] == 13 { return below }
        try #require(bytes[first * size] == 5)
        above = first
    }
}

/// Expects that what a repair reports is so: what it calls kept is there as it was, and of what it
/// calls lost there was as much.
func expectTrue(_ report: RepairReport, _ original: TableContents, _ path: String) throws {
    let database = try #require(report.databases.first { $0.kind == .messages })
    let now = try TableContents(of: path)
    for table in database.tables where table.tableClass != .derived {
        let before = original.tables[table.name] ?? []
        let after = now.tables[table.name] ?? []
        let same = Int64(before.intersection(after).count)
        let comment: Comment = "\(table)"
        if table.name == "lk_notify_after" { continue }
        #expect(same == table.keptCount, comment)
        let gone = Int64(before.count) - same - table.setBackCount
        if let lost = table.lostCount {
            #expect(gone == lost, comment)
        } else if let most = table.lostCountMax {
            #expect(gone <= most, comment)
        }
        // Of a table that the schema does not name any more nobody can count anything.
        let isGone = table.keptCount == 0 && table.lostCount == nil && table.lostCountMax == nil
        #expect(table.isCompared || database.method == .reindexed || isGone, comment)
        if table.tableClass == .irreplaceable, table.lostCount == 0, table.setBackCount == 0 {
            #expect(before == after, comment)
        }
    }
}

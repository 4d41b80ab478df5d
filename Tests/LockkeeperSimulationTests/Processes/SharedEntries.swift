import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperSimulation
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

/// One account whose table `entry` is written by several processes.
struct SharedEntries {
    let test: TestWorkspace
    /// The test's own process, which is one of those that share the account.
    let app: Workspace
    /// The account in it.
    let alice: Session
    /// The database file.
    let path: String

    var root: String { test.root }

    /// Runs a test on a fresh account "alice" with an empty table, and inspects the store.
    static func with(
        limits: Limits = Limits(),
        _ body: (SharedEntries) async throws -> Void
    ) async throws {
        try await TestWorkspace.with(schemas: [], limits: limits) { test in
            let app = try await test.process("app")
            try await app.addAccount("alice")
            let alice = try await app.activate("alice")
            try await alice.database.write {
                try $0.execute("CREATE TABLE entry (id INTEGER PRIMARY KEY, text TEXT)")
            }
            let path = try messagesPath(in: test.root)
            try await body(SharedEntries(test: test, app: app, alice: alice, path: path))
        }
    }

    /// The path of the only account's messages.
    static func messagesPath(in root: String) throws -> String {
        let folder = try #require(try FileSystem.list(root + "/accounts").first)
        let names = try FileSystem.list("\(root)/accounts/\(folder)")
        let name = try #require(names.first { $0.hasPrefix("messages-") && $0.hasSuffix(".db") })
        return "\(root)/accounts/\(folder)/\(name)"
    }

    /// The path of the account's lock file.
    var lockFile: String { FileSystem.directory(of: path) + "/account.locks" }

    /// Inserts a row in the test's own process.
    @discardableResult
    func insert(
        _ row: Int,
        durability: Durability = .committed,
        waitMax: Duration? = nil
    ) async throws -> CommitReceipt {
        try await alice.database.write(durability: durability, waitMax: waitMax) { transaction in
            try transaction.execute("INSERT INTO entry VALUES (?1, 'app')", SQLValue(row))
        }.receipt
    }

    /// Looks until a process does something. Nothing tells of that but its record.
    func waitUntil(_ name: String, is activity: String) async throws {
        let deadline = patience()
        while !deadline.hasPassed(at: SystemClock().now()) {
            let processes = try await app.status().accounts.flatMap(\.processes)
            if processes.contains(where: { $0.name == name && $0.activity == activity }) { return }
            await Task.yield()
        }
        Issue.record("\(name) is never \(activity)")
    }

    /// Who holds a lock that a writer takes, by their names.
    func lockHolders() async throws -> [String] {
        try await app.status().accounts.flatMap(\.processes)
            .filter { $0.locks.contains("queue") || $0.locks.contains("writer") }.map(\.name)
    }

    /// The rows, as the test's own process reads them.
    func rows() async throws -> Set<Int> {
        try await alice.database.read { transaction in
            Set(try transaction.query("SELECT id FROM entry") { Int($0.integer(0)) })
        }
    }

    /// What is wrong with the database where it should have these rows; `nil` where nothing is. Looked
    /// at with SQLite alone.
    func damage(rows: Set<Int>) -> String? { damageOf(path, rows: rows) }

    /// How many commits the log holds, and whether their numbers follow each other without a gap.
    /// Within one boot nothing else happens to them (I-8).
    func commits() throws -> (count: Int, areComplete: Bool) {
        let reader = try PlainDatabase.open(path, .readOnly)
        defer { try? reader.close() }
        let count = try reader.value("SELECT count(*) FROM lk_commit")?.integer ?? 0
        let span = try reader.value("SELECT max(number) - min(number) + 1 FROM lk_commit")?.integer
        return (Int(count), span == count)
    }
}

/// What is wrong with a database that should have these rows; `nil` where nothing is.
func damageOf(_ path: String, rows: Set<Int>) -> String? {
    do {
        let reader = try PlainDatabase.open(path, .readOnly)
        defer { try? reader.close() }
        let lost = rows.subtracting(try reader.rowNumbers())
        let integrity = try reader.integrity()
        if !lost.isEmpty { return "\(lost.count) of \(rows.count) rows lost, \(integrity)" }
        return integrity == "ok" ? nil : integrity
    } catch {
        return "\(error)"
    }
}

import Glibc
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import LockkeeperTestSupport
import Testing

/// A directory with one store, removed when the test ends. When a test is done with it, the store
/// must pass the inspection that `check` runs: ``expectSound()``.
final class TestStore: Sendable {
    static let alice: AccountID = "alice"
    static let first = Generation(1)
    static let token = FencingToken(account: alice, generation: first)
    static let identity = StoreIdentity(bytes: Array(1...16))

    let folder: TemporaryDirectory
    var directory: String { folder.path }
    var path: String { directory + "/messages-1.db" }

    /// The step that gives the tests a table of their own.
    static let migration = Migration(
        owner: "test",
        name: "202611300000_item",
        sql: "CREATE TABLE item(id INTEGER PRIMARY KEY, body)"
    )

    init(account: AccountID = alice, migrations: [Migration] = [migration]) throws {
        folder = try TemporaryDirectory()
        try StoreFile.create(
            path,
            fence: Self.fence(account: account),
            migrations: migrations,
            environment: Self.environment(boot: 1),
            busyDeadline: .never
        )
    }

    static func fence(account: AccountID = alice) throws -> Fence {
        Fence(
            kind: .messages,
            account: account,
            store: try #require(identity),
            generation: first,
            state: .active,
            bootID: BootID(high: 0, low: 1),
            floor: CommitNumber(0)
        )
    }

    /// The machine under some boot.
    static func environment(boot: UInt64) -> StoreEnvironment {
        StoreEnvironment(
            clock: SystemClock(),
            wallClock: SystemWallClock(),
            bootID: BootID(high: 0, low: boot),
            jitterSeed: boot
        )
    }

    func writer(boot: UInt64 = 1, origin: String = "test") throws -> StoreWriter {
        try StoreWriter(
            path: path,
            account: Self.alice,
            origin: origin,
            environment: Self.environment(boot: boot),
            busyDeadline: .never
        )
    }

    func reader() throws -> StoreReader {
        try StoreReader(
            path: path,
            account: Self.alice,
            environment: Self.environment(boot: 1),
            busyDeadline: .never
        )
    }

    /// A connection that no rule binds, as a foreign program would have it.
    func foreign() throws -> Connection {
        try Connection(
            path: path,
            mode: .readWrite,
            clock: SystemClock(),
            busyDeadline: .never,
            jitterSeed: 1
        )
    }

    /// Writes one row and names a topic.
    @discardableResult
    static func insert(
        _ body: SQLValue = "text",
        topic: [UInt8] = [1],
        with writer: StoreWriter
    ) throws -> TransactionOutcome<Int64> {
        try writer.transaction(token: token, deadline: .never, isCancelled: { false }) {
            connection,
            topics in
            let insert = try connection.statement("INSERT INTO item(body) VALUES (?1)")
            try insert.bind([body])
            try insert.run()
            topics.insert(topic)
            return connection.lastInsertRowID
        }
    }

    func count(_ table: String) throws -> Int64? {
        try foreign().value("SELECT count(*) FROM \(table)")?.integer
    }

    func expectSound(migrations: [Migration] = [migration]) throws {
        let inspection = StoreInspection(migrations: migrations)
        #expect(try inspection.run(on: try foreign(), path: path, level: .deep) == [])
    }
}

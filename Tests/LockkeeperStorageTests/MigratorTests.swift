import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import Testing

@Suite("Each migration runs once and whole, and a newer store is left alone (I-14)")
struct MigratorTests {
    private let store: TestStore

    init() throws { store = try TestStore(migrations: []) }

    private static func step(_ name: String, _ sql: String, owner: String = "test") -> Migration {
        Migration(owner: owner, name: name, sql: sql)
    }

    private func open() throws -> Connection {
        try StoreFile.open(
            store.path,
            for: .maintaining,
            environment: TestStore.environment(boot: 1),
            busyDeadline: .never
        )
    }

    @Test("steps run in the order of their names, those added later with a smaller name too")
    func order() throws {
        let connection = try open()
        let two = Self.step("2_b", "INSERT INTO t VALUES (2)")
        let one = Self.step("1_a", "CREATE TABLE t(a)")
        #expect(
            try Migrator([two, one]).apply(to: connection, at: 0).map(\.name) == ["1_a", "2_b"]
        )
        let between = Self.step("1_c", "INSERT INTO t VALUES (1)")
        let migrator = Migrator([two, between, one])
        #expect(try migrator.apply(to: connection, at: 0).map(\.name) == ["1_c"])
        #expect(try migrator.apply(to: connection, at: 0) == [])
        #expect(try connection.value("SELECT group_concat(a) FROM t") == "2,1")
    }

    @Test("of two that look at the same time, one runs a step and the other finds it done")
    func race() throws {
        let (one, other) = (try open(), try open())
        let migrator = Migrator([
            Self.step("1_a", "CREATE TABLE t(a)"), Self.step("2_b", "INSERT INTO t VALUES (1)"),
        ])
        // The other one has done the first step alone when this one, which saw none, comes to it.
        try migrator.apply(to: one, at: 0) { done, _ in
            if done == 0 { _ = try? Migrator([migrator.migrations[0]]).apply(to: other, at: 0) }
        }
        #expect(try migrator.pending(in: one) == [])
        #expect(try one.value("SELECT count(*) FROM t") == 1)
    }

    @Test("a step that fails leaves nothing, and those before it stay")
    func failure() throws {
        let connection = try open()
        let migrator = Migrator([
            Self.step("1_a", "CREATE TABLE t(a)"),
            Self.step("2_b", "INSERT INTO t VALUES (1); INSERT INTO missing VALUES (1)"),
        ])
        #expect(throws: StorageError.self) { try migrator.apply(to: connection, at: 0) }
        #expect(try connection.value("SELECT count(*) FROM t") == 0)
        #expect(try migrator.pending(in: connection).map(\.name) == ["2_b"])
    }

    @Test("a step cannot commit half of itself")
    func commits() throws {
        let connection = try open()
        let migrator = Migrator([Self.step("1_a", "CREATE TABLE t(a); COMMIT; CREATE TABLE u(a)")])
        #expect(throws: StorageError.self) { try migrator.apply(to: connection, at: 0) }
        #expect(
            try connection.value("SELECT count(*) FROM sqlite_schema WHERE name IN ('t', 'u')") == 0
        )
    }

    @Test("a store with a step that the program does not know is refused, and no byte changes")
    func newer() throws {
        let known = Self.step("1_a", "CREATE TABLE t(a)")
        let future = Self.step("2_b", "CREATE TABLE u(a)")
        try Migrator([known, future]).apply(to: try open(), at: 0)
        let before = try files()
        let connection = try open()
        let error = #expect(throws: StorageError.self) {
            try Migrator([known, Self.step("3_c", "CREATE TABLE v(a)")]).apply(
                to: connection,
                at: 0
            )
        }
        guard case .newerSchema("test", "2_b") = error else {
            Issue.record("not newer but \(String(describing: error))")
            return
        }
        try connection.close()
        #expect(try files() == before)
    }

    @Test("another owner's steps are none of a program's business")
    func otherOwner() throws {
        let connection = try open()
        try Migrator([Self.step("1_a", "CREATE TABLE t(a)", owner: "app")])
            .apply(to: connection, at: 0)
        let mine = Migrator([Self.step("1_a", "CREATE TABLE u(a)")])
        #expect(try mine.pending(in: connection).map(\.owner) == ["test"])
    }

    @Test("a step whose text changed after it was applied is named")
    func changed() throws {
        let connection = try open()
        try Migrator([Self.step("1_a", "CREATE TABLE t(a)")]).apply(to: connection, at: 0)
        let error = #expect(throws: StorageError.self) {
            try Migrator([Self.step("1_a", "CREATE TABLE t(a, b)")]).pending(in: connection)
        }
        guard case .migrationChanged("test", "1_a") = error else {
            Issue.record("not changed but \(String(describing: error))")
            return
        }
    }

    @Test("what is embedded is what stands in the folder, byte for byte")
    func embedded() throws {
        let file = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        let root = file.dropLast(3).joined(separator: "/")
        let folder = root + "/Sources/LockkeeperStorage/Migrations"
        let names = try FileSystem.list(folder).filter { $0.hasSuffix(".sql") }.sorted()
        #expect(!names.isEmpty)
        let expected = try names.map { name in
            let text = try FileSystem.contents(of: folder + "/" + name)
            return Migration(
                owner: "lockkeeper",
                name: String(name.dropLast(".sql".count)),
                sql: String(decoding: text, as: UTF8.self)
            )
        }
        #expect(Migration.store == expected)
    }

    private func files() throws -> [[UInt8]] {
        try ["", "-wal"].map { try FileSystem.contents(of: store.path + $0) }
    }
}

import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import LockkeeperTesting
import Testing

@testable import Lockkeeper

@Suite("An app's own schema: applied once and whole, refused where it is not known (I-14)")
struct MigrationTests {
    private static let first = SchemaMigration(
        "202611010900_poll",
        sql: "CREATE TABLE poll (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT)"
    )
    private static let second = SchemaMigration(
        "202611020900_vote",
        sql: """
            CREATE TABLE vote (poll INTEGER NOT NULL REFERENCES poll (id) ON DELETE CASCADE, by TEXT);
            CREATE INDEX vote_poll ON vote (poll)
            """
    )

    private func schema(_ migrations: SchemaMigration...) -> Schema {
        Schema(owner: "polls", migrations: migrations)
    }

    /// Another process, with a program of its own.
    private func program(
        _ test: TestWorkspace,
        _ name: String,
        _ schemas: Schema...,
        limits: Limits = Limits()
    ) async throws -> Workspace {
        try await Workspace.openApart(
            at: test.root,
            name: name,
            schemas: schemas,
            limits: limits,
            clock: test.clock,
            wallClock: test.wallClock
        )
    }

    /// A workspace in which alice was made by a program with a schema.
    private func withPolls(
        _ migrations: SchemaMigration...,
        body: (_ test: TestWorkspace, _ app: Workspace, _ alice: Session) async throws -> Void
    ) async throws {
        try await TestWorkspace.with(schemas: []) { test in
            let app = try await program(
                test,
                "app",
                Schema(owner: "polls", migrations: migrations)
            )
            try await app.addAccount("alice")
            let alice = try await app.activate("alice")
            try await body(test, app, alice)
            await app.close()
        }
    }

    private func backups(_ test: TestWorkspace) throws -> [BackupName] {
        let folder = "\(test.root)/accounts/alice/backups"
        guard try FileSystem.status(folder) != nil else { return [] }
        return try FileSystem.list(folder).compactMap { BackupName($0) }
    }

    /// The bytes of every file of a workspace but the locks, which say who is there, and those of the
    /// log's index, which is void once nobody has the database open.
    private func contents(_ test: TestWorkspace) throws -> [String: [UInt8]] {
        var contents: [String: [UInt8]] = [:]
        var folders = [test.root]
        while let folder = folders.popLast() {
            for name in try FileSystem.list(folder) where !name.hasSuffix(".locks") {
                let path = "\(folder)/\(name)"
                switch try FileSystem.status(path, followingLinks: false)?.kind {
                case .directory: folders.append(path)
                case .regular:
                    let isIndex = name.hasSuffix("-shm")
                    contents[path] = isIndex ? [] : try FileSystem.contents(of: path)
                default: break
                }
            }
        }
        return contents
    }

    @Test("steps in SQL and in Swift run once each, a late one with a smaller name too")
    func appliedOnce() async throws {
        try await withPolls(Self.first) { test, app, alice in
            try await alice.database.write { transaction in
                try transaction.execute("INSERT INTO poll (title) VALUES ('a')")
            }
            await app.close()
            let fill = SchemaMigration("202611030900_fill", version: 1) { transaction in
                let ids = try transaction.query("SELECT id FROM poll") { $0.integer(0) }
                for id in ids {
                    try transaction.execute("INSERT INTO vote VALUES (?1, 'me')", SQLValue(id))
                }
            }
            // A branch that was written earlier and is merged later.
            let late = SchemaMigration("202610310900_late", sql: "CREATE TABLE late (a)")
            let new = schema(fill, Self.second, Self.first, late)
            for round in 1...2 {
                let newer = try await program(test, "newer", new)
                let pending = try await newer.pendingMigrations(of: "alice").map(\.name)
                let expected = ["202610310900_late", "202611020900_vote", "202611030900_fill"]
                #expect(pending == (round == 1 ? expected : []))
                #expect(try await newer.migrate("alice").map(\.name) == pending)
                let session = try await newer.session("alice")
                let votes = try await session.database.read { transaction in
                    try transaction.query("SELECT by FROM vote") { $0.text(0) }
                }
                #expect(votes == ["me"])
                await newer.close()
            }
        }
    }

    @Test("a step whose text, or whose version, changed after it was applied is named")
    func changed() async throws {
        let step = SchemaMigration("202611020900_step", version: 1) { _ in }
        try await withPolls(Self.first, step) { test, app, _ in
            await app.close()
            let other = SchemaMigration("202611010900_poll", sql: "CREATE TABLE poll (id)")
            let later = SchemaMigration("202611020900_step", version: 2) { _ in }
            for (changed, name) in [
                (schema(other, step), "202611010900_poll of polls"),
                (schema(Self.first, later), "202611020900_step of polls"),
            ] {
                let program = try await program(test, "changed", changed)
                let error = await expect(.newerSchema) { _ = try await program.session("alice") }
                #expect(error?.explanation.contains(name) == true, "\(String(describing: error))")
                #expect(error?.answer == .fixProgram)
                await program.close()
            }
        }
    }

    @Test(
        "a program without the app's schema uses the account, and is refused the app's tables alone"
    )
    func unknownOwner() async throws {
        try await withPolls(Self.first, Self.second) { test, _, alice in
            let helper = try await program(test, "helper")
            let session = try await helper.session("alice")
            try await session.database.write { transaction in
                try transaction.execute("CREATE TABLE note (text TEXT)")
                try transaction.execute("INSERT INTO note VALUES ('mine')")
            }
            for sql in [
                "INSERT INTO poll (title) VALUES ('x')", "DELETE FROM vote", "DROP TABLE Poll",
                "ALTER TABLE poll ADD COLUMN b", "CREATE INDEX i ON poll (title)",
                "INSERT INTO note SELECT title FROM poll",
            ] {
                let error = await expect(.statement) {
                    _ = try await session.database.write { try $0.execute(sql) }
                }
                #expect(error?.explanation.contains("schema 'polls'") == true, "\(sql)")
            }
            await expect(.statement) {
                _ = try await session.database.read { transaction in
                    try transaction.query("SELECT count(*) FROM poll") { $0.integer(0) }
                }
            }
            // The app's own program sees what both wrote, and what the helper did not.
            let rows = try await alice.database.read { transaction in
                try transaction.query("SELECT text, (SELECT count(*) FROM poll) FROM note") {
                    "\($0.text(0)) \($0.integer(1))"
                }
            }
            #expect(rows == ["mine 0"])
            await helper.close()
        }
    }

    // B80
    @Test("an older program refuses a newer store, reading and writing, and changes no byte of it")
    func olderProgram() async throws {
        let far = SchemaMigration("999912312359_far", sql: "CREATE TABLE far (a)")
        let before = SchemaMigration("000001010000_early", sql: "CREATE TABLE early (a)")
        for extra in [Self.second, far, before] {
            try await withPolls(Self.first, extra) { test, app, alice in
                try await alice.database.write {
                    try $0.execute("INSERT INTO poll (title) VALUES ('a')")
                }
                await app.close()
                let bytes = try contents(test)
                let older = try await program(test, "older", schema(Self.first))
                let error = await expect(.newerSchema) { _ = try await older.session("alice") }
                #expect(error?.answer == .reopen)
                #expect(error?.explanation.contains(extra.name) == true)
                await expect(.newerSchema) { _ = try await older.activate("alice") }
                await expect(.newerSchema) { _ = try await older.migrate("alice") }
                await expect(.newerSchema) {
                    let session = try await older.inspectionSession("alice")
                    _ = try await session.database.read { _ in 0 }
                }
                await older.close()
                let after = try contents(test)
                let changed = Set(bytes.keys).union(after.keys).filter { bytes[$0] != after[$0] }
                #expect(changed.isEmpty, "\(changed.sorted())")
            }
        }
    }

    @Test(
        "the next write of a process that runs while another migrates is refused whole; reopening helps"
    )
    func superseded() async throws {
        try await withPolls(Self.first) { test, app, alice in
            // Its schema is another one, which is not touched.
            let bystander = try await program(test, "bystander")
            let other = try await bystander.session("alice")
            try await other.database.write { try $0.execute("CREATE TABLE own (a)") }
            let newer = try await program(test, "newer", schema(Self.first, Self.second))
            let session = try await newer.session("alice")
            let head = try await session.database.head()
            let error = await expect(.newerSchema) {
                _ = try await alice.database.write {
                    try $0.execute("INSERT INTO poll (title) VALUES ('a')")
                }
            }
            #expect(error?.answer == .reopen)
            await expect(.newerSchema) {
                _ = try await alice.database.read { transaction in
                    try transaction.query("SELECT id FROM poll") { $0.integer(0) }
                }
            }
            #expect(try await session.database.head() == head)
            try await other.database.write { try $0.execute("INSERT INTO own VALUES (1)") }
            let count = try await session.database.read { transaction in
                try transaction.query("SELECT count(*) FROM poll") { $0.integer(0) }
            }
            #expect(count == [0])
            await newer.close()
            await bystander.close()
        }
    }

    @Test("a step that fails leaves the schema as it was, says why, and an older program goes on")
    func failure() async throws {
        try await withPolls(Self.first) { test, app, alice in
            try await alice.database.write {
                try $0.execute("INSERT INTO poll (title) VALUES ('a')")
            }
            let broken = SchemaMigration(
                "202611030900_broken",
                sql: "UPDATE poll SET title = 'b'; INSERT INTO missing VALUES (1)"
            )
            let thrower = SchemaMigration("202611030900_thrower", version: 1) { transaction in
                try transaction.execute("UPDATE poll SET title = 'b'")
                throw CancellationError()
            }
            for step in [broken, thrower] {
                let newer = try await program(test, "newer", schema(Self.first, step))
                let error = await expect(.migrationFailed) { _ = try await newer.session("alice") }
                #expect(error?.explanation.contains(step.name) == true)
                await newer.close()
            }
            let titles = try await alice.database.write { transaction in
                try transaction.query("SELECT title FROM poll") { $0.text(0) }
            }.value
            #expect(titles == ["a"])
        }
    }

    @Test("an app's step that makes, changes or removes what is Lockkeeper's is refused")
    func reservedNames() async throws {
        try await withPolls(Self.first) { test, app, alice in
            for sql in [
                "CREATE TABLE lk_mine (a)", "CREATE TABLE LK_MINE (a)",
                "CREATE INDEX mine ON lk_commit (origin)", "DROP TABLE lk_inbox_applied",
                "ALTER TABLE lk_commit ADD COLUMN mine",
                "CREATE TRIGGER mine AFTER INSERT ON lk_commit BEGIN DELETE FROM poll; END",
            ] {
                let step = SchemaMigration("202611030900_step", sql: sql)
                let newer = try await program(test, "newer", schema(Self.first, step))
                await expect(.migrationFailed) { _ = try await newer.session("alice") }
                await newer.close()
            }
        }
    }

    @Test(
        "rebuilding a table keeps row ids, counters, rows that refer to it, and the commits' numbers"
    )
    func rebuild() async throws {
        try await withPolls(Self.first, Self.second) { test, app, alice in
            try await alice.database.write { transaction in
                for sql in [
                    "INSERT INTO poll (title) VALUES ('a'), ('b'), ('c'), ('last')",
                    "INSERT INTO vote (poll, by) VALUES (1, 'x'), (3, 'y')",
                    "DELETE FROM poll WHERE title IN ('b', 'last')",
                ] { try transaction.execute(sql) }
            }
            let head = try await alice.database.head()
            await app.close()
            let rebuild = SchemaMigration("202611030900_rebuild", version: 1) { transaction in
                try transaction.rebuild(
                    "poll",
                    as: "(id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, open INTEGER)",
                    filling: ["id": "id", "title": "ifnull(title, '')", "open": "1"]
                )
                // This one's row ids are no column.
                try transaction.rebuild(
                    "vote",
                    as: "(by TEXT, poll INTEGER NOT NULL REFERENCES poll (id) ON DELETE CASCADE)",
                    filling: ["poll": "poll", "by": "by"]
                )
            }
            let newer = try await program(
                test,
                "newer",
                schema(Self.first, Self.second, rebuild)
            )
            let session = try await newer.session("alice")
            #expect(try await session.database.head() == head)
            let lines = try await session.database.write { transaction in
                try transaction.execute("INSERT INTO poll (title) VALUES ('new')")
                return try transaction.query(
                    """
                    SELECT id || title || ifnull(open, '-') FROM poll UNION ALL
                    SELECT rowid || by || poll FROM vote UNION ALL
                    SELECT name FROM sqlite_schema WHERE name = 'vote_poll'
                    """
                ) { $0.text(0) }
            }
            // 4 was given before, and is not given again.
            #expect(lines.value == ["1a1", "3c1", "5new-", "1x1", "2y3", "vote_poll"])
            #expect(lines.receipt.commit == head.commit.next)
            try await session.database.write { try $0.execute("DELETE FROM poll WHERE id = 3") }
            let votes = try await session.database.read { transaction in
                try transaction.query("SELECT by FROM vote") { $0.text(0) }
            }
            #expect(votes == ["x"])
            await newer.close()
        }
    }

    @Test("a step that leaves rows whose foreign keys lead nowhere is refused")
    func dangling() async throws {
        try await withPolls(Self.first, Self.second) { test, app, alice in
            try await alice.database.write { transaction in
                try transaction.execute("INSERT INTO poll (title) VALUES ('a')")
                try transaction.execute("INSERT INTO vote (poll, by) VALUES (1, 'x')")
            }
            await app.close()
            let step = SchemaMigration("202611030900_step", sql: "DELETE FROM poll")
            let newer = try await program(test, "newer", schema(Self.first, Self.second, step))
            let error = await expect(.migrationFailed) { _ = try await newer.session("alice") }
            #expect(error?.explanation.contains("vote that name no row of poll") == true)
            await newer.close()
        }
    }

    @Test(
        "a backup is made before the first step of a store in which something stands; two are kept"
    )
    func backups() async throws {
        try await withPolls(Self.first) { test, app, alice in
            await app.close()
            var migrations = [Self.first]
            for number in 1...4 {
                let name = "20261104000\(number)_step"
                migrations.append(SchemaMigration(name, sql: "CREATE TABLE t\(number) (a)"))
                test.wallClock.set(milliseconds: Int64(number) * 60_000)
                let newer = try await program(
                    test,
                    "newer",
                    Schema(owner: "polls", migrations: migrations)
                )
                let session = try await newer.session("alice")
                // Nothing stood in it before the first of them.
                #expect(try backups(test).count == min(number - 1, 2), "\(number)")
                try await session.database.write {
                    try $0.execute("INSERT INTO poll (title) VALUES ('a')")
                }
                await newer.close()
            }
            let kept = try backups(test)
            #expect(Set(kept.map(\.commit)) == [CommitNumber(2), CommitNumber(3)])
            #expect(kept.allSatisfy { $0.kind == .messages && $0.reason == .migration })
            // What was recalled must not stand in them for ever.
            test.wallClock.set(
                milliseconds: 240_000 + Int64(Limits().migrationBackupTimeMax.milliseconds)
            )
            let opener = try await program(test, "opener")
            _ = try await opener.session("alice")
            #expect(try backups(test) == [])
            await opener.close()
        }
    }

    @Test("how far a migration is stands in the status of others, and in the error of who waits")
    func progress() async throws {
        try await withPolls(Self.first) { test, app, alice in
            await app.close()
            let gate = Gate()
            let slow = SchemaMigration("202611030900_slow", version: 1) { _ in
                gate.arrive()
                gate.waitUntilOpen()
            }
            let new = schema(Self.first, Self.second, slow)
            let newer = try await program(test, "newer", new)
            let migrating = Task { try await newer.migrate("alice") }
            await gate.arrived()
            let watcher = try await program(test, "watcher", new)
            let processes = try await watcher.status().accounts.flatMap(\.processes)
            let process = processes.first { $0.name == "newer" }
            #expect(process?.activity == "migrating")
            #expect(process?.progress == "step 2 of 2")
            var limits = Limits()
            limits.openWaitMax = .zero
            let impatient = try await program(test, "impatient", new, limits: limits)
            await expect(.busy) { _ = try await impatient.session("alice") }
            gate.open()
            #expect(try await migrating.value.count == 2)
            _ = try await watcher.session("alice")
            for program in [impatient, watcher, newer] { await program.close() }
        }
    }
}

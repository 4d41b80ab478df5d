import LockkeeperDomain
import LockkeeperSQLite
import LockkeeperStorage
import Testing

@Suite("The inspection finds what is planted, and nothing else")
struct InspectionTests {
    private let store: TestStore

    init() throws {
        store = try TestStore()
        let writer = try store.writer()
        for _ in 0..<3 { try TestStore.insert(with: writer) }
    }

    @Test("a sound store has no findings at any level")
    func sound() throws {
        for level in [StoreInspection.Level.open, .quick, .deep] {
            #expect(try findings(at: level) == [])
        }
    }

    @Test(
        "what is planted is found from its level on",
        arguments: [
            ("UPDATE lk_fence SET generation = -1", .open, "fence.range"),
            ("UPDATE lk_fence SET floor = 2", .open, "commit-log.floor"),
            ("DELETE FROM lk_fence", .open, "fence.missing"),
            ("DROP TABLE lk_fence", .open, "fence.missing"),
            ("INSERT INTO lk_migration VALUES ('test', '9_z', x'', 0)", .open, "schema.newer"),
            (
                "UPDATE lk_migration SET checksum = CAST('0123456789abcdef0123456789abcdef' AS BLOB)",
                .open, "schema.changed"
            ),
            ("DELETE FROM lk_migration WHERE owner = 'test'", .open, "schema.pending"),
            (
                "UPDATE lk_commit SET generation = 9 WHERE number = 2", .quick,
                "commit-log.generation"
            ),
            ("UPDATE lk_commit SET tables = '{' WHERE number = 2", .quick, "commit-log.row"),
            ("DELETE FROM lk_commit WHERE number = 2", .quick, "commit-log.gap"),
            (
                "UPDATE lk_commit SET number = number + 4294967296 WHERE number = 3", .quick,
                "commit-log.gap"
            ),
            ("UPDATE lk_commit SET topics = '[1]' WHERE number = 2", .quick, "commit-log.row"),
            (
                "CREATE TABLE child(item REFERENCES item(id)); INSERT INTO child VALUES (77)",
                .quick,
                "foreign-key"
            ),
        ] as [(String, StoreInspection.Level, String)]
    )
    func planted(sql: String, level: StoreInspection.Level, code: String) throws {
        try store.foreign().execute(sql)
        for other in [StoreInspection.Level.open, .quick, .deep] {
            let codes = try findings(at: other).map(\.code)
            #expect(codes.contains(code) == (other >= level))
        }
    }

    @Test("a probe from above looks from its level on, and what it throws is a finding")
    func probes() throws {
        struct Failure: Error {}
        let finding = StoreInspection.Finding(
            code: "test",
            subject: "item",
            explanation: "there are items",
            remedy: "none is needed"
        )
        let inspection = StoreInspection(
            migrations: [TestStore.migration],
            probes: [
                StoreInspection.Probe(from: .quick) { _ in [finding] },
                StoreInspection.Probe(from: .deep) { _ in throw Failure() },
            ]
        )
        let counts = try [StoreInspection.Level.open, .quick, .deep].map { level in
            try inspection.run(on: try store.foreign(), path: store.path, level: level).count
        }
        #expect(counts == [0, 1, 2])
    }

    @Test("rows in slices: what is planted is found as at once, and cancelling ends it between two")
    func slices() throws {
        let foreign = try store.foreign()
        try foreign.execute(
            """
            PRAGMA foreign_keys = OFF; CREATE TABLE parent(id INTEGER PRIMARY KEY, code TEXT UNIQUE);
            CREATE TABLE child(a REFERENCES parent, b REFERENCES parent(code), text TEXT NOT NULL);
            INSERT INTO parent VALUES (1, 'x');
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
            INSERT INTO child SELECT 1, 'x', hex(zeroblob(3000)) FROM n;
            DELETE FROM child WHERE rowid BETWEEN 100 AND 300
            """
        )
        let inspection = StoreInspection(migrations: [TestStore.migration])
        func codes(_ level: StoreInspection.Level) throws -> [String] {
            var looks = 0
            let pace = InspectionPace(sliceRowCount: 10) {
                looks += 1
                return false
            }
            defer { #expect(looks > 30) }
            return try inspection.run(on: foreign, path: store.path, level: level, pace: pace)
                .map { "\($0.code) \($0.subject.split(separator: "/").last ?? "")" }
        }
        #expect(try codes(.quick) == [])
        try foreign.execute(
            "UPDATE child SET a = 2 WHERE rowid = 77; UPDATE child SET b = 'y' WHERE rowid = 444"
        )
        #expect(try codes(.quick) == ["foreign-key child 77", "foreign-key child 444"])
        try foreign.execute(
            """
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = replace(sql, 'b REF', 'b NOT NULL REF') WHERE name = 'child';
            UPDATE child SET b = NULL WHERE rowid = 444; PRAGMA writable_schema = RESET
            """
        )
        let found = try codes(.quick)
        // Where SQLite takes the NOT NULL for granted, the NULL is a key without a parent as well.
        #expect(
            Set(found).subtracting(["foreign-key child 444"])
                == ["foreign-key child 77", "file.damaged messages-1.db"]
        )
        var left = 20
        let impatient = InspectionPace(sliceRowCount: 10) {
            left -= 1
            return left < 0
        }
        let error = #expect(throws: StorageError.self) {
            try inspection.run(on: foreign, path: store.path, level: .quick, pace: impatient)
        }
        guard case .cancelled = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(foreign.isInAutocommit)
    }

    private func findings(at level: StoreInspection.Level) throws -> [StoreInspection.Finding] {
        try StoreInspection(migrations: [TestStore.migration])
            .run(on: try store.foreign(), path: store.path, level: level)
    }
}

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
            ("UPDATE lk_migration SET checksum = x'00'", .open, "schema.changed"),
            ("DELETE FROM lk_migration WHERE owner = 'test'", .open, "schema.pending"),
            (
                "UPDATE lk_commit SET generation = 9 WHERE number = 2", .quick,
                "commit-log.generation"
            ),
            ("UPDATE lk_commit SET tables = '{' WHERE number = 2", .quick, "commit-log.row"),
            ("UPDATE lk_commit SET topics = '[1]' WHERE number = 2", .quick, "commit-log.row"),
            (
                "CREATE TABLE child(item REFERENCES item(id)); INSERT INTO child VALUES (77)",
                .deep,
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

    private func findings(at level: StoreInspection.Level) throws -> [StoreInspection.Finding] {
        try StoreInspection(migrations: [TestStore.migration])
            .run(on: try store.foreign(), path: store.path, level: level)
    }
}

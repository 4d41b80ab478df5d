import Lockkeeper
import LockkeeperDomain
import LockkeeperTesting

extension Limits {
    /// With the slow poll at an hour: what is heard of is not found by it.
    static let withoutSlowPoll = {
        var limits = Limits()
        limits.slowPollInterval = .seconds(3600)
        return limits
    }()
}

/// Tables of every kind, with rows.
func withAppTables(
    _ body: (_ test: TestWorkspace, _ alice: Session) async throws -> Void
) async throws {
    try await withNotes(limits: .withoutSlowPoll) { test, app, alice in
        try await alice.database.write { transaction in
            for statement in [
                "CREATE TABLE a (id INTEGER PRIMARY KEY, text TEXT)",
                "CREATE TABLE w (id INTEGER PRIMARY KEY, text TEXT) WITHOUT ROWID",
                "CREATE TABLE log (text TEXT)",
                "CREATE TABLE child (a INTEGER REFERENCES a ON DELETE CASCADE)",
                "CREATE VIEW shown AS SELECT id, text FROM a",
                "CREATE VIRTUAL TABLE f USING fts5(text)",
                """
                CREATE TRIGGER fire AFTER UPDATE ON a WHEN new.text = 'fires'
                BEGIN INSERT INTO log VALUES (new.text); END
                """,
                "INSERT INTO a VALUES (1, 'one'), (2, 'two')",
                "INSERT INTO w VALUES (1, 'w')",
                "INSERT INTO child VALUES (1), (2)",
                "INSERT INTO f VALUES ('zero')",
            ] { try transaction.execute(statement) }
        }
        try await body(test, alice)
    }
}

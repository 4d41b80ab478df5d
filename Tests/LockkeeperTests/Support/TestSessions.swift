import Lockkeeper
import LockkeeperDomain
import LockkeeperTesting
import Testing

/// Runs a test on a fresh active account "alice" with a table `note (text TEXT)`, and inspects the
/// store.
func withNotes(
    limits: Limits = Limits(),
    _ body: (_ test: TestWorkspace, _ app: Workspace, _ alice: Session) async throws -> Void
) async throws {
    try await TestWorkspace.with(schemas: [], limits: limits) { test in
        let app = try await test.process("app")
        try await app.addAccount("alice")
        let alice = try await app.activate("alice")
        try await alice.database.write { try $0.execute("CREATE TABLE note (text TEXT)") }
        try await body(test, app, alice)
    }
}

extension Session {
    /// Writes one row.
    @discardableResult
    func note(
        _ text: String,
        durability: Durability = .committed,
        waitMax: Duration? = nil
    ) async throws -> CommitReceipt {
        try await database.write(durability: durability, waitMax: waitMax) { transaction in
            try transaction.execute("INSERT INTO note VALUES (?1)", SQLValue(text))
        }.receipt
    }

    /// The rows in the order in which they were written.
    func notes() async throws -> [String] {
        try await database.read { transaction in
            try transaction.query("SELECT text FROM note ORDER BY rowid") { $0.text(0) }
        }
    }

    /// Begins a write that stands inside its transaction until the gate opens.
    func holdWriter(until gate: Gate) async -> Task<Void, any Error> {
        let database = database
        let task = Task {
            _ = try await database.write(durability: .committed) { _ in
                gate.arrive()
                gate.waitUntilOpen()
            }
        }
        await gate.arrived()
        return task
    }
}

/// Expects a call to fail with a code, and returns the error.
@discardableResult
func expect(
    _ code: LockkeeperError.Code,
    _ body: () async throws -> Void,
    sourceLocation: SourceLocation = #_sourceLocation
) async -> LockkeeperError? {
    let error = await #expect(throws: LockkeeperError.self, sourceLocation: sourceLocation) {
        try await body()
    }
    #expect(error?.code == code, sourceLocation: sourceLocation)
    return error
}

/// Looks until a process stands in the line of an account. Nothing tells of that but its record.
func waitUntilWaiting(_ name: String, _ workspace: Workspace) async throws {
    while true {
        let accounts = try await workspace.status().accounts
        let processes = accounts.flatMap(\.processes)
        if processes.contains(where: { $0.name == name && $0.activity == "waiting" }) { return }
        await Task.yield()
    }
}

import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperTestSupport
import LockkeeperTesting

extension TestWorkspace {
    /// Alice's database, as other programs open it.
    var database: String { "\(root)/accounts/alice/messages-1.db" }

    /// The size of alice's log.
    func logByteCount() throws -> Int64 { try FileSystem.status(database + "-wal")?.size ?? 0 }

    /// Waits until the log has a size that is asked for. A file's size sends no event.
    func log(_ isSo: (Int64) -> Bool) async throws -> Bool {
        try await becomesTrue { isSo(try logByteCount()) }
    }
}

/// Looks again and again until something is so, for states that send no event.
func becomesTrue(
    within wait: Duration = .seconds(20),
    _ condition: () async throws -> Bool
) async throws -> Bool {
    let deadline = Deadline(after: wait, from: SystemClock().now())
    while !deadline.hasPassed(at: SystemClock().now()) {
        if try await condition() { return true }
        // The looks must not take the processor from what they wait for.
        try await Task.sleep(for: .milliseconds(5))
    }
    return false
}

extension Gate {
    /// Holds a read transaction on a session until the gate opens.
    func holdReader(of session: Session) async -> Task<Void, any Error> {
        let database = session.database
        let task = Task {
            try await database.read { transaction in
                _ = try transaction.query("SELECT count(*) FROM note") { $0.integer(0) }
                self.arrive()
                self.waitUntilOpen()
            }
        }
        await arrived()
        return task
    }
}

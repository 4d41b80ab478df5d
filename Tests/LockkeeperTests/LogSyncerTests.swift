import LockkeeperDomain
import LockkeeperSQLite
import Synchronization
import Testing

@testable import Lockkeeper

@Suite("The syncer completes writers in the order in which they asked (5.2)")
struct LogSyncerTests {
    private struct NoFile: Error {}

    // Whoever finds it idle may sync by himself: then nobody who committed earlier still waits.
    @Test("it is idle only when everybody who asked was completed, in order, failures included")
    func order() async throws {
        try await withNotes { _, _, alice in
            let stay = try alice.attachment.stay(until: .never)
            try await order(stay)
        }
    }

    private func order(_ stay: AccountAttachment.Stay) async throws {
        let gate = Gate()
        let syncer = LogSyncer(stay) { _ in
            gate.arrive()
            gate.waitUntilOpen()
            throw NoFile()
        }
        #expect(syncer.isIdle)
        let completed = Mutex<[Int]>([])
        for number in 0..<3 {
            let completion: LogSyncer.Completion = { [syncer] result in
                #expect(throws: NoFile.self) { try result.get() }
                // Still inside of its pass: who comes now must stand behind.
                #expect(!syncer.isIdle)
                completed.withLock { $0.append(number) }
            }
            syncer.sync([completion])
        }
        await gate.arrived()
        #expect(!syncer.isIdle && completed.withLock { $0.isEmpty })
        gate.open()
        try await blocking("test") { syncer.close() }
        #expect(syncer.isIdle)
        #expect(completed.withLock { $0 } == [0, 1, 2])
        let late: LogSyncer.Completion = { result in
            #expect(throws: LogSyncer.Closed.self) { try result.get() }
        }
        syncer.sync([late])
    }
}

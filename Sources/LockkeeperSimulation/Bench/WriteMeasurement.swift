import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperTesting

/// One measurement of processes that write messages, on plain SQLite or on Lockkeeper: a fresh store,
/// real processes that start at one instant, and a count of what is there afterwards.
struct WriteMeasurement: Sendable {
    let site: BenchSite

    /// Runs processes in a folder of their own and gives their tallies. Blocks the thread.
    ///
    /// - Throws: ``SimulationError`` when a process fails or acknowledged messages are missing
    ///   afterwards; what the stores throw.
    func tallies(of assignments: [BenchAssignment], in name: String) async throws -> [BenchTally] {
        guard let first = assignments.first else { preconditionFailure("somebody writes") }
        return try await site.withFolder(name) { folder in
            let zone = BenchWorker.zone(folder, first.syncDelay)
            let vfs = zone == nil ? nil : FaultZone.vfs
            try await prepare(first, folder, vfs)
            let lines = try BenchProcesses(
                program: site.program,
                folder: folder,
                time: first.time
            ).run(assignments.map(\.part))
            let tallies = try lines.map(BenchTally.init(printed:))
            let stored = try await messageCount(first, folder, vfs)
            let acknowledged = tallies.map(\.messageCount).reduce(0, +)
            guard stored >= acknowledged else {
                throw SimulationError.lost(acknowledged: acknowledged, stored: stored)
            }
            return tallies
        }
    }

    private func prepare(
        _ assignment: BenchAssignment,
        _ folder: String,
        _ vfs: String?
    ) async throws {
        guard assignment.store == .lockkeeper else {
            return try BaselineWriter.create(BenchWorker.baselinePath(in: folder), vfs: vfs)
        }
        try await BenchWorker.makeAccount(
            in: folder,
            vfs: vfs,
            isEncrypted: assignment.isEncrypted
        )
    }

    private func messageCount(
        _ assignment: BenchAssignment,
        _ folder: String,
        _ vfs: String?
    ) async throws -> Int {
        guard assignment.store == .lockkeeper else {
            return try BaselineWriter.messageCount(BenchWorker.baselinePath(in: folder), vfs: vfs)
        }
        return try await BenchWorker.withStore(
            in: folder,
            vfs: vfs,
            isEncrypted: assignment.isEncrypted
        ) { store in
            try await store.session.database.read { transaction in
                try transaction.query("SELECT count(*) FROM lk_message") { Int($0.integer(0)) }
            }[0]
        }
    }
}

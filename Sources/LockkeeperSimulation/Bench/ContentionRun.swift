import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform

/// Measures contention: real processes of this program, started at one instant, on plain SQLite and
/// on Lockkeeper in turn. The caller's thread may block.
package struct ContentionRun: Sendable {
    private let plan: ContentionPlan
    private let program: String
    private let root: String
    private let note: @Sendable (String) -> Void

    /// A run that has not begun.
    ///
    /// - Parameters:
    ///   - program: the path of `lockkeeper`.
    ///   - root: an empty folder on the disk that is to be measured.
    ///   - note: told of each measurement as it is made.
    package init(
        _ plan: ContentionPlan,
        program: String,
        root: String,
        note: @escaping @Sendable (String) -> Void
    ) {
        self.plan = plan
        self.program = program
        self.root = root
        self.note = note
    }

    /// Measures.
    ///
    /// - Throws: ``SimulationError`` when a process fails or acknowledged messages are missing
    ///   afterwards; what the stores throw.
    package func run() async throws -> ContentionReport {
        var runs: [BenchAssignment.Store: [BenchFigures]] = [:]
        for round in 0..<plan.repeatCount {
            // The one that goes first does not always go first.
            let stores = BenchAssignment.Store.allCases
            for store in round.isMultiple(of: 2) ? stores : stores.reversed() {
                let figures = try await measure(store, round)
                note("\(store.rawValue): \(figures.sentence)")
                runs[store, default: []].append(figures)
            }
        }
        return ContentionReport(
            baseline: BenchFigures(medianOf: runs[.baseline] ?? []),
            lockkeeper: BenchFigures(medianOf: runs[.lockkeeper] ?? [])
        )
    }

    private func measure(
        _ store: BenchAssignment.Store,
        _ round: Int
    ) async throws -> BenchFigures {
        let folder = "\(try FileSystem.canonicalPath(root))/\(store.rawValue)-\(round)"
        try FileSystem.makeDirectory(folder, mode: 0o700)
        let zone = BenchWorker.zone(folder, plan.syncDelay)
        let vfs = zone == nil ? nil : FaultZone.vfs
        try await prepare(store, folder, vfs)
        let tallies = try tallies(of: plan.assignments(store), in: folder)
        let stored = try await messageCount(store, folder, vfs)
        let acknowledged = tallies.map(\.messageCount).reduce(0, +)
        guard stored >= acknowledged else {
            throw SimulationError.lost(acknowledged: acknowledged, stored: stored)
        }
        try FileSystem.removeTree(folder)
        return BenchFigures(plan.reported(tallies), over: plan.time)
    }

    private func prepare(
        _ store: BenchAssignment.Store,
        _ folder: String,
        _ vfs: String?
    ) async throws {
        guard store == .lockkeeper else {
            return try BaselineWriter.create(BenchWorker.baselinePath(in: folder), vfs: vfs)
        }
        try await BenchWorker.makeAccount(in: folder, vfs: vfs)
    }

    private func messageCount(
        _ store: BenchAssignment.Store,
        _ folder: String,
        _ vfs: String?
    ) async throws -> Int {
        guard store == .lockkeeper else {
            return try BaselineWriter.messageCount(BenchWorker.baselinePath(in: folder), vfs: vfs)
        }
        let workspace = try await BenchWorker.open(folder, name: "bench", vfs: vfs)
        let session = try await workspace.session(BenchWorker.account)
        let counts = try await session.database.read { transaction in
            try transaction.query("SELECT count(*) FROM lk_message") { Int($0.integer(0)) }
        }
        await workspace.close()
        return counts[0]
    }

    private func tallies(
        of assignments: [BenchAssignment],
        in folder: String
    ) throws -> [BenchTally] {
        let parts = assignments.map { $0.part }
        let lines = try BenchProcesses(program: program, folder: folder, time: plan.time).run(parts)
        return try lines.map(BenchTally.init(printed:))
    }
}

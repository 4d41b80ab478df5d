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
    private let clock = SystemClock()

    /// From the moment in which all are ready to the start: long enough for the word to reach them.
    private static let headStart: Duration = .milliseconds(50)
    /// How much longer than planned a process may take before it counts as hanging.
    private static let hangingAfter: Duration = .seconds(60)

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
        let workspace = try await open(folder, vfs)
        try await workspace.addAccount(BenchWorker.account)
        try await workspace.activate(BenchWorker.account)
        await workspace.close()
    }

    private func messageCount(
        _ store: BenchAssignment.Store,
        _ folder: String,
        _ vfs: String?
    ) async throws -> Int {
        guard store == .lockkeeper else {
            return try BaselineWriter.messageCount(BenchWorker.baselinePath(in: folder), vfs: vfs)
        }
        let workspace = try await open(folder, vfs)
        let session = try await workspace.session(BenchWorker.account)
        let counts = try await session.database.read { transaction in
            try transaction.query("SELECT count(*) FROM lk_message") { Int($0.integer(0)) }
        }
        await workspace.close()
        return counts[0]
    }

    private func open(_ folder: String, _ vfs: String?) async throws -> Workspace {
        try await Workspace.openApart(
            at: folder,
            name: "bench",
            role: .tool,
            schemas: [.messages],
            vfs: vfs
        )
    }

    // MARK: - The processes

    /// What is known of a worker.
    fileprivate struct Progress: Sendable {
        var isReady = false
        var tally: BenchTally?
        var failure: SimulationError?
    }

    private func tallies(
        of assignments: [BenchAssignment],
        in folder: String
    ) throws -> [BenchTally] {
        let supervisor = Supervisor(program: program, root: folder)
        defer { supervisor.endAll() }
        let progress = Monitor(Array(repeating: Progress(), count: assignments.count))
        let workers = try assignments.enumerated().map { index, assignment in
            try supervisor.start("worker \(index)", assignment.arguments) { occurrence in
                progress.withLock { $0[index].note(occurrence, of: "worker \(index)") }
                progress.broadcast()
            }
        }
        try wait(for: progress, workers, "being ready") { $0.isReady }
        let start = clock.now().advanced(by: Self.headStart)
        for worker in workers {
            worker.send(Array("\(start.nanoseconds)\n".utf8), lineCount: 1)
            worker.closeInput()
        }
        try wait(for: progress, workers, "its tally") { $0.tally != nil }
        return progress.withLock { $0.compactMap(\.tally) }
    }

    private func wait(
        for progress: Monitor<[Progress]>,
        _ workers: [ManagedProcess],
        _ awaited: String,
        until isDone: (Progress) -> Bool
    ) throws(SimulationError) {
        let deadline = Deadline(after: plan.time + Self.hangingAfter, from: clock.now())
        let end = progress.wait(until: deadline) { all -> Result<Void, SimulationError>? in
            if let failure = all.lazy.compactMap(\.failure).first { return .failure(failure) }
            return all.allSatisfy(isDone) ? .success(()) : nil
        }
        guard let end else {
            throw .tookTooLong(process: "a worker", awaited: awaited, lastErrors: [])
        }
        if case .failure(.endedUnexpectedly(let process, let ending, _)) = end {
            let errors = workers.flatMap(\.lastErrors)
            throw .endedUnexpectedly(process: process, ending: ending, lastErrors: errors)
        }
        try end.get()
    }
}

extension ContentionRun.Progress {
    mutating func note(_ occurrence: ManagedProcess.Occurrence, of process: String) {
        switch occurrence {
        case .line(let bytes):
            let line = String(decoding: bytes, as: UTF8.self)
            if line == "ready" {
                isReady = true
            } else if let tally = BenchTally(line: line) {
                self.tally = tally
            } else {
                failure = .unreadableOutput(process: process, line: line)
            }
        case .ended(let status):
            guard tally == nil, failure == nil else { return }
            failure = .endedUnexpectedly(process: process, ending: "\(status)", lastErrors: [])
        }
    }
}

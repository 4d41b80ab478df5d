import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperState

/// A stress run: processes that share a workspace, and everything that can happen to processes
/// meanwhile.
///
/// ```
/// prepared   the accounts were active once, so that their files exist; the first one is active
/// safety     for the plan's time the workers work and the nemesis does what the plan says
/// liveness   the trouble ends, who is dead is started again; each worker gets something done, all
///            that makes something new ends, what is left is finished, everybody ends
/// judged     what the processes said is compared with what the databases hold
/// ```
///
/// It blocks the thread that it is called on, which must be one of the caller's own.
package struct StressRun {
    /// Where a run keeps what.
    package struct Places: Sendable {
        /// The workspace: what the disk of its own is, where there is one.
        package var workspace: String
        /// The histories.
        package var histories: String

        /// Places of their parts.
        package init(workspace: String, histories: String) {
            self.workspace = workspace
            self.histories = histories
        }
    }

    let plan: StressPlan
    let places: Places
    let supervisor: Supervisor
    let note: (String) -> Void
    let clock = SystemClock()
    let life = StressLife()
    var workers: [Worker] = []
    var errands: [ManagedProcess] = []
    var lock: ManagedProcess?
    var isFilled = false
    /// The workers that may die or stop at a named place.
    var armed: Set<Int> = []
    /// How many steps the program has that brings its schema.
    var migrationCount = 0
    /// The account that is active, unless a switch did not come about.
    var active = StressPlan.account(0)
    private var logSizes: [StressOutcome.LogSize] = []
    /// What did not converge in time, a sentence each.
    var stragglers: [String] = []

    struct Worker {
        var process: StressProcess
        var managed: ManagedProcess
    }

    /// A run that has not begun.
    ///
    /// - Parameters:
    ///   - program: the path of `lockkeeper`.
    ///   - note: told how far it is, for people.
    package init(
        _ plan: StressPlan,
        program: String,
        places: Places,
        note: @escaping (String) -> Void
    ) {
        self.plan = plan
        self.places = places
        self.note = note
        supervisor = Supervisor(program: program, root: places.workspace)
    }

    /// How long it may take from the end of the trouble until everything has come to rest: far more
    /// than what was left takes on a busy machine.
    static let convergenceMax: Duration = .seconds(120)

    /// Does it all.
    ///
    /// - Throws: what preparing the workspace throws, and ``SimulationError`` where a process cannot be
    ///   ended even by force. No process is left behind.
    package mutating func run() async throws -> StressOutcome {
        defer {
            lock?.closeInput()
            supervisor.endAll()
        }
        try FileSystem.makeDirectory(places.histories)
        try await prepare()
        let start = clock.now()
        for number in plan.roles.indices {
            let process = StressProcess(plan.roles[number], worker: number, life: 1)
            workers.append(Worker(process: process, managed: try launch(process)))
        }
        for event in plan.events {
            clock.sleep(until: Deadline(after: event.time, from: start))
            logSizes.append(try logSize())
            try perform(event.action)
        }
        clock.sleep(until: Deadline(after: plan.duration, from: start))
        let end = clock.now()
        try converge()
        logSizes.append(try logSize())
        let converged = clock.now()
        let histories = try readHistories()
        let evidence = try await StressEvidence.collect(at: places.workspace, plan)
        return StressOutcome(
            plan: plan,
            histories: histories,
            evidence: evidence,
            marks: life.marks,
            logSizes: logSizes,
            stragglers: stragglers,
            start: start.microseconds,
            end: end.microseconds,
            converged: converged.microseconds
        )
    }

    private func prepare() async throws {
        let workspace = try await Workspace.openApart(
            at: places.workspace,
            name: "stress",
            role: .tool,
            schemas: [.messages, .state]
        )
        for number in (0..<plan.accountCount).reversed() {
            let account = StressPlan.account(number)
            try await workspace.addAccount(
                account,
                ownID: StressContent.ownID.bytes,
                contract: ServerContract(refusesDoubles: true)
            )
            let session = try await workspace.activate(account)
            try await session.database.write { try SwitchWitness.createTable(in: $0) }
            await session.close()
            if number > 0 { try await workspace.signOut(account) }
        }
        await workspace.close()
        let faults = StressFault.allCases.filter(plan.faults.contains).map(\.rawValue)
        note(
            "\(plan.roles.count) processes, \(plan.events.count) events, trouble: "
                + faults.joined(separator: ", ")
        )
    }

    /// Starts a process of a worker.
    ///
    /// - Parameter more: what it is told beside what all are.
    func launch(_ process: StressProcess, _ more: [String] = []) throws -> ManagedProcess {
        var arguments = [
            "stress-worker", "--name", "\(process)", "--seed", "\(plan.seed)", "--histories",
            places.histories,
        ]
        if let count = plan.checkpointFrameCount { arguments += ["--log-frames", "\(count)"] }
        if plan.faults.contains(.longReader) { arguments.append("--stays-long") }
        if let defect = plan.defect { arguments += ["--inject-bug", defect.rawValue] }
        arguments += more
        return try supervisor.start("\(process)", arguments) { [life] occurrence in
            life.observe(process, occurrence)
        }
    }

    // MARK: - The end

    /// Ends the trouble and has everything come to rest.
    private mutating func converge() throws {
        note("the trouble ends")
        try endTrouble()
        let deadline = Deadline(after: Self.convergenceMax, from: clock.now())
        let beats = life.beats
        // What only acts for others may have nothing to do, and a tail nothing to see.
        let sources = Set(workers.map(\.process).filter(\.role.isSource).map(\.worker))
        for worker in life.waitForProgress(of: sources, beyond: beats, until: deadline).sorted() {
            stragglers.append(
                "\(workers[worker].process) got nothing done after the trouble had ended"
            )
        }
        let stages: [(StressRole) -> Bool] = [
            \.isSource, { $0 == .outbox || $0 == .effects }, { $0 == .snapshot || $0 == .tail },
            { $0 == .host },
        ]
        for isOfStage in stages {
            let stage = workers.filter { isOfStage($0.process.role) }
            for worker in stage { worker.managed.closeInput() }
            for worker in stage where worker.managed.wait(until: deadline) == nil {
                let said = worker.managed.lastErrors.joined(separator: " / ")
                stragglers.append("\(worker.process) did not come to its end. \(said)")
                try kill(worker.managed)
            }
        }
        for errand in errands where errand.wait(until: deadline) == nil {
            stragglers.append("\(errand.name) did not come to its end")
            try kill(errand)
        }
    }

    private func logSize() throws -> StressOutcome.LogSize {
        var byteCount: Int64 = 0
        for number in 0..<plan.accountCount {
            let folder = "\(places.workspace)/accounts/\(StressPlan.account(number))"
            for name in try FileSystem.list(folder) where name.hasSuffix("-wal") {
                byteCount += try FileSystem.status("\(folder)/\(name)")?.size ?? 0
            }
        }
        return StressOutcome.LogSize(time: clock.now().microseconds, byteCount: byteCount)
    }

    private func kill(_ process: ManagedProcess) throws {
        try process.signal(.kill)
        _ = process.wait(until: .never)
    }

    private func readHistories() throws -> [StressHistory] {
        let endings = life.endings
        return try endings.keys.sorted().map { process in
            var history = try StressHistory(process, in: places.histories)
            history.ending = endings[process]
            return history
        }
    }
}

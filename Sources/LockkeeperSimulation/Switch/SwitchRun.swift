import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform

/// The simulation of the switch: a host that switches among accounts, helpers that ingest for
/// whatever they believe is active, and everything that can happen to processes meanwhile.
///
/// ```
/// prepared   the accounts were active once, so that their files exist; the first one is active
/// running    the plan's steps, one after the other; who was killed is started again
/// ended      every process was asked to end and did
/// judged     what the processes said is compared with what the databases hold
/// ```
///
/// It blocks the thread that it is called on, which must be one of the caller's own.
package struct SwitchRun {
    private let plan: SwitchPlan
    private let supervisor: Supervisor
    private let note: (String) -> Void
    private let clock = SystemClock()
    private let history = SwitchHistory()
    private var workers: [Worker] = []

    private struct Worker {
        var life: Int
        var process: ManagedProcess
    }

    /// What a single step may take before the run counts as hanging: far more than a switch that
    /// waits for a stopped helper on a busy machine.
    private static let stepMax: Duration = .seconds(120)

    /// A run that has not begun.
    ///
    /// - Parameter note: told of each step, for people.
    package init(
        _ plan: SwitchPlan,
        supervisor: Supervisor,
        note: @escaping (String) -> Void
    ) {
        self.plan = plan
        self.supervisor = supervisor
        self.note = note
    }

    /// Does it all.
    ///
    /// - Throws: ``SimulationError`` when a process hangs or ends that should not, and what opening
    ///   the workspace throws. No process is left behind.
    package mutating func run() async throws -> SwitchReport {
        defer { supervisor.endAll() }
        let start = clock.now()
        try await prepare()
        for number in 0...plan.helperCount {
            workers.append(Worker(life: 1, process: try launch(number, life: 1)))
        }
        for step in plan.steps {
            sleep(step.pause)
            try perform(step.action)
        }
        try endAll()
        let evidence = try await SwitchEvidence.collect(in: try await open(), plan: plan)
        let said = history.present
        let violations = SwitchJudgement(history: said, evidence: evidence).violations()
        return SwitchReport(
            plan: plan,
            history: said,
            evidence: evidence,
            violation: violations.first,
            start: start
        )
    }

    // MARK: - Before and after

    private func open() async throws -> Workspace {
        try await Workspace.openApart(
            at: supervisor.root,
            name: "judge",
            role: .tool,
            schemas: [.messages]
        )
    }

    private func prepare() async throws {
        let workspace = try await open()
        for number in (0..<plan.accountCount).reversed() {
            let account = SwitchPlan.account(number)
            try await workspace.addAccount(account)
            let session = try await workspace.activate(account)
            try await session.database.write { try SwitchWitness.createTable(in: $0) }
            await session.close()
            if number > 0 { try await workspace.signOut(account) }
        }
        await workspace.close()
        note(
            "\(plan.accountCount) accounts, \(plan.helperCount) helpers, \(plan.steps.count) steps"
        )
    }

    private func endAll() throws {
        for worker in workers { worker.process.closeInput() }
        for number in workers.indices {
            let status = try supervisor.awaitEnd(of: workers[number].process, until: deadline())
            guard status != .exited(0) else { continue }
            throw unexpectedEnd(of: number, status)
        }
    }

    // MARK: - Steps

    private mutating func perform(_ action: SwitchPlan.Action) throws {
        switch action {
        case .makeSwitch(let worker, let offset):
            try awaitSwitch(by: worker, since: tell(worker, .makeSwitch(offset: offset)))
        case .race(let helper, let offset):
            let heard = (tell(0, .makeSwitch(offset: offset)), tell(helper, .makeSwitch(offset: 1)))
            try awaitSwitch(by: 0, since: heard.0)
            try awaitSwitch(by: helper, since: heard.1)
        case .stopBefore(let helper, let offset):
            try awaitStop(of: helper, at: .before)
            try awaitSwitch(by: 0, since: tell(0, .makeSwitch(offset: offset)))
            try signal(helper, .resume, "continued")
        case .stopInside(let helper, let offset, let time):
            try awaitStop(of: helper, at: .inside)
            let heard = tell(0, .makeSwitch(offset: offset))
            sleep(time)
            try signal(helper, .resume, "continued")
            try awaitSwitch(by: 0, since: heard)
        case .stop(let worker, let time):
            try signal(worker, .stop, "stopped")
            sleep(time)
            try signal(worker, .resume, "continued")
        case .kill(let helper): try killAndRestart(helper)
        case .killSwitching(let offset, let time):
            tell(0, .makeSwitch(offset: offset))
            sleep(time)
            try killAndRestart(0)
        case .stepClock(let worker, let time):
            tell(worker, .stepClock(milliseconds: Int64(time.milliseconds)))
        }
    }

    private func launch(_ number: Int, life: Int) throws -> ManagedProcess {
        let process = SwitchHistory.Process(worker: number, life: life)
        var arguments = ["simulate-worker", "--number", "\(number)", "--life", "\(life)"]
        if number > 0, let defect = plan.defect { arguments += ["--inject-bug", defect.rawValue] }
        return try supervisor.start("\(process)", arguments) { [history] occurrence in
            history.observe(process, occurrence)
        }
    }

    private mutating func killAndRestart(_ number: Int) throws {
        try signal(number, .kill, "killed")
        let status = try supervisor.awaitEnd(of: workers[number].process, until: deadline())
        guard status == .signalled(Signal.kill.rawValue) else {
            throw unexpectedEnd(of: number, status)
        }
        let life = workers[number].life + 1
        workers[number] = Worker(life: life, process: try launch(number, life: life))
    }

    /// Gives an order; returns how much had been said before.
    @discardableResult
    private func tell(_ number: Int, _ order: SwitchOrder) -> Int {
        let heard = history.count
        workers[number].process.send(order.line, lineCount: 1)
        return heard
    }

    private func signal(_ number: Int, _ signal: Signal, _ what: String) throws {
        history.note(what, process(number), at: clock.now())
        try workers[number].process.signal(signal)
    }

    private func awaitSwitch(by number: Int, since heard: Int) throws {
        try hear(number, "the end of a switch", since: heard) { statement in
            switch statement {
            case .switched, .kept: ()
            default: nil
            }
        }
    }

    /// Tells a helper to stop itself, and waits until it stands still.
    private func awaitStop(of number: Int, at place: SwitchStopPlace) throws {
        try hear(number, "that it stops", since: tell(number, .stop(place))) { statement in
            if case .stops = statement { () } else { nil }
        }
        let deadline = deadline()
        // It says so just before it does it.
        while let identity = try ProcessIdentity.read(pid: workers[number].process.pid),
            try identity.condition() == .running, !deadline.hasPassed(at: clock.now())
        {
            sleep(.milliseconds(1))
        }
    }

    /// Waits until a worker says something.
    ///
    /// - Throws: ``SimulationError`` when it ends or hangs.
    private func hear(
        _ number: Int,
        _ awaited: String,
        since heard: Int,
        _ match: (SwitchLine.Statement) -> Void?
    ) throws {
        let process = process(number)
        let outcome = history.wait(until: deadline()) { state -> Bool? in
            if state.first(of: process, from: heard, match) != nil { return true }
            return state.endings[process] == nil ? nil : false
        }
        if outcome == true { return }
        if let status = history.present.endings[process] {
            throw unexpectedEnd(of: number, status)
        }
        throw SimulationError.tookTooLong(
            process: "\(process)",
            awaited: awaited,
            lastErrors: workers[number].process.lastErrors
        )
    }

    private func unexpectedEnd(of number: Int, _ status: ExitStatus) -> SimulationError {
        .endedUnexpectedly(
            process: "\(process(number))",
            ending: status.sentence,
            lastErrors: workers[number].process.lastErrors
        )
    }

    private func process(_ number: Int) -> SwitchHistory.Process {
        SwitchHistory.Process(worker: number, life: workers[number].life)
    }

    private func deadline() -> Deadline { Deadline(after: Self.stepMax, from: clock.now()) }

    private func sleep(_ duration: Duration) {
        clock.sleep(until: Deadline(after: duration, from: clock.now()))
    }
}

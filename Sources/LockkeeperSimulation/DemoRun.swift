import Lockkeeper
package import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform

/// The demo: several processes share one account, one is killed, the account is switched, and the
/// databases say whether anything was lost.
///
/// ```
/// prepared    alice and bob are added, alice is active; a host, a follower and three helpers run
/// killed      the second helper dies by SIGKILL after its first receipt, with a batch in its hands
/// stored      it was started again with what had no receipt; every event has one
/// notified    two processes ingested the same pushes and two showed notifications: one per message,
///             withdrawn on recall and read
/// switched    bob is active; the third helper still holds alice's token
/// refused     the third helper was given events and ended as superseded; a helper stored into bob
/// judged      every process has ended; both accounts are exported and compared with what was sent
/// ```
///
/// It blocks the thread that it is called on, which must be one of the caller's own.
package struct DemoRun {
    let plan: DemoPlan
    let supervisor: Supervisor
    let deadline: Deadline
    let note: (String) -> Void

    let tail = RangeLog()
    let helpers: [HelperLog]
    let otherHelper: HelperLog
    let effects = EffectLog()
    var evidence = DemoEvidence()

    static let alice: AccountID = "alice"
    static let bob: AccountID = "bob"
    private static let helperCount = 3
    private static let killedHelper = 1
    private static let supersededHelper = 2

    /// A run that has not begun.
    ///
    /// - Parameters:
    ///   - deadline: when whatever is waited for counts as hanging.
    ///   - note: told of each step, for people.
    package init(
        _ plan: DemoPlan,
        supervisor: Supervisor,
        deadline: Deadline,
        note: @escaping (String) -> Void
    ) {
        self.plan = plan
        self.supervisor = supervisor
        self.deadline = deadline
        self.note = note
        helpers = plan.shares(of: Self.helperCount).enumerated().map {
            HelperLog(name: "helper-\($0.offset + 1)", share: $0.element)
        }
        otherHelper = HelperLog(name: "helper-of-bob", share: plan.otherEvents)
    }

    /// Does it all.
    ///
    /// - Throws: ``SimulationError`` when a process does not do what it should, and what opening the
    ///   workspace throws. No process is left behind.
    package mutating func run() async throws -> DemoReport {
        defer { supervisor.endAll() }
        let start = try await prepare()
        evidence.commitBefore = start.commit.rawValue
        let host = try startHost()
        let follower = try supervisor.start(
            "follower",
            ["tail", "--account", "\(Self.alice)", "--after", "\(start)"],
            observe: tail.observe
        )
        let processes = try storeEverything()
        try notifyOnce()
        try await awaitFollower(follower)
        try switchToBob()
        try sendTooLate(to: processes[Self.supersededHelper])
        try storeIntoBob()
        try endOthers(host: host, follower: follower)
        try await collect()
        return report()
    }
}

// MARK: - Steps

extension DemoRun {
    private func prepare() async throws -> Position {
        let workspace = try await openWorkspace()
        try await workspace.addAccount(Self.alice, ownID: Array("u1".utf8))
        try await workspace.addAccount(Self.bob, ownID: Array("u1".utf8))
        let session = try await workspace.activate(Self.alice)
        let position = try await session.database.head()
        await session.close()
        await workspace.close()
        note("workspace at \(supervisor.root), accounts alice and bob, alice is active")
        return position
    }

    private func startHost() throws -> ManagedProcess {
        // `false` once it has ended without serving.
        let serves = Monitor<Bool?>(nil)
        let host = try supervisor.start("host", ["host", "--account", "\(Self.alice)"]) { event in
            serves.withLock { serves in
                switch event {
                case .line(let line):
                    if case .ready? = try? CommandOutput(line) { serves = true }
                case .ended: serves = serves ?? false
                }
            }
            serves.broadcast()
        }
        guard serves.wait(until: deadline, for: { $0 }) == true else {
            throw SimulationError.tookTooLong(
                process: host.name,
                awaited: "that it serves",
                lastErrors: host.lastErrors
            )
        }
        note("host serves (pid \(host.pid))")
        return host
    }

    /// Starts the helpers, kills one in the middle, starts it again, and waits for every receipt.
    ///
    /// - Returns: the helpers' present processes; all but the superseded one have ended.
    private mutating func storeEverything() throws -> [ManagedProcess] {
        var processes: [ManagedProcess] = []
        for helper in helpers {
            let process = try start(helper, for: Self.alice)
            processes.append(process)
            note("\(helper.name) stores \(helper.share.count) events (pid \(process.pid))")
        }
        let victim = Self.killedHelper
        processes[victim] = try killAndRestart(helpers[victim], processes[victim])
        for (helper, process) in zip(helpers, processes) {
            try awaitSums(of: helper, process, "a receipt for every event") {
                $0.acknowledgedCount == helper.share.count
            }
        }
        note("every event has a receipt")
        for (index, helper) in helpers.enumerated() where index != Self.supersededHelper {
            processes[index].closeInput()
            try expectEnd(of: processes[index], expectedEnding(of: helper), feeding: helper)
        }
        return processes
    }

    /// A file may have pages whose predecessors it does not have; a helper that was given one says
    /// that it still waits.
    private func expectedEnding(of helper: HelperLog) -> ExitStatus {
        let waiting = ChatModel(plan.events).waitingStreams
        let waits = helper.presentShare.contains { event in
            if case .page(let page) = event { waiting.contains(page.stream) } else { false }
        }
        return .exited(waits ? 75 : 0)
    }

    private mutating func killAndRestart(
        _ helper: HelperLog,
        _ process: ManagedProcess
    ) throws -> ManagedProcess {
        try awaitSums(of: helper, process, "its first receipt") {
            $0.acknowledgedCount > 0 || helper.share.isEmpty
        }
        try process.signal(.kill)
        try expectEnd(of: process, .signalled(Signal.kill.rawValue), feeding: helper)
        let count = helper.sums.acknowledgedCount
        note(
            "\(helper.name) was killed with \(count) of \(helper.share.count) events acknowledged;"
                + " it starts again and gets the others"
        )
        return try start(helper, for: Self.alice)
    }

    private mutating func awaitFollower(_ follower: ManagedProcess) async throws {
        let workspace = try await openWorkspace()
        let session = try await workspace.session(Self.alice)
        let head = try await session.database.head().commit.rawValue
        await session.close()
        await workspace.close()
        evidence.commitHead = head
        let reached = tail.wait(until: deadline) { seen in
            (seen.ranges.last?.upperBound ?? 0) >= head || seen.ending != nil ? true : nil
        }
        guard reached != nil else {
            throw SimulationError.tookTooLong(
                process: follower.name,
                awaited: "commit \(head)",
                lastErrors: follower.lastErrors
            )
        }
        note("the follower has seen commit \(head), the last one")
    }

    private mutating func switchToBob() throws {
        let process = try supervisor.start(
            "switch",
            ["switch", "\(Self.bob)", "--account", "\(Self.alice)"],
            observe: { _ in }
        )
        try expectEnd(of: process, .exited(0))
        note("switched to bob; \(helpers[Self.supersededHelper].name) still holds alice's token")
    }

    private mutating func sendTooLate(to process: ManagedProcess) throws {
        let helper = helpers[Self.supersededHelper]
        evidence.sentTooLate = plan.lateEvents
        feed(plan.lateEvents[...], to: process)
        process.closeInput()
        try expectEnd(of: process, .exited(76), feeding: helper)
        evidence.refusedCount = helper.sums.refusedCount
        note("\(helper.name) was refused as superseded and ended")
    }

    private mutating func storeIntoBob() throws {
        let process = try start(otherHelper, for: Self.bob)
        process.closeInput()
        try expectEnd(of: process, .exited(0), feeding: otherHelper)
        note("\(otherHelper.name) stored \(otherHelper.share.count) events into bob")
    }

    private mutating func endOthers(host: ManagedProcess, follower: ManagedProcess) throws {
        try expectEnd(of: follower, .exited(76))
        try host.signal(.terminate)
        try expectEnd(of: host, .exited(0))
        note("the follower ended with the switch, the host when it was asked to")
    }
}

import LockkeeperDomain

@testable import LockkeeperStorage

/// A workspace with two accounts and a few processes, as far as a switch goes: the registry, the four
/// fences as the kernel shows them and as the disk has them, and what each process is at. The
/// decisions are those of the shipped ``SwitchStateMachine`` and ``SwitchIntent``.
///
/// Not modelled: that files are missing, and that a sync which failed lets what was written before
/// it be lost although a later one succeeds; for that there is the distrust word (5.2).
struct SwitchModel: Hashable {
    /// A mistake that the model must find.
    enum Defect {
        /// A writer compares its token before it begins its transaction.
        case checkOutside
        /// A switch that is turned round leaves the target's fences as they are.
        case targetStaysActive
        /// A fence that stands there already is not synced.
        case noSyncOfFoundFence
        /// The intent is not on the disk before the fences are written.
        case intentNotDurable
    }

    /// What else may happen, in all.
    struct Budget: Hashable {
        var switches: Int
        var crashes: Int
        var powerCuts: Int
        var failures: Int
        var writes: Int
    }

    struct Fence: Hashable {
        var generation: Generation
        var state: AccountState
    }

    /// A fence row: as it is read, and as it is on the disk.
    struct Row: Hashable {
        var present: Fence
        var synced: Fence
    }

    struct Account: Hashable {
        /// As the registry has it.
        var record: Fence
        var settings: Row
        var messages: Row
    }

    enum Process: Hashable {
        case idle
        /// It holds SWITCH. `step` counts the writes and syncs of the present action.
        case switching(SwitchStateMachine, step: Int)
        case holding(FencingToken)
        /// It compared its token outside of the transaction: a defect.
        case hasChecked(FencingToken)
        /// It holds WRITER.
        case begun(FencingToken)
        case checked(FencingToken)

        /// Orders processes, so that worlds that differ in nothing else are one. Two that are not
        /// alike and have the same rank cost a world that is visited twice.
        fileprivate var rank: Int { hashValue }
    }

    private(set) var counter = Generation(1)
    private(set) var intent: SwitchIntent?
    private(set) var accounts: [Account]
    private(set) var processes: [Process]
    private(set) var budget: Budget
    /// A fence could not be read, or that of a target could not be written once its switch was turned
    /// round: then the registry may be ahead of a retired account's fence.
    private(set) var mayLag = false
    /// What was broken on the way here.
    private(set) var violation: String?

    static let ids: [AccountID] = ["a", "b"]

    /// Account a is active under generation 1, nobody does anything.
    init(processCount: Int, budget: Budget) {
        let active = Fence(generation: Generation(1), state: .active)
        let never = Fence(generation: Generation(0), state: .retired)
        accounts = [active, never].map { fence in
            let row = Row(present: fence, synced: fence)
            return Account(record: fence, settings: row, messages: row)
        }
        processes = Array(repeating: .idle, count: processCount)
        self.budget = budget
    }

    // MARK: - What may come next

    /// All worlds that one step leads to.
    func successors(_ defect: Defect?) -> [SwitchModel] {
        var next: [SwitchModel] = []
        for number in processes.indices {
            // Of processes that are alike one stands for all.
            if number > 0, processes[number] == processes[number - 1] { continue }
            next += steps(of: number, defect)
            if budget.crashes > 0, processes[number] != .idle {
                next.append(
                    with {
                        $0.processes[number] = .idle; $0.budget.crashes -= 1
                    }
                )
            }
        }
        if budget.powerCuts > 0 { next += powerCuts(defect) }
        return next.map(\.sorted)
    }

    private func steps(of number: Int, _ defect: Defect?) -> [SwitchModel] {
        switch processes[number] {
        case .idle: opening(number) + beginnings(number)
        case .switching(let machine, let step): switching(number, machine, step, defect)
        case .holding(let token): writing(number, token, defect)
        case .hasChecked(let token):
            isWriterFree(token.account)
                ? [with { $0.processes[number] = .checked(token) }] : []
        case .begun(let token):
            [with { $0.processes[number] = isCurrent(token) ? .checked(token) : .idle }]
        case .checked(let token):
            [
                with { world in
                    if !isCurrent(token) { world.violation = "a commit of \(token) (I-2)" }
                    world.processes[number] = .holding(token)
                }
            ]
        }
    }

    /// A process opens a session, and finishes an intent first.
    private func opening(_ number: Int) -> [SwitchModel] {
        if let intent {
            guard isSwitchFree else { return [] }
            return [
                with { $0.processes[number] = .switching(SwitchStateMachine(intent), step: 0) }
            ]
        }
        return Self.ids.indices.filter { accounts[$0].record.state == .active }.map { index in
            let token = FencingToken(
                account: Self.ids[index],
                generation: accounts[index].record.generation
            )
            return with { $0.processes[number] = .holding(token) }
        }
    }

    /// A process begins a switch from the active account to the other one.
    private func beginnings(_ number: Int) -> [SwitchModel] {
        guard budget.switches > 0, intent == nil, isSwitchFree,
            let from = accounts.firstIndex(where: { $0.record.state == .active })
        else { return [] }
        return [
            with { world in
                world.budget.switches -= 1
                let intent = SwitchIntent(
                    retiring: FencingToken(account: Self.ids[from], generation: world.take()),
                    activating: FencingToken(account: Self.ids[1 - from], generation: world.take()),
                    step: .retiring
                )
                world.intent = intent
                world.processes[number] = .switching(SwitchStateMachine(intent), step: 0)
            }
        ]
    }

    private func writing(
        _ number: Int,
        _ token: FencingToken,
        _ defect: Defect?
    ) -> [SwitchModel] {
        var next = [with { $0.processes[number] = .idle }]
        guard budget.writes > 0 else { return next }
        if defect == .checkOutside {
            next.append(
                with { world in
                    world.budget.writes -= 1
                    world.processes[number] = isCurrent(token) ? .hasChecked(token) : .idle
                }
            )
        } else if isWriterFree(token.account) {
            next.append(
                with { world in
                    world.budget.writes -= 1
                    world.processes[number] = .begun(token)
                }
            )
        }
        return next
    }

    // MARK: - A switch

    private func switching(
        _ number: Int,
        _ machine: SwitchStateMachine,
        _ step: Int,
        _ defect: Defect?
    ) -> [SwitchModel] {
        guard let action = machine.action else { return [with { $0.processes[number] = .idle }] }
        guard case .writeFences(let token, let state) = action else {
            return [
                with { world in
                    var machine = machine
                    machine.succeed(with: world.perform(action, defect))
                    world.processes[number] = .switching(machine, step: 0)
                }
            ]
        }
        // It waits for WRITER before the first step, and keeps it.
        guard step > 0 || isWriterFree(token.account) else { return [] }
        return [
            with { world in
                let next = world.writeFence(token, state, step, defect)
                var machine = machine
                if next == 4 { machine.succeed() }
                world.processes[number] = .switching(machine, step: next % 4)
            }
        ] + failures(number, machine, token, state)
    }

    private func failures(
        _ number: Int,
        _ machine: SwitchStateMachine,
        _ token: FencingToken,
        _ state: AccountState
    ) -> [SwitchModel] {
        guard budget.failures > 0 else { return [] }
        let account = accounts[Self.index(of: token)]
        let truth = SwitchStateMachine.Failure(
            fences: [account.settings, account.messages].map(\.present.generation),
            recorded: account.record.generation,
            wanted: token.generation
        )
        return Set([truth, .uncertain]).map { failure in
            with { world in
                world.budget.failures -= 1
                if failure != truth || state == .retired && world.intent?.step == .activating {
                    world.mayLag = true
                }
                var machine = machine
                machine.fail(failure)
                world.processes[number] = .switching(machine, step: 0)
            }
        }
    }

    /// Settings and messages, each written and synced.
    ///
    /// - Returns: the step that comes next, 4 at the end.
    private mutating func writeFence(
        _ token: FencingToken,
        _ state: AccountState,
        _ step: Int,
        _ defect: Defect?
    ) -> Int {
        let path = step < 2 ? \Account.settings : \Account.messages
        let index = Self.index(of: token)
        let row = accounts[index][keyPath: path]
        if !step.isMultiple(of: 2) {
            accounts[index][keyPath: path].synced = row.present
        } else if row.present.generation < token.generation {
            accounts[index][keyPath: path].present = Fence(
                generation: token.generation,
                state: state
            )
        } else if defect == .noSyncOfFoundFence {
            return step + 2
        }
        return step + 1
    }

    private mutating func perform(
        _ action: SwitchStateMachine.Action,
        _ defect: Defect?
    ) -> SwitchIntent? {
        switch action {
        case .writeFences: preconditionFailure("fences are written step by step")
        case .advance(let intent):
            if let old = intent.retiring { record(old, .retired) }
            self.intent = intent.advanced
        case .turnBack(let intent, let retiringTarget):
            self.intent = intent.turnedBack(
                retiringTarget: retiringTarget && defect != .targetStaysActive
            ) { take() }
        case .complete(let intent):
            if let old = intent.retiring { record(old, .retired) }
            if let new = intent.activating { record(new, .active) }
            self.intent = nil
        case .withdraw: self.intent = nil
        }
        return self.intent
    }

    private mutating func record(_ token: FencingToken, _ state: AccountState) {
        accounts[Self.index(of: token)].record = Fence(generation: token.generation, state: state)
    }

    private mutating func take() -> Generation {
        counter = counter.next
        return counter
    }

    // MARK: - The power

    /// Every process is gone; each fence that was not synced is on the disk or not.
    private func powerCuts(_ defect: Defect?) -> [SwitchModel] {
        var worlds = [
            with { world in
                world.budget.powerCuts -= 1
                if defect == .intentNotDurable { world.intent = nil }
                world.processes = world.processes.map { _ in .idle }
            }
        ]
        for index in accounts.indices {
            for path in [\Account.settings, \Account.messages] {
                worlds = worlds.flatMap { world -> [SwitchModel] in
                    let row = world.accounts[index][keyPath: path]
                    guard row.present != row.synced else { return [world] }
                    return [row.present, row.synced].map { fence in
                        world.with {
                            $0.accounts[index][keyPath: path] = Row(present: fence, synced: fence)
                        }
                    }
                }
            }
        }
        return worlds
    }

    // MARK: - What holds

    /// What is wrong with this world; `nil` where nothing is.
    func problem(_ defect: Defect?) -> String? {
        if let violation { return violation }
        let usable = Self.ids.indices.filter { index in
            let account = accounts[index]
            return account.record.state == .active && account.messages.present == account.record
        }
        if usable.count > 1 { return "both accounts give sessions that can write" }
        let rest = settled(defect)
        guard rest.intent == nil else { return "an intent that nobody can finish" }
        return rest.problemAtRest
    }

    /// The world once every process is gone and another one has opened it, without anything failing.
    private func settled(_ defect: Defect?) -> SwitchModel {
        var world = with { $0.processes = $0.processes.map { _ in .idle } }
        guard let intent else { return world }
        var machine = SwitchStateMachine(intent)
        while let action = machine.action {
            if case .writeFences(let token, let state) = action {
                var step = 0
                while step < 4 { step = world.writeFence(token, state, step, defect) }
                machine.succeed()
            } else {
                machine.succeed(with: world.perform(action, defect))
            }
        }
        return world
    }

    private var problemAtRest: String? {
        let active = accounts.filter { $0.record.state == .active }
        guard active.count == 1 else { return "\(active.count) accounts are active at rest" }
        for (id, account) in zip(Self.ids, accounts) {
            // Such a fence may lag behind, where the account is retired.
            if mayLag, account.record.state == .retired { continue }
            for row in [account.settings, account.messages] where row.present != account.record {
                return
                    "\(id) is \(account.record) in the registry, and its fence says \(row.present)"
            }
        }
        return nil
    }

    // MARK: - Parts

    private var isSwitchFree: Bool {
        !processes.contains { if case .switching = $0 { true } else { false } }
    }

    private func isWriterFree(_ account: AccountID) -> Bool {
        !processes.contains { process in
            switch process {
            case .begun(let token), .checked(let token): return token.account == account
            case .switching(let machine, let step):
                guard step > 0, case .writeFences(let token, _)? = machine.action else {
                    return false
                }
                return token.account == account
            case .idle, .holding, .hasChecked: return false
            }
        }
    }

    private func isCurrent(_ token: FencingToken) -> Bool {
        accounts[Self.index(of: token)].messages.present
            == Fence(generation: token.generation, state: .active)
    }

    private static func index(of token: FencingToken) -> Int { token.account == ids[0] ? 0 : 1 }

    private func with(_ change: (inout SwitchModel) -> Void) -> SwitchModel {
        var world = self
        change(&world)
        return world
    }

    private var sorted: SwitchModel {
        with { $0.processes.sort { $0.rank < $1.rank } }
    }
}

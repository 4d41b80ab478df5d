import LockkeeperDomain

@testable import LockkeeperStorage

/// A workspace with two accounts and a few processes, as far as a switch goes: the registry, the four
/// fences as the kernel shows them and as the disk has them, and what each process is at. The
/// decisions are those of the shipped ``SwitchStateMachine``, ``SwitchIntent`` and
/// ``RegistryContents``.
///
/// What was written before a sync that failed may be lost although a later one succeeds; so nobody
/// writes to such files any more, and whoever comes next copies them (5.2), which is one step here.
/// Not modelled: that files are missing, and that the registry is lost between a failed sync and the
/// copy, and the power behind that: three faults in a row.
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
        /// Files of which a sync has failed are used on.
        case noCopy
        /// A registry that is made anew says what fences say that are not on the disk.
        case noSyncOfSurvey
        /// A registry that is made anew does not look at whom the fences name.
        case noCounterpart
    }

    /// What else may happen, in all.
    struct Budget: Hashable {
        var switches: Int
        var crashes: Int
        var powerCuts: Int
        var failures: Int
        var losses: Int
        var writes: Int
    }

    struct Standing: Hashable {
        var generation: Generation
        var state: AccountState
    }

    struct Fence: Hashable {
        var standing: Standing
        var since: Generation
        var counterpart: FencingToken?

        init(_ generation: Generation, _ state: AccountState, _ counterpart: FencingToken? = nil) {
            standing = Standing(generation: generation, state: state)
            since = generation
            self.counterpart = counterpart
        }
    }

    /// A fence row: as it is read, and as it is on the disk.
    struct Row: Hashable {
        var present: Fence
        var synced: Fence
        /// Whether a sync has failed: no later one makes anything of the file certain.
        var isDoubtful = false
    }

    struct Account: Hashable {
        /// As the registry has it.
        var record: Standing
        var settings: Row
        var messages: Row

        var isDistrusted: Bool { settings.isDoubtful || messages.isDoubtful }
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
    /// Whether the registry was lost.
    private(set) var wasLost = false
    /// What was broken on the way here.
    private(set) var violation: String?

    static let ids: [AccountID] = ["a", "b"]

    /// Account a is active under generation 1, nobody does anything.
    init(processCount: Int, budget: Budget) {
        let active = Standing(generation: Generation(1), state: .active)
        let never = Standing(generation: Generation(0), state: .retired)
        accounts = [active, never].map { standing in
            let fence = Fence(standing.generation, standing.state)
            let row = Row(present: fence, synced: fence)
            return Account(record: standing, settings: row, messages: row)
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
        if budget.losses > 0, !accounts.contains(where: \.isDistrusted) {
            next.append(withLostRegistry(defect))
        }
        return next.map(\.sorted)
    }

    private func steps(of number: Int, _ defect: Defect?) -> [SwitchModel] {
        switch processes[number] {
        case .idle: opening(number, defect) + beginnings(number, defect)
        case .switching(let machine, let step): switching(number, machine, step, defect)
        case .holding(let token): writing(number, token, defect)
        case .hasChecked(let token):
            isWriterFree(token.account)
                ? [with { $0.processes[number] = .checked(token) }] : []
        case .begun(let token):
            [
                with {
                    let isWritable = isCurrent(token) && !isDistrusted(token.account, defect)
                    $0.processes[number] = isWritable ? .checked(token) : .idle
                }
            ]
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
    private func opening(_ number: Int, _ defect: Defect?) -> [SwitchModel] {
        if intent != nil {
            guard isSwitchFree, let world = withWritableIntent(defect) else { return [] }
            return [
                world.with { world in
                    guard let intent = world.intent else { return }
                    world.processes[number] = .switching(SwitchStateMachine(intent), step: 0)
                }
            ]
        }
        if let index = accounts.indices.first(where: { isDistrusted(Self.ids[$0], defect) }) {
            return isSwitchFree ? copied(index).map { [$0] } ?? [] : []
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
    private func beginnings(_ number: Int, _ defect: Defect?) -> [SwitchModel] {
        guard budget.switches > 0, intent == nil, isSwitchFree,
            !Self.ids.contains(where: { isDistrusted($0, defect) }),
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
        let truth = failure(of: token)
        if isDistrusted(token.account, defect) {
            return [
                with { world in
                    var machine = machine
                    machine.fail(truth)
                    world.noteLag(of: state)
                    world.processes[number] = .switching(machine, step: 0)
                }
            ]
        }
        // It waits for WRITER before the first step, and keeps it.
        guard step > 0 || isWriterFree(token.account) else { return [] }
        return [
            with { world in
                let fence = Fence(token.generation, state, machine.intent.counterpart(of: token))
                let next = world.write(fence, of: token.account, step, defect)
                var machine = machine
                if next == 4 { machine.succeed() }
                world.processes[number] = .switching(machine, step: next % 4)
            }
        ] + failures(number, machine, token, state, step)
    }

    /// What is known of an account's fences when they cannot be written.
    private func failure(of token: FencingToken) -> SwitchStateMachine.Failure {
        let account = accounts[Self.index(of: token.account)]
        return SwitchStateMachine.Failure(
            fences: [account.settings, account.messages].map(\.present.standing.generation),
            recorded: account.record.generation,
            wanted: token.generation
        )
    }

    private mutating func noteLag(of state: AccountState) {
        if state == .retired, intent?.step == .activating { mayLag = true }
    }

    /// A write or a sync fails.
    private func failures(
        _ number: Int,
        _ machine: SwitchStateMachine,
        _ token: FencingToken,
        _ state: AccountState,
        _ step: Int
    ) -> [SwitchModel] {
        guard budget.failures > 0 else { return [] }
        let truth = failure(of: token)
        return Set([truth, .uncertain]).map { failure in
            with { world in
                world.budget.failures -= 1
                if failure != truth { world.mayLag = true }
                world.noteLag(of: state)
                if !step.isMultiple(of: 2) {
                    let path = step < 2 ? \Account.settings : \Account.messages
                    world.accounts[Self.index(of: token.account)][keyPath: path].isDoubtful = true
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
    private mutating func write(
        _ fence: Fence,
        of account: AccountID,
        _ step: Int,
        _ defect: Defect?
    ) -> Int {
        let path = step < 2 ? \Account.settings : \Account.messages
        let index = Self.index(of: account)
        let row = accounts[index][keyPath: path]
        if !step.isMultiple(of: 2) {
            if !row.isDoubtful { accounts[index][keyPath: path].synced = row.present }
        } else if row.present.standing.generation < fence.standing.generation {
            accounts[index][keyPath: path].present = fence
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
        accounts[Self.index(of: token.account)].record = Standing(
            generation: token.generation,
            state: state
        )
    }

    private mutating func take() -> Generation {
        counter = counter.next
        return counter
    }

    // MARK: - Doubtful files, and a lost registry

    private func isDistrusted(_ account: AccountID, _ defect: Defect?) -> Bool {
        defect != .noCopy && accounts[Self.index(of: account)].isDistrusted
    }

    /// The world once an account's files were copied into new ones under a new generation; `nil` while
    /// somebody is in there.
    private func copied(_ index: Int) -> SwitchModel? {
        guard isWriterFree(Self.ids[index]) else { return nil }
        return with { world in
            let standing = Standing(
                generation: world.take(),
                state: world.accounts[index].record.state
            )
            world.accounts[index].record = standing
            for path in [\Account.settings, \Account.messages] {
                var fence = world.accounts[index][keyPath: path].present
                if fence.standing.state != standing.state {
                    (fence.since, fence.counterpart) = (Generation(0), nil)
                }
                fence.standing = standing
                world.accounts[index][keyPath: path] = Row(present: fence, synced: fence)
            }
        }
    }

    /// The world once the intent's accounts can be written, and the intent has generations above
    /// theirs; see `Registry.renew`.
    private func withWritableIntent(_ defect: Defect?) -> SwitchModel? {
        guard var intent else { return self }
        let tokens = [intent.retiring, intent.activating].compactMap { $0 }
        var world = self
        for token in tokens where isDistrusted(token.account, defect) {
            guard let copied = world.copied(Self.index(of: token.account)) else { return nil }
            world = copied
        }
        let isOvertaken = tokens.contains { token in
            world.accounts[Self.index(of: token.account)].record.generation > token.generation
        }
        guard isOvertaken else { return world }
        intent = SwitchIntent(
            retiring: intent.retiring.map {
                FencingToken(account: $0.account, generation: world.take())
            },
            activating: intent.activating.map {
                FencingToken(account: $0.account, generation: world.take())
            },
            step: intent.step,
            isReturn: intent.isReturn
        )
        world.intent = intent
        return world
    }

    /// The registry is lost, and made anew of the fences. Who holds SWITCH finds out and gives up.
    private func withLostRegistry(_ defect: Defect?) -> SwitchModel {
        let contents = RegistryContents(
            of: zip(Self.ids, accounts).map { surveyed($0, $1, defect) }
        )
        return with { world in
            world.budget.losses -= 1
            world.wasLost = true
            world.processes = world.processes.map { process in
                if case .switching = process { .idle } else { process }
            }
            world.counter = contents.generation
            world.intent = contents.intent
            for (index, record) in contents.accounts.enumerated() {
                world.accounts[index].record = Standing(
                    generation: record.generation,
                    state: record.state
                )
                // What it reads it syncs as well.
                for path in [\Account.settings, \Account.messages]
                where !world.accounts[index][keyPath: path].isDoubtful && defect != .noSyncOfSurvey
                {
                    world.accounts[index][keyPath: path].synced =
                        world.accounts[index][keyPath: path].present
                }
            }
        }
    }

    private func surveyed(
        _ id: AccountID,
        _ account: Account,
        _ defect: Defect?
    ) -> SurveyedAccount {
        let record = AccountRecord(
            id: id,
            directory: "\(id)",
            birth: Generation(0),
            ownID: nil,
            contract: ServerContract(),
            messagesFile: 1,
            settingsFile: 1,
            createdAt: 0
        )
        let rows: [(StoreKind, Row)] = [
            (.settings, account.settings), (.messages, account.messages),
        ]
        let fences = rows.map { kind, row in
            LockkeeperStorage.Fence(
                kind: kind,
                account: id,
                store: Self.store,
                generation: row.present.standing.generation,
                state: row.present.standing.state,
                bootID: Self.boot,
                since: row.present.since,
                counterpart: defect == .noCounterpart ? nil : row.present.counterpart
            )
        }
        return SurveyedAccount(
            charter: AccountCharter(record),
            fences: Dictionary(uniqueKeysWithValues: fences.map { ($0.kind, $0) })
        )
    }

    private static let store: StoreIdentity = {
        var generator = SeededGenerator(seed: 1)
        return .random(using: &generator)
    }()
    private static let boot = TestStore.environment(boot: 1).bootID

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
            return account.record.state == .active
                && account.messages.present.standing == account.record
        }
        if usable.count > 1 { return "both accounts give sessions that can write" }
        let rest = settled(defect)
        guard rest.intent == nil else { return "an intent that nobody can finish" }
        return rest.problemAtRest
    }

    /// The world once every process is gone and another one has opened it, without anything failing.
    private func settled(_ defect: Defect?) -> SwitchModel {
        let alone = with { $0.processes = $0.processes.map { _ in .idle } }
        guard var world = alone.withWritableIntent(defect), let intent = world.intent else {
            return alone
        }
        var machine = SwitchStateMachine(intent)
        while let action = machine.action {
            if case .writeFences(let token, let state) = action {
                let fence = Fence(token.generation, state, machine.intent.counterpart(of: token))
                var step = 0
                while step < 4 { step = world.write(fence, of: token.account, step, defect) }
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
            // One intent cannot settle the settings of both, which nobody decides by.
            if mayLag, wasLost, account.messages.present.standing == account.record { continue }
            for row in [account.settings, account.messages]
            where row.present.standing != account.record {
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
        accounts[Self.index(of: token.account)].messages.present.standing
            == Standing(generation: token.generation, state: .active)
    }

    private static func index(of account: AccountID) -> Int { account == ids[0] ? 0 : 1 }

    private func with(_ change: (inout SwitchModel) -> Void) -> SwitchModel {
        var world = self
        change(&world)
        return world
    }

    private var sorted: SwitchModel {
        with { $0.processes.sort { $0.rank < $1.rank } }
    }
}

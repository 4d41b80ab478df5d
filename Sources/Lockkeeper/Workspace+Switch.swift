import LockkeeperDomain
import LockkeeperLocking
import LockkeeperNotifier
import LockkeeperPlatform
import LockkeeperStorage
import Synchronization

/// Activation, signing out and switching are one protocol (section 4 of the design), always under
/// SWITCH:
///
/// ```
/// prepared   the account to activate is opened, migrated and inspected; nothing is changed yet
/// intended   one registry transaction takes the generations and records the intent      (durable)
/// retired    the old account's fences say retired under the first generation            (synced)
/// activated  the new account's fences say active under the second generation            (synced)
/// completed  one registry transaction states both and takes the intent away             (durable)
/// ```
///
/// After `intended` whoever opens the workspace finishes it. What is done already is seen from the
/// fences: they are only ever written upward, so that doing a step again changes nothing.
extension Workspace {
    /// Retires one account, activates another, or both.
    func changeAccounts(from old: AccountID?, to new: AccountID?) throws {
        let deadline = deadlineOfOpening()
        try membership.underSwitch(until: deadline) {
            for account in [old, new] { if let account { try continueRecovery(of: account) } }
            try finishIntent(deadline: deadline)
            try change(from: old, to: new, deadline: deadline)
        }
    }

    /// Makes an account the active one in place of the one that is active once nobody else changes
    /// accounts. Who looks before that may come in the middle of a switch, in which none is active.
    ///
    /// - Returns: `false` where it is active already; nothing is done then.
    /// - Throws: ``LockkeeperError`` — `invalidInput` where several others are active.
    func changeActiveAccount(to new: AccountID) throws -> Bool {
        let deadline = deadlineOfOpening()
        return try membership.underSwitch(until: deadline) {
            try continueRecovery(of: new)
            try finishIntent(deadline: deadline)
            let active = try registry.use { try $0.accounts() }.filter { $0.state == .active }
            guard !active.contains(where: { $0.id == new }) else { return false }
            guard active.count <= 1 else { throw LockkeeperError.severalActive(active.map(\.id)) }
            let old = active.first?.id
            if let old { try continueRecovery(of: old) }
            try change(from: old, to: new, deadline: deadline)
            return true
        }
    }

    private func change(
        from old: AccountID?,
        to new: AccountID?,
        deadline: Deadline
    ) throws {
        for account in [old, new] {
            if let account { try replaceDistrustedFiles(of: account, until: deadline) }
        }
        if let new {
            _ = try ErrorMapping.mapped("account \(new)") {
                try AccountFiles(new, of: self).prepare(deadline: deadline)
            }
        }
        Failpoint.switchPrepared.reach()
        let intent = try intend(from: old, to: new)
        Failpoint.switchIntended.reach()
        try carryOut(intent, deadline: deadline)
    }

    /// Finishes what another process began and did not end.
    ///
    /// - Parameter account: `nil` finishes it whatever accounts it concerns; otherwise one that
    ///   does not concern the account is left to others.
    func finishPendingSwitch(concerning account: AccountID? = nil) throws {
        guard let pending = try registry.use({ try $0.intent() }) else { return }
        if let account, !pending.accounts.contains(account) { return }
        let deadline = deadlineOfOpening()
        // Read again now that nobody else can be at it.
        try membership.underSwitch(until: deadline) { try finishIntent(deadline: deadline) }
        // Whoever kept a packet for it meanwhile found it not active.
        for account in pending.accounts { drainInboxIfActive(of: account) }
    }

    /// Finishes what a process began that is not at it any more, if that is quickly done. Nobody who
    /// only opens the workspace waits for it: who needs one of its accounts tries again, for longer.
    func finishAbandonedSwitch() {
        guard let pending = try? registry.use({ try $0.intent() }) else { return }
        let now = clock.now()
        let deadline = Deadline(after: Self.abandonedSwitchPatience, from: now)
        try? membership.underSwitch(until: Deadline(at: now)) {
            try finishIntent(deadline: deadline)
        }
        // Where no thread can be had, whoever opens the account applies what waits.
        _ = try? WorkerThread.start(name: "lk-inbox") { [self] in
            for account in pending.accounts { drainInboxIfActive(of: account) }
        }
    }

    /// Longer than a switch takes where nobody is in its way.
    private static let abandonedSwitchPatience = Duration.seconds(1)

    private func intend(from old: AccountID?, to new: AccountID?) throws -> SwitchIntent {
        try registry.use { registry in
            switch (old, new) {
            case (let old?, let new?): try registry.beginSwitch(from: old, to: new)
            case (let old?, nil): try registry.beginRetirement(of: old)
            case (nil, let new?): try registry.beginActivation(of: new)
            case (nil, nil): preconditionFailure("a change names an account")
            }
        }
    }

    func finishIntent(deadline: Deadline) throws {
        guard let intent = try registry.use({ try $0.intent() }) else { return }
        do {
            let intent = try writable(intent, deadline: deadline)
            try carryOut(intent, keepingIfBusy: true, deadline: deadline)
        } catch {
            // Who began it was told, or is dead. That it was turned round is an end as well.
            guard try registry.use({ try $0.intent() }) == nil else { throw error }
        }
    }

    /// Copies files of which a sync has failed, of a fence perhaps, since nothing is written to them
    /// any more. Copies have a generation above the intent's, which gets new ones.
    private func writable(_ intent: SwitchIntent, deadline: Deadline) throws -> SwitchIntent {
        for token in [intent.retiring, intent.activating] {
            guard let token else { continue }
            try replaceDistrustedFiles(of: token.account, until: deadline)
        }
        return try registry.use { try $0.renew(intent) }
    }

    /// Does what the machine says, until the end.
    ///
    /// - Parameter keepsIfBusy: whether the intent stays as it is where somebody is only in the way:
    ///   it is not the caller's to take back.
    /// - Throws: what failed first, unless the intent was carried out all the same.
    private func carryOut(
        _ intent: SwitchIntent,
        keepingIfBusy keepsIfBusy: Bool = false,
        deadline: Deadline
    ) throws {
        var machine = SwitchStateMachine(intent)
        var failure: (any Error)?
        while let action = machine.action {
            do {
                machine.succeed(with: try perform(action, of: machine.intent, deadline: deadline))
            } catch {
                let named = named(error, in: action)
                if keepsIfBusy, (named as? LockkeeperError)?.code == .busy { throw named }
                failure = failure ?? named
                machine.fail(extent(of: error, in: action, deadline: deadline))
            }
        }
        if machine.ending != .done, let failure { throw failure }
    }

    /// Does one thing of a switch.
    ///
    /// - Returns: the intent, where it changed.
    private func perform(
        _ action: SwitchStateMachine.Action,
        of intent: SwitchIntent,
        deadline: Deadline
    ) throws -> SwitchIntent? {
        switch action {
        case .writeFences(let token, let state):
            let files = try AccountFiles(token.account, of: self)
            // Prepared before the intent was recorded; again here, because another process may be
            // the one that finishes.
            if state == .active { try files.prepare(deadline: deadline) }
            try files.writeFences(
                token.generation,
                state,
                counterpart: intent.counterpart(of: token),
                deadline: deadline
            )
            (state == .retired ? Failpoint.switchRetired : .switchActivated).reach()
            return nil
        case .advance(let intent):
            let advanced = try registry.use { try $0.advance(intent) }
            Failpoint.switchAdvanced.reach()
            return advanced
        case .turnBack(let intent, let retiringTarget):
            return try registry.use { try $0.turnBack(intent, retiringTarget: retiringTarget) }
        case .withdraw(let intent):
            try registry.use { try $0.withdraw(intent) }
            return nil
        case .complete(let intent):
            try registry.use { try $0.complete(intent) }
            Failpoint.switchCompleted.reach()
            if let token = intent.retiring { announce(token, .retired) }
            if let token = intent.activating { announce(token, .active) }
            return nil
        }
    }

    /// The error with the account that it is about, where there is one.
    private func named(
        _ error: any Error,
        in action: SwitchStateMachine.Action
    ) -> any Error {
        guard case .writeFences(let token, _) = action else { return error }
        return ErrorMapping.map(error, subject: "account \(token.account)")
    }

    /// What is known of the fences that could not be written.
    private func extent(
        of error: any Error,
        in action: SwitchStateMachine.Action,
        deadline: Deadline
    ) -> SwitchStateMachine.Failure {
        guard case .writeFences(let token, let state) = action,
            let files = try? AccountFiles(token.account, of: self)
        else { return .uncertain }
        if state == .retired, (try? files.isLost(after: error)) == true { return .lost }
        return (try? files.extent(of: token.generation, deadline: deadline)) ?? .uncertain
    }

    /// Tells this process's sessions and the hub's subscribers that the right to write has changed
    /// hands. Others find out from the fence.
    func announce(_ token: FencingToken, _ accountState: AccountState) {
        let superseded = state.withLock { state in
            state.sessions.filter {
                $0.key.account == token.account && $0.key.generation < token.generation
            }
        }
        for (held, session) in superseded {
            session.value?.end(
                LockkeeperError.superseded(
                    held: held,
                    current: token.generation,
                    state: accountState,
                    cause: nil
                )
            )
        }
        announcements.announce(
            token.account,
            GenerationChange(generation: token.generation, state: accountState)
        )
    }
}

extension SwitchIntent {
    /// The accounts that it concerns.
    fileprivate var accounts: [AccountID] {
        [retiring, activating].compactMap { $0?.account }
    }
}

import LockkeeperDomain
import LockkeeperLocking
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
        let switching = try membership.acquire(.switching, .exclusive, until: deadline)
        try switching.whileHeld {
            try finishIntent(deadline: deadline)
            for account in [old, new] {
                if let account { try replaceDistrustedFiles(of: account, until: deadline) }
            }
            if let new { try AccountFiles(new, of: self).prepare(deadline: deadline) }
            try carryOut(try intend(from: old, to: new), deadline: deadline)
        }
    }

    /// Finishes what another process began and did not end.
    ///
    /// - Parameter account: `nil` finishes it whatever accounts it concerns; otherwise one that
    ///   does not concern the account is left to others.
    func finishPendingSwitch(concerning account: AccountID? = nil) throws {
        guard let pending = try registry.use({ try $0.intent() }) else { return }
        let concerned = [pending.retiring?.account, pending.activating?.account]
        if let account, !concerned.contains(account) { return }
        let deadline = deadlineOfOpening()
        let switching = try membership.acquire(.switching, .exclusive, until: deadline)
        // Read again now that nobody else can be at it.
        try switching.whileHeld { try finishIntent(deadline: deadline) }
    }

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

    private func finishIntent(deadline: Deadline) throws {
        guard let intent = try registry.use({ try $0.intent() }) else { return }
        do {
            try carryOut(intent, deadline: deadline)
        } catch {
            // Who began it was told, or is dead. That it was turned round is an end as well.
            guard try registry.use({ try $0.intent() }) == nil else { throw error }
        }
    }

    private func carryOut(_ intent: SwitchIntent, deadline: Deadline) throws {
        var intent = intent
        if intent.step == .retiring, let old = intent.retiring {
            try retire(old, intent, deadline: deadline)
            if intent.activating != nil {
                intent = try registry.use { try $0.advance(intent) }
            }
        }
        if let new = intent.activating {
            try activate(new, intent, deadline: deadline)
        }
        try registry.use { try $0.complete(intent) }
        for (token, state) in [
            (intent.retiring, AccountState.retired), (intent.activating, .active),
        ] {
            if let token { announce(token, state) }
        }
    }

    private func retire(
        _ old: FencingToken,
        _ intent: SwitchIntent,
        deadline: Deadline
    ) throws {
        do {
            try AccountFiles(old.account, of: self).writeFences(
                old.generation,
                .retired,
                deadline: deadline
            )
        } catch {
            let files = try AccountFiles(old.account, of: self)
            if try files.isLost(after: error) {
                // The account is retired in the registry alone: nobody is left to write it, and
                // whoever activates it again writes its fence first.
                return
            }
            if files.fencesAreBelow(old.generation, deadline: deadline) {
                // Nothing of the old account was written: the intent can be taken back and
                // everything is as it was.
                try registry.use { try $0.withdraw(intent) }
            } else {
                // Its settings are fenced already: it gets a third generation.
                try turnBack(intent, deadline: deadline)
            }
            throw error
        }
    }

    private func activate(
        _ new: FencingToken,
        _ intent: SwitchIntent,
        deadline: Deadline
    ) throws {
        do {
            // Prepared before the intent was recorded; again here, because another process may be
            // the one that finishes.
            let files = try AccountFiles(new.account, of: self)
            try files.prepare(deadline: deadline)
            try files.writeFences(new.generation, .active, deadline: deadline)
        } catch {
            if intent.retiring != nil {
                // The old account is retired already: it is activated again, so that at rest one of
                // the two is active, and the caller is told why.
                try turnBack(intent, deadline: deadline)
            } else if try AccountFiles(new.account, of: self).fencesAreBelow(
                new.generation,
                deadline: deadline
            ) {
                try registry.use { try $0.withdraw(intent) }
            }
            throw error
        }
    }

    /// Turns a switch round: the account that was to be retired is active under a third generation.
    private func turnBack(_ intent: SwitchIntent, deadline: Deadline) throws {
        let back = try registry.use { try $0.turnBack(intent) }
        if let token = back.activating {
            try AccountFiles(token.account, of: self).writeFences(
                token.generation,
                .active,
                deadline: deadline
            )
        }
        try registry.use { try $0.complete(back) }
    }

    /// Tells this process's sessions and the hub's subscribers that the right to write has changed
    /// hands. Others find out from the fence.
    func announce(_ token: FencingToken, _ accountState: AccountState) {
        let (host, superseded) = state.withLock { state in
            (
                state.host?.value,
                state.sessions.filter {
                    $0.key.account == token.account && $0.key.generation < token.generation
                }
            )
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
        host?.announceGeneration(token.account, token.generation, accountState)
    }
}

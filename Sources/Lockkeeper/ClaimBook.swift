import LockkeeperDomain
import LockkeeperLocking
package import LockkeeperPlatform
import Synchronization

/// What of an account can be claimed, one number after the other.
package enum Claimable: Sendable {
    /// An item of the outbox.
    case outboxItem
    /// The effect of a message.
    case effect

    fileprivate var kind: ClaimKind {
        switch self {
        case .outboxItem: .outbox
        case .effect: .effect
        }
    }
}

/// A claim of this process on a thing of an account: nobody else acts on it while it is held.
///
/// It ends with ``release()``, with the last reference, with the process, and when the workspace is
/// suspended, because a suspended process holds no lock. Who has lost it so is not told: what he then
/// writes about the thing is compared with the number of his attempt.
package final class HeldClaim: Sendable {
    private let claim: Mutex<ClaimGuard?>

    fileprivate init(_ claim: consuming ClaimGuard) { self.claim = Mutex(consume claim) }

    /// Lets go. Does nothing the second time.
    package func release() { claim.withLock { $0 = nil } }

    /// Whether it is held still.
    package var isHeld: Bool { claim.withLock { $0 != nil } }

    /// Lends the claim for a program that is started in the closure; `nil` where it is no longer held.
    package func withInheritance<Value, Failure: Error>(
        _ body: (LockDescriptor.Inheritance?) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        // Under the lock, so that the description is not closed before the program has it.
        try claim.withLock { (claim) throws(Failure) in try body(claim?.inheritance) }
    }
}

/// The claims of a process at one account.
///
/// Lock rule: `held` is taken for single steps and holds nothing else back.
final class ClaimBook: Sendable {
    private let held = Mutex<[WeakClaim]>([])

    private struct WeakClaim: Sendable {
        weak let value: HeldClaim?
    }

    /// Claims something if nobody has.
    func claim(
        _ kind: ClaimKind,
        _ number: Int64,
        at membership: LockFileMembership
    ) throws(LockingError) -> HeldClaim? {
        guard let taken = try membership.tryClaim(kind, number) else { return nil }
        let claim = HeldClaim(taken)
        held.withLock { held in
            held.removeAll { $0.value == nil }
            held.append(WeakClaim(value: claim))
        }
        return claim
    }
}

extension ClaimBook: Occupant {
    /// A suspended process holds no lock. For another's exclusive work claims may stay: they are no
    /// connection, and what is claimed has the same number in the next file.
    func vacate(_ absence: AccountAttachment.Absence, until deadline: Deadline) throws -> Bool {
        guard absence == .suspended else { return true }
        let claims = held.withLock { held in
            defer { held.removeAll() }
            return held.compactMap(\.value)
        }
        for claim in claims { claim.release() }
        return true
    }

    func comeBack() throws {}
}

extension Session {
    /// Claims something of the account if nobody has; for the products. Never waits, so that it may be
    /// called inside of a transaction.
    ///
    /// - Returns: the claim; `nil` where somebody, perhaps this process, has it.
    package func tryClaim(_ thing: Claimable, _ number: Int64) throws -> HeldClaim? {
        try attachment.claims.claim(thing.kind, number, at: attachment.membership)
    }

    /// Whether somebody has claimed something. An answer of the past by the time it is read.
    package func isClaimed(_ thing: Claimable, _ number: Int64) throws -> Bool {
        try attachment.membership.isClaimed(thing.kind, number)
    }

    /// Who has claimed something, a sentence each: processes of Lockkeeper's, and the programs that they
    /// have started for it. Empty where nobody has.
    package func claimers(of thing: Claimable, _ number: Int64) throws -> [String] {
        let membership = attachment.membership
        guard try membership.isClaimed(thing.kind, number) else { return [] }
        return try membership.claimers(of: thing.kind, number).map(\.description)
            + membership.heirs(of: thing.kind, number).map(\.description)
    }

    /// The run of the kernel in which this process lives: what readings of the monotonic clock that
    /// outlive a process belong to.
    package var bootID: BootID { attachment.membership.process.identity.bootID }
}

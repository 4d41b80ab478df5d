package import LockkeeperPlatform

/// What can be claimed at an account, one number after the other.
package enum ClaimKind: Sendable, Hashable, CaseIterable {
    /// An item of the outbox.
    case outbox
    /// An effect.
    case effect
}

/// A claim that is held as long as this value lives: nobody else acts on the same thing meanwhile.
///
/// It is a lock on a byte of its own in `account.locks`, with an open file description of its own, as
/// a ``LockGuard`` has one. A claimer that dies lets go at once (I-12); one that is stopped keeps its
/// claim and is named. Nobody ever waits for a claim, so that claims have no place in the lock order.
package struct ClaimGuard: ~Copyable, Sendable {
    /// What kind of thing is claimed.
    package let kind: ClaimKind
    /// Its number.
    package let number: Int64
    private let description: OpenDescription

    fileprivate init(_ kind: ClaimKind, _ number: Int64, by description: consuming OpenDescription)
    {
        self.kind = kind
        self.number = number
        self.description = description
    }

    /// Unlocks before the descriptor is closed, as ``LockGuard`` does. A program that was given the
    /// description has no claim either from then on: whoever lets go has waited for its end.
    deinit {
        // It fails only in a forked child, where the fork handler has closed the descriptor.
        try? description.descriptor.unlock(LockFileLayout.byte(of: kind, number))
    }

    /// The claim for a program that acts on what is claimed: it is held until that has ended too,
    /// though this process is killed meanwhile.
    package var inheritance: LockDescriptor.Inheritance { description.descriptor.inheritance }
}

/// A program that acts on a claim of whoever started it.
package struct ClaimHeir: Sendable, Hashable, CustomStringConvertible {
    /// The process.
    package let pid: Int32
    /// The program's name as the kernel knows it.
    package let program: String
    /// How the process is.
    package let condition: ProcessCondition

    /// For people: "pid 4712 (sh), a program that was started for it, running".
    package var description: String {
        "pid \(pid) (\(program)), a program that was started for it, \(condition.rawValue)"
    }
}

extension LockFileMembership {
    /// Claims something if nobody has.
    ///
    /// - Returns: The claim; `nil` where somebody, perhaps this process, has it.
    /// - Throws: As ``tryAcquire(_:_:)``.
    package func tryClaim(
        _ kind: ClaimKind,
        _ number: Int64
    ) throws(LockingError) -> ClaimGuard? {
        let candidate = try openDescription()
        let byte = LockFileLayout.byte(of: kind, number)
        guard try tryLock(candidate, byte, .exclusive) else { return nil }
        return ClaimGuard(kind, number, by: candidate)
    }

    /// The processes that have a claim, for sentences.
    ///
    /// - Throws: ``LockingError/system(_:)`` when the kernel refuses.
    package func claimers(
        of kind: ClaimKind,
        _ number: Int64
    ) throws(LockingError) -> [Holder] {
        try holders(ofByte: LockFileLayout.byte(of: kind, number), includingSelf: true)
    }

    /// The programs that inherited a claim and have no record, for sentences: each process that may be
    /// looked into is. They may be all that holds it, where whoever started them has died.
    ///
    /// - Throws: ``LockingError/system(_:)`` when the kernel refuses.
    package func heirs(
        of kind: ClaimKind,
        _ number: Int64
    ) throws(LockingError) -> [ClaimHeir] {
        let members = Set(try members().map(\.identity.pid))
        return try strangers(holding: LockFileLayout.byte(of: kind, number), beside: members)
    }

    /// Whether somebody, perhaps this process, has a claim. An answer of the past by the time it is
    /// read.
    ///
    /// - Throws: ``LockingError/system(_:)`` when the kernel refuses.
    package func isClaimed(
        _ kind: ClaimKind,
        _ number: Int64
    ) throws(LockingError) -> Bool {
        try withClaim { (claim) throws(SystemCallError) in
            try claim.descriptor.isHeldElsewhere(LockFileLayout.byte(of: kind, number))
        }
    }
}

package import LockkeeperDomain
import LockkeeperPlatform

/// Coming into an account (design 5.5).
///
/// ENTRY shared, then PRESENCE shared, and ENTRY is let go only then: so whoever holds ENTRY
/// exclusively knows that nobody can come in, and that everybody who is in holds PRESENCE. *After*
/// this the registry's current file is read, and then opened: the other way round a file could be
/// replaced in between.
package enum Presence {
    /// Comes in. Also clears a leave word that somebody left behind who no longer holds ENTRY.
    /// Blocks the thread.
    ///
    /// - Returns: PRESENCE, held shared for as long as the account is open.
    /// - Throws: ``LockingError/busy(_:holders:waited:)`` when exclusive work goes on past the
    ///   deadline, and the other errors of ``LockFileMembership/acquire(_:_:until:isCancelled:)``.
    package static func enter(
        _ membership: LockFileMembership,
        until deadline: Deadline,
        isCancelled: () -> Bool = { false }
    ) throws(LockingError) -> LockGuard {
        let entry = try membership.acquire(
            .entry,
            .shared,
            until: deadline,
            isCancelled: isCancelled
        )
        try membership.clearLeaveWord(holding: entry)
        let presence = try membership.acquire(
            .presence,
            .shared,
            until: deadline,
            isCancelled: isCancelled
        )
        entry.release()
        return presence
    }
}

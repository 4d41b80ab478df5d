import Glibc
import Synchronization

/// A named place at which a process of the tests kills or stops itself: between two steps of a protocol,
/// where a kill from outside comes only by luck.
///
/// Each is compiled in, and off. Off, a place costs a call that loads one byte, which never changes; a
/// write comes to nine of them. Nothing that an app, a variable or a command for people can set switches
/// one on.
package enum Failpoint: String, Sendable, Hashable, CaseIterable {
    // MARK: A write, in its order

    /// WRITER is held, and nothing was done.
    case afterLock = "after-lock"
    /// SQLite's transaction has begun; nothing was read.
    case afterBegin = "after-begin"
    /// The token was found to be current.
    case afterFenceCheck = "after-fence-check"
    /// Everything is written; COMMIT is next.
    case beforeCommit = "before-commit"
    /// It is committed, and WRITER is still held.
    case afterCommit = "after-commit"
    /// WRITER was let go; nobody was told of the commit.
    case beforeAnnouncement = "before-announcement"
    /// The others were told, and it is not synced.
    case afterAnnouncement = "after-announcement"
    /// It is synced, and its caller was not told so.
    case afterSync = "after-sync"
    /// Its caller was told.
    case afterAcknowledgement = "after-acknowledgement"

    // MARK: A checkpoint

    /// MAINTENANCE is held, and nothing was looked at.
    case checkpointBegun = "checkpoint-begun"
    /// A reader of our own keeps the log from beginning anew; the copy is next.
    case checkpointReading = "checkpoint-reading"
    /// What could be copied is copied.
    case checkpointCopied = "checkpoint-copied"
    /// Everything is copied, WRITER is held, and the file is to be shortened.
    case checkpointWhole = "checkpoint-whole"
    /// The log's file is empty.
    case checkpointShortened = "checkpoint-shortened"

    // MARK: A switch

    /// The new account is ready; no intent is recorded.
    case switchPrepared = "switch-prepared"
    /// The intent is recorded.
    case switchIntended = "switch-intended"
    /// The old account's fences are written.
    case switchRetired = "switch-retired"
    /// The registry knows that they are.
    case switchAdvanced = "switch-advanced"
    /// The new account's fences are written.
    case switchActivated = "switch-activated"
    /// The registry has taken the intent away; nobody was told.
    case switchCompleted = "switch-completed"

    // MARK: A migration

    /// WRITER is held and the backup is made, where there is anything to back up.
    case migrationBackedUp = "migration-backed-up"
    /// A step has run; its transaction is not committed.
    case migrationRun = "migration-run"
    /// A step is committed.
    case migrationCommitted = "migration-committed"

    // MARK: Exclusive work: a restore, a change of the key, a recovery

    /// ENTRY is held; nobody was asked to leave.
    case exclusiveEntered = "exclusive-entered"
    /// Everybody has left, and nobody can come.
    case exclusiveAlone = "exclusive-alone"
    /// What is to be restored was looked at; nobody was asked to leave.
    case restoreChecked = "restore-checked"
    /// One new file is made, and nobody knows of it.
    case copyMade = "copy-made"
    /// The registry names the new files.
    case copyPublished = "copy-published"
    /// The account's folder names them too; what was replaced lies beside them.
    case copyChartered = "copy-chartered"
    /// The new key is in the source of keys.
    case keyKept = "key-kept"
    /// The files beside the databases are sealed with it.
    case keySealed = "key-sealed"
    /// The registry knows that a recovery has begun.
    case recoveryNoted = "recovery-noted"
    /// The damaged set was moved.
    case recoveryAside = "recovery-aside"
    /// A copy with new indexes was tried.
    case recoveryReindexed = "recovery-reindexed"
    /// What could be read was put into a new file.
    case recoverySalvaged = "recovery-salvaged"
    /// That was looked at.
    case recoveryInspected = "recovery-inspected"
    /// The registry names the new files; the recovery has not ended.
    case recoveryPublished = "recovery-published"
    /// The recovery has ended.
    case recoveryCompleted = "recovery-completed"

    // MARK: The inbox

    /// A packet is kept as a file, durably, and whoever keeps it was not told.
    case packetKept = "packet-kept"
    /// A packet's rows are written; its transaction is not committed.
    case packetApplied = "packet-applied"
    /// Packets are applied, durably; their files are there yet.
    case packetDurable = "packet-durable"
    /// Their files are gone; their names are recorded yet.
    case packetRemoved = "packet-removed"
    /// Their names are forgotten.
    case packetForgotten = "packet-forgotten"

    // MARK: Claims

    /// The lock on an item of the outbox is taken, and nothing is written.
    case outboxClaimed = "outbox-claimed"
    /// The attempt is durable; the item was not handed out.
    case outboxBegun = "outbox-begun"
    /// The server's answer is durable; its caller was not told.
    case outboxAnswered = "outbox-answered"
    /// The lock on an effect is taken, and nothing is written.
    case effectClaimed = "effect-claimed"
    /// The attempt is durable; the effect was not handed out.
    case effectBegun = "effect-begun"
    /// What became of it is durable; its caller was not told.
    case effectAnswered = "effect-answered"

    /// What happens at a place.
    package enum Act: String, Sendable, Hashable, CaseIterable {
        /// The process is killed, as by somebody else: no handler runs, nothing is let go.
        case kill
        /// It stops, until somebody continues it.
        case stop
    }

    /// Does what was asked for, where this place is the one and has been come to often enough.
    @inline(__always)
    package func reach() {
        let armed = Self.armed.load(ordering: .relaxed)
        if armed != 0 { hit(armed) }
    }

    /// Asks for something to happen at this place, once, in this process.
    ///
    /// - Parameter count: at which coming to it: 1 for the first.
    package func arm(_ act: Act, at count: Int = 1) {
        precondition(count > 0, "a place is come to a first time")
        Self.stops.store(act == .stop, ordering: .relaxed)
        Self.left.store(count, ordering: .relaxed)
        Self.armed.store(number, ordering: .releasing)
    }

    /// The number of the one that is armed; 0 for none.
    private static let armed = Atomic<UInt8>(0)
    private static let stops = Atomic<Bool>(false)
    private static let left = Atomic<Int>(0)

    @inline(never)
    private func hit(_ armed: UInt8) {
        guard armed == number, Self.left.subtract(1, ordering: .relaxed).newValue == 0 else {
            return
        }
        // To this thread, which goes no step further then; the other threads stop or end with it.
        raise(Self.stops.load(ordering: .relaxed) ? SIGSTOP : SIGKILL)
    }

    private var number: UInt8 { UInt8(1 + (Self.allCases.firstIndex(of: self) ?? 0)) }
}

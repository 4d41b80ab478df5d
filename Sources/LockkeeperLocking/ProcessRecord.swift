package import LockkeeperDomain
package import LockkeeperPlatform

/// What a process is for.
package enum ProcessRole: UInt8, Sendable, Hashable, CaseIterable {
    /// Written by a program that this one does not know.
    case unknown = 0
    /// The long-lived process.
    case host = 1
    /// A short-lived one.
    case helper = 2
    /// The command line.
    case tool = 3

    /// The name for people.
    package var name: String {
        switch self {
        case .unknown: "process"
        case .host: "host"
        case .helper: "helper"
        case .tool: "tool"
        }
    }
}

/// What a process is doing, as it wrote down before it began.
package enum ProcessActivity: UInt8, Sendable, Hashable, CaseIterable {
    /// Written by a program that this one does not know.
    case unknown = 0
    /// Nothing.
    case idle = 1
    /// Opening the account.
    case opening = 2
    /// Standing in the turnstile.
    case waiting = 3
    /// Inside a write transaction.
    case writing = 4
    /// Inside a sync of the log, its result not yet looked at (design 5.2).
    case syncing = 5
    /// Inside a read transaction.
    case reading = 6
    /// Checkpointing.
    case checkpointing = 7
    /// Migrating the schema.
    case migrating = 8
    /// Switching accounts.
    case switching = 9
    /// Restoring, re-keying or removing.
    case excluding = 10
    /// Recovering a damaged database.
    case recovering = 11

    /// The participle for people.
    package var name: String {
        switch self {
        case .unknown: "busy"
        case .idle: "idle"
        case .opening: "opening"
        case .waiting: "waiting"
        case .writing: "writing"
        case .syncing: "syncing"
        case .reading: "reading"
        case .checkpointing: "checkpointing"
        case .migrating: "migrating"
        case .switching: "switching"
        case .excluding: "in exclusive work"
        case .recovering: "recovering"
        }
    }
}

/// Who a process is, for the others' sentences.
package struct ProcessDescription: Sendable, Hashable {
    /// Which process.
    package var identity: ProcessIdentity
    /// The program's file name.
    package var program: String
    /// The name under which the process commits ("origin"), for example "push-helper".
    package var processName: String
    /// What the process is for.
    package var role: ProcessRole

    /// A description of its parts. Of each name 96 bytes are kept.
    package init(
        identity: ProcessIdentity,
        program: String,
        processName: String,
        role: ProcessRole
    ) {
        self.identity = identity
        self.program = program
        self.processName = processName
        self.role = role
    }
}

/// The oldest read transaction of a process.
package struct OldestRead: Sendable, Hashable {
    /// What is read.
    package let purpose: ReadPurpose
    /// When it began.
    package let since: MonotonicInstant

    /// A read of its parts.
    package init(purpose: ReadPurpose, since: MonotonicInstant) {
        self.purpose = purpose
        self.since = since
    }
}

/// How far a process is with what it does, where that has steps.
package struct ActivityProgress: Sendable, Hashable {
    /// Steps that are done.
    package let done: UInt16
    /// How many there are.
    package let count: UInt16

    /// Progress; numbers that are too large for the record count as the largest.
    package init(done: Int, of count: Int) {
        self.done = UInt16(clamping: done)
        self.count = UInt16(clamping: count)
    }

    /// For people: "step 2 of 5".
    package var description: String { "step \(min(Int(done) + 1, Int(count))) of \(count)" }
}

/// What a process wrote into its slot of a lock file. It is only read by people and to find
/// holders: who holds what is decided by the kernel's locks (B32).
package struct ProcessRecord: Sendable, Hashable {
    /// Who it is.
    package var process: ProcessDescription
    /// What it is doing.
    package var activity: ProcessActivity
    /// Since when it does that.
    package var since: MonotonicInstant
    /// Its oldest read transaction; `nil` where none has lasted long enough to be written down.
    package var oldestRead: OldestRead?
    /// How far it is; `nil` where what it does has no steps.
    package var progress: ActivityProgress?

    /// A record of its parts.
    package init(
        process: ProcessDescription,
        activity: ProcessActivity,
        since: MonotonicInstant,
        oldestRead: OldestRead? = nil,
        progress: ActivityProgress? = nil
    ) {
        self.progress = progress
        self.oldestRead = oldestRead
        self.process = process
        self.activity = activity
        self.since = since
    }
}

import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import Synchronization

/// The workspace's registry as this process has it open. Calls block; they are made on threads of
/// our own.
///
/// The file is compared with its path before and after each use. Where another one stands there, that
/// one is opened; where none does, or one that cannot be used, it is made anew of the accounts' own
/// files first (``RegistryRebuild``).
///
/// Lock rule: the mutex is held for one use, in which nothing is waited for but other processes'
/// transactions in the registry. SWITCH is never taken inside it: who holds SWITCH uses the registry.
final class RegistryHandle: Sendable {
    private let state = Mutex(State())
    private let source: RegistrySource
    private let clock: any MonotonicClock
    private let waitMax: Duration
    /// Who may be in the way.
    private let users: DatabaseUsers

    private struct State {
        /// `nil` while the process is suspended, and where the file was found to be lost.
        var open: Open?
        var isSuspended = false
        /// Whether this process has made a registry anew because one was lost.
        var hasRebuilt = false
        /// Whether the workspace was closed: what is left of it makes no registry any more, which
        /// might be in a folder that is just being removed.
        var isRetired = false
    }

    private struct Open {
        let registry: Registry
        let identity: FileIdentity
    }

    /// How often another file may come to the path within one use.
    private static let replacementCountMax = 10

    /// Opens the registry, and makes it where there is none.
    ///
    /// - Parameter waitMax: how long one use waits for other processes' transactions, and for
    ///   another process that makes the registry.
    init(_ source: RegistrySource, clock: any MonotonicClock, waitMax: Duration) throws {
        self.source = source
        users = source.users
        self.clock = clock
        self.waitMax = waitMax
        try openCurrent(until: deadline())
    }

    /// Runs a closure with the registry, alone among this process's threads. Where it finds the file
    /// lost, which it cannot have changed then, it is run once more with the one that was made anew.
    ///
    /// - Throws: `LockingError.suspended`; ``StorageError/fileReplaced(path:)`` when the file was
    ///   replaced during the use, so that what was written is lost; what the closure throws.
    func use<Value: Sendable>(_ body: (Registry) throws -> Value) throws -> Value {
        var mayFindLoss = true
        for _ in 0..<Self.replacementCountMax {
            do {
                if let value = try useOpen(body) { return value }
            } catch let error as StorageError where mayFindLoss && error.isLossOfRegistry {
                mayFindLoss = false
            }
            try openCurrent(until: deadline())
        }
        throw StorageError.fileReplaced(path: source.path)
    }

    /// Whether this process has made a registry anew because one was lost.
    var hasRebuilt: Bool { state.withLock { $0.hasRebuilt } }

    /// Closes the registry, so that the process has no descriptor of it.
    func close() throws {
        try state.withLock { state in
            try state.open?.registry.close()
            state.open = nil
            state.isSuspended = true
        }
    }

    /// Says that the workspace was closed. What still comes to its end may use the registry, and finds
    /// `LockingError.closed` where it is lost.
    func retire() { state.withLock { $0.isRetired = true } }

    /// Opens the registry again after ``close()``; nothing happens where it is open.
    func reopen(until deadline: Deadline) throws {
        state.withLock { $0.isSuspended = false }
        do {
            try openCurrent(until: deadline)
        } catch {
            state.withLock { $0.isSuspended = true }
            throw error
        }
    }

    /// Makes the registry anew of the accounts' own files although there is one that can be used: it is
    /// older than they are. The caller holds SWITCH.
    func renew(until deadline: Deadline) throws {
        try state.withLock { state in
            if state.isSuspended { throw LockingError.suspended }
            try state.open?.registry.close()
            state.open = nil
        }
        try source.rebuildHeld(until: deadline)
        try openCurrent(until: deadline)
    }

    /// An account's record.
    ///
    /// - Throws: ``LockkeeperError`` with the code `unknownAccount`.
    func record(of account: AccountID) throws -> AccountRecord {
        guard let record = try use({ try $0.account(account) }) else {
            throw LockkeeperError.unknownAccount(account)
        }
        return record
    }

    // MARK: - Steps

    private func deadline() -> Deadline { Deadline(after: waitMax, from: clock.now()) }

    /// Runs a closure with what is open; `nil` where that is not what stands at the path.
    private func useOpen<Value: Sendable>(_ body: (Registry) throws -> Value) throws -> Value? {
        try state.withLock { state in
            if state.isSuspended { throw LockingError.suspended }
            guard let open = state.open, try source.identity() == open.identity else { return nil }
            // Each use has a budget of its own: that of the opening is long gone in a process that
            // lives for hours, which would then fail at the first meeting with another one.
            open.registry.connection.busyDeadline = deadline()
            let value: Value
            do {
                value = try body(open.registry)
            } catch let error as StorageError where error.isLossOfRegistry {
                // Opening looks through the file, and makes it anew where it has to.
                try? open.registry.close()
                state.open = nil
                throw error
            } catch {
                throw users.named(error)
            }
            guard try source.identity() == open.identity else {
                throw StorageError.fileReplaced(path: source.path)
            }
            return value
        }
    }

    /// Opens what stands at the path, and makes it first where it is lost.
    private func openCurrent(until deadline: Deadline) throws {
        do {
            try openExisting(until: deadline)
        } catch let error as StorageError where error.isLossOfRegistry {
            if state.withLock({ $0.isRetired }) { throw LockingError.closed }
            if try source.rebuild(until: deadline) { state.withLock { $0.hasRebuilt = true } }
            try openExisting(until: deadline)
        }
    }

    private func openExisting(until deadline: Deadline) throws {
        try state.withLock { state in
            if state.isSuspended { throw LockingError.suspended }
            if let open = state.open {
                if try source.identity() == open.identity { return }
                // What it holds is nobody's any more.
                try? open.registry.close()
                state.open = nil
            }
            // Taken before it is opened: where it is replaced in between, the next use finds out.
            guard let identity = try source.identity() else {
                throw StorageError.fileMissing(path: source.path)
            }
            state.open = Open(registry: try source.open(until: deadline), identity: identity)
        }
    }
}

/// Where a workspace's registry comes from.
struct RegistrySource: Sendable {
    let paths: WorkspacePaths
    let environment: StoreEnvironment
    let membership: LockFileMembership

    var path: String { paths.registry }

    /// Who may be in the way.
    var users: DatabaseUsers { DatabaseUsers(membership: membership) { [path] in [path] } }

    /// Which file stands at the path; `nil` where none does.
    func identity() throws -> FileIdentity? { try FileSystem.status(path)?.identity }

    /// Opens the file that is there.
    ///
    /// - Throws: ``StorageError``, of which ``StorageError/isLossOfRegistry`` says whether the
    ///   registry is to be made anew.
    func open(until deadline: Deadline) throws -> Registry {
        try users.naming {
            try Registry(path: path, .existing, environment: environment, busyDeadline: deadline)
        }
    }

    /// Makes the registry anew under SWITCH, unless another process was faster.
    ///
    /// - Returns: whether this process has replaced one that was lost.
    func rebuild(until deadline: Deadline) throws -> Bool {
        try membership.underSwitch(until: deadline) {
            do {
                try open(until: deadline).close()
                return false
            } catch let error as StorageError where error.isLossOfRegistry {
                return try rebuildHeld(until: deadline)
            }
        }
    }

    /// The same for who holds SWITCH, whatever stands at the path.
    @discardableResult
    func rebuildHeld(until deadline: Deadline) throws -> Bool {
        try RegistryRebuild(paths: paths, environment: environment, deadline: deadline).run()
    }
}

/// The memberships whose SWITCH the running thread holds.
private enum SwitchHold {
    @TaskLocal static var holders: Set<ObjectIdentifier> = []
}

extension LockFileMembership {
    /// Runs a closure while this thread holds SWITCH; one that holds it already goes on holding it.
    /// For the lock file of a workspace. Blocks.
    ///
    /// - Throws: `LockingError` when it was not free until the deadline; what the closure throws.
    func underSwitch<Value>(until deadline: Deadline, _ body: () throws -> Value) throws -> Value {
        let own = ObjectIdentifier(self)
        if SwitchHold.holders.contains(own) { return try body() }
        let switching = try acquire(.switching, .exclusive, until: deadline)
        return try switching.whileHeld {
            try SwitchHold.$holders.withValue(SwitchHold.holders.union([own])) { try body() }
        }
    }
}

extension AccountInfo {
    init(_ record: AccountRecord) {
        self.init(
            id: record.id,
            ownID: record.ownID,
            contract: record.contract,
            state: record.state,
            generation: record.generation
        )
    }
}

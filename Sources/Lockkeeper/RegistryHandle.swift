import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import Synchronization

/// The workspace's registry as this process has it open. Calls block; they are made on threads of
/// our own.
///
/// Lock rule: the mutex is held for one use, in which nothing is waited for but other processes'
/// transactions in the registry.
final class RegistryHandle: Sendable {
    /// `nil` while the process is suspended.
    private let registry: Mutex<Registry?>
    private let clock: any MonotonicClock
    private let waitMax: Duration
    /// Who may be in the way.
    private let users: DatabaseUsers

    /// - Parameter waitMax: how long one use waits for other processes' transactions.
    init(
        _ registry: sending Registry,
        users: DatabaseUsers,
        clock: any MonotonicClock,
        waitMax: Duration
    ) {
        self.registry = Mutex(registry)
        self.users = users
        self.clock = clock
        self.waitMax = waitMax
    }

    /// Runs a closure with the registry, alone among this process's threads.
    ///
    /// - Throws: `LockingError.suspended`, and what the closure throws.
    func use<Value: Sendable>(_ body: (Registry) throws -> Value) throws -> Value {
        try registry.withLock { registry in
            guard let registry else { throw LockingError.suspended }
            // Each use has a budget of its own: that of the opening is long gone in a process that
            // lives for hours, which would then fail at the first meeting with another one.
            registry.connection.busyDeadline = Deadline(after: waitMax, from: clock.now())
            do { return try body(registry) } catch { throw users.named(error) }
        }
    }

    /// Closes the registry, so that the process has no descriptor of it.
    func close() throws {
        try registry.withLock { registry in
            try registry?.close()
            registry = nil
        }
    }

    /// Opens the registry again; nothing happens where it is open.
    func reopen(_ open: () throws -> Registry) throws {
        try registry.withLock { registry in
            if registry == nil { registry = try open() }
        }
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

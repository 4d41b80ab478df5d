import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperStorage
import Synchronization

/// The workspace's registry as this process has it open. Calls block; they are made on threads of
/// our own.
final class RegistryHandle: Sendable {
    private let registry: Mutex<Registry>

    init(_ registry: sending Registry) {
        self.registry = Mutex(registry)
    }

    /// Runs a closure with the registry, alone among this process's threads.
    func use<Value: Sendable>(_ body: (Registry) throws -> Value) throws -> Value {
        try registry.withLock { try body($0) }
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

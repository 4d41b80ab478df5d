public import Lockkeeper
public import LockkeeperDomain
import LockkeeperPlatform

/// The keys of accounts' files in a store of secrets: items `lockkeeper.key.<name>` of the account.
///
/// The store must not be the workspace's own (`FileSecretStore(_:)`), which is reached through what the keys
/// open; one in a folder elsewhere, the Secret Service, or the service manager's credentials can be.
public struct SecretStoreKeys: StoreKeySource {
    private let store: any SecretStore

    /// The keys in a store.
    public init(_ store: any SecretStore) { self.store = store }

    private static let prefix = "lockkeeper.key."

    /// Whether an item is a key of an account's files, by its service.
    static func isKey(_ service: [UInt8]) -> Bool {
        service.starts(with: prefix.utf8)
    }

    /// All keys that are kept for an account.
    public func keys(of account: AccountID) throws -> [Secret] {
        let store = store
        return try waiting {
            var keys: [Secret] = []
            for service in try await store.services(of: account) where Self.isKey(service.bytes) {
                do {
                    keys.append(try await store.load(service, of: account).secret)
                } catch let error as LockkeeperError where error.code == .notFound {
                    // Removed in between.
                    continue
                }
            }
            // An item that cannot be read is in no list: a key that is refused is not one that is missing.
            if keys.isEmpty { try await store.checkItems(of: account) }
            return keys
        }
    }

    /// Keeps one more key of an account.
    public func add(_ key: Secret, named name: String, of account: AccountID) throws {
        let store = store
        let service = try SecretService(Self.prefix + name)
        try waiting {
            // Helpers need it before anybody has unlocked anything, and no backup should have it.
            _ = try await store.save(
                key,
                for: service,
                of: account,
                accessibility: .thisDeviceOnly
            )
        }
    }

    /// Removes a key of an account.
    public func remove(named name: String, of account: AccountID) throws {
        let store = store
        let service = try SecretService(Self.prefix + name)
        try waiting { try await store.delete(service, of: account) }
    }

    /// Waits for what a store does, on a thread of Lockkeeper's own that may block.
    private func waiting<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) throws -> Value {
        let outcome = Monitor<Result<Value, any Error>?>(nil)
        Task {
            let result: Result<Value, any Error>
            do {
                result = .success(try await body())
            } catch {
                result = .failure(error)
            }
            outcome.withLock { $0 = result }
            outcome.broadcast()
        }
        guard let result = outcome.wait(until: .never, for: { $0 }) else {
            preconditionFailure("a wait without a deadline ended without a result")
        }
        return try result.get()
    }
}

public import Lockkeeper
public import LockkeeperDomain
import Synchronization

/// Keys of encrypted accounts in memory, for tests: they can be taken away, locked, and be others'.
public final class TestKeys: StoreKeySource {
    private struct State {
        var keys: [AccountID: [(name: String, key: Secret)]] = [:]
        var isLocked = false
    }

    private let state = Mutex(State())

    /// No keys yet.
    public init() {}

    /// All keys that are kept for an account.
    ///
    /// - Throws: ``LockkeeperError`` with the code `locked` while ``isLocked`` is set.
    public func keys(of account: AccountID) throws -> [Secret] {
        try state.withLock { state in
            if state.isLocked { throw Self.locked(account) }
            return state.keys[account, default: []].map(\.key)
        }
    }

    /// Keeps one more key.
    public func add(_ key: Secret, named name: String, of account: AccountID) throws {
        try state.withLock { state in
            if state.isLocked { throw Self.locked(account) }
            state.keys[account, default: []].append((name, key))
        }
    }

    /// Removes a key.
    public func remove(named name: String, of account: AccountID) throws {
        try state.withLock { state in
            if state.isLocked { throw Self.locked(account) }
            state.keys[account]?.removeAll { $0.name == name }
        }
    }

    /// Whether nothing can be read now.
    public var isLocked: Bool {
        get { state.withLock { $0.isLocked } }
        set { state.withLock { $0.isLocked = newValue } }
    }

    /// The names of an account's keys, the oldest first.
    public func names(of account: AccountID) -> [String] {
        state.withLock { $0.keys[account, default: []].map(\.name) }
    }

    /// Forgets keys of an account; all where no name is given.
    public func remove(_ name: String? = nil, of account: AccountID) {
        state.withLock { state in
            state.keys[account]?.removeAll { name == nil || $0.name == name }
        }
    }

    /// Keys where the program can encrypt, none elsewhere: so that one test runs on plain accounts in the one
    /// build, and on encrypted ones in the other.
    package static func whereEncrypted() -> TestKeys? { Workspace.canEncrypt ? TestKeys() : nil }

    private static func locked(_ account: AccountID) -> LockkeeperError {
        LockkeeperError(
            .locked,
            subject: "keys of account \(account)",
            explanation: "the store is locked",
            answer: .retry,
            remedy: "Unlock it."
        )
    }
}

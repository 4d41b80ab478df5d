package import LockkeeperSQLite
import Synchronization

/// The keys that this process has met, and where it asks for others.
///
/// A key is held as long as the process has the workspace open: a store of secrets that is locked
/// meanwhile does not take the account away from who works with it.
package final class KeyRing: Sendable {
    /// Gives the keys of the account to whose folder a path belongs; of none for a path elsewhere. May
    /// block.
    package typealias Source = @Sendable (_ path: String) throws -> [StoreKey]

    private let source: Source?
    private let known = Mutex<[StoreKey.Name: StoreKey]>([:])

    /// A ring; without a source it is that of a workspace whose files are plain.
    package init(_ source: Source? = nil) { self.source = source }

    /// Whether the files of accounts have to be encrypted.
    package var isRequired: Bool { source != nil }

    /// Takes keys in.
    package func add(_ keys: [StoreKey]) {
        known.withLock { known in
            for key in keys { known[key.name] = key }
        }
    }

    /// The key that a connection was opened with; `nil` where its file is plain.
    package func key(of connection: Connection) -> StoreKey? {
        guard let head = connection.keyName, let name = StoreKey.name(inHead: head) else {
            return nil
        }
        return known.withLock { $0[name] }
    }

    /// A key by the bytes of its name; `nil` where those are none.
    ///
    /// - Throws: as ``key(_:for:)``.
    func key(named bytes: [UInt8], for path: String) throws(StorageError) -> StoreKey? {
        guard let name = StoreKey.Name(bytes) else { return nil }
        return try key(name, for: path)
    }

    /// A key by its name.
    ///
    /// - Parameter path: the file that is to be opened.
    /// - Throws: ``StorageError/keyMissing(path:key:)`` where there is none for the account,
    ///   ``StorageError/wrongKey(path:key:)`` where there are only others,
    ///   ``StorageError/keyUnavailable(path:cause:)`` where that cannot be known now.
    func key(_ name: StoreKey.Name, for path: String) throws(StorageError) -> StoreKey {
        if let key = known.withLock({ $0[name] }) { return key }
        guard let source else { throw .keyMissing(path: path, key: name.description) }
        let keys: [StoreKey]
        do {
            keys = try source(path)
        } catch {
            throw .keyUnavailable(path: path, cause: error)
        }
        add(keys)
        if let key = keys.first(where: { $0.name == name }) { return key }
        throw keys.isEmpty
            ? .keyMissing(path: path, key: name.description)
            : .wrongKey(path: path, key: name.description)
    }

    /// The first bytes that a file at a path can have, by the keys that there are for its account.
    ///
    /// - Throws: ``StorageError/keyUnavailable(path:cause:)`` where that cannot be known now.
    func heads(ofFile path: String) throws(StorageError) -> [[UInt8]] {
        guard let source else { return [] }
        do {
            return try source(path).map(\.head)
        } catch {
            throw .keyUnavailable(path: path, cause: error)
        }
    }

    /// Gives a connection its file's key, before anything else is read.
    ///
    /// - Parameters:
    ///   - newKey: the key of a file that is empty; `nil` leaves it plain.
    ///   - acceptsPlain: whether a plain file is taken though keys are required: to be copied.
    /// - Throws: as ``key(_:for:)``; ``StorageError/encrypted(path:)`` in a build without encryption;
    ///   ``StorageError/notEncrypted(path:)``; what SQLite throws.
    func unlock(
        _ connection: Connection,
        at path: String,
        newKey: StoreKey? = nil,
        acceptsPlain: Bool
    ) throws(StorageError) {
        let head = try sqlite { () throws(SQLiteError) in try connection.head() }
        let key: StoreKey
        if let name = StoreKey.name(inHead: head) {
            guard SQLiteLibrary.canEncrypt else { throw .encrypted(path: path) }
            key = try self.key(name, for: path)
        } else if head.isEmpty {
            guard let newKey else { return }
            add([newKey])
            key = newKey
        } else {
            // What is neither is damaged, as its first reading will say.
            if isRequired, !acceptsPlain, Self.isPlain(head: head) {
                throw .notEncrypted(path: path)
            }
            return
        }
        try sqlite { () throws(SQLiteError) in
            try key.withSpecification { (text) throws(SQLiteError) in
                try connection.useKey(text, named: key.head)
            }
        }
    }

    /// Whether these are the first bytes of a plain database.
    static func isPlain(head: [UInt8]) -> Bool { head.elementsEqual(plainHead) }

    private static let plainHead = Array("SQLite format 3\0".utf8)
}

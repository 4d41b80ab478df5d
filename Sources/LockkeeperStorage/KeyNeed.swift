import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite

/// Which key a file needs, as its first bytes say.
package enum KeyNeed: Sendable, Hashable {
    /// None: it is plain, or nothing that a key of ours encrypts.
    case none
    /// The key of this name.
    case key(StoreKey.Name)
    /// It is no plain database, and no key's name is where an encrypted file has one.
    case unknown

    /// Looks into a file: a database, a backup, a sealed document or packet, or the public key that packets
    /// are sealed to.
    ///
    /// The file is read through SQLite's own handle: closing another one of a database that this process
    /// has open would take its locks away.
    ///
    /// - Throws: ``StorageError/sqlite(_:)`` and ``StorageError/system(_:)`` where it cannot be read, or
    ///   is not there.
    package init(ofFile path: String, _ environment: StoreEnvironment) throws(StorageError) {
        let connection = try sqlite { () throws(SQLiteError) in
            try Connection(
                path: path,
                mode: .readOnly,
                vfs: environment.vfs,
                clock: environment.clock,
                busyDeadline: Deadline(after: .zero, from: environment.clock.now()),
                jitterSeed: environment.jitterSeed
            )
        }
        let head = try sqlite { () throws(SQLiteError) in
            defer { try? connection.close() }
            return try connection.head()
        }
        if KeyRing.isPlain(head: head) {
            self = .none
        } else if let name = StoreKey.name(inHead: head) {
            self = .key(name)
        } else {
            self = try FileSealing.keyName(ofFile: path, head: head).map { .key($0) } ?? .unknown
        }
    }
}

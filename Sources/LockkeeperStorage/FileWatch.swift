import LockkeeperPlatform
import Synchronization

/// Notices that the files of an open store no longer stand at their paths.
///
/// SQLite keeps writing into a file that was renamed or removed, and would report success. So the
/// files' identities are taken when the store is opened and compared before each acknowledgement
/// (5.5 of the design, B34's kin). Not `Sendable`: it belongs to the connection it watches.
struct FileWatch {
    private let files: [(path: String, identity: FileIdentity)]
    private let use: IndexUse

    /// Takes the identities of a store's file, its log and the log's index. The connection must
    /// have read once, so that all three are there.
    ///
    /// - Throws: ``StorageError/fileReplaced(path:)`` when one is missing already.
    init(path: String) throws(StorageError) {
        var files: [(path: String, identity: FileIdentity)] = []
        for path in StoreFiles(path).open {
            guard let identity = try Self.identity(path) else { throw .fileReplaced(path: path) }
            files.append((path, identity))
        }
        self.files = files
        use = IndexUse(of: files[2].identity)
    }

    /// Compares.
    ///
    /// - Throws: ``StorageError/fileReplaced(path:)`` when another file or none has a path.
    func check() throws(StorageError) {
        for file in files where try Self.identity(file.path) != file.identity {
            throw .fileReplaced(path: file.path)
        }
    }

    /// Makes sure that the log's index is whole, before it is used: touching memory behind the end of a
    /// file ends the process (B31). One system call.
    ///
    /// - Throws: ``StorageError/fileReplaced(path:)`` when it was removed, replaced or cut.
    func checkIndex() throws(StorageError) {
        let index = files[2]
        let status = try system { () throws(SystemCallError) in try FileSystem.status(index.path) }
        guard let status, status.identity == index.identity, !Self.isCut(status) else {
            throw .fileReplaced(path: index.path)
        }
    }

    /// The same before another connection is opened, which uses the memory that this process has: an
    /// index that was cut while nobody had it open is made anew by SQLite, and is no reason to refuse.
    ///
    /// - Throws: ``StorageError/fileReplaced(path:)``.
    static func checkIndex(of path: String) throws(StorageError) {
        let index = StoreFiles(path).index
        let status = try system { () throws(SystemCallError) in try FileSystem.status(index) }
        guard let status, isCut(status), IndexUse.isInUse(status.identity) else { return }
        throw .fileReplaced(path: index)
    }

    /// Whether it is shorter than the first of the pieces in which SQLite maps it.
    private static func isCut(_ status: FileStatus) -> Bool { status.size < 32_768 }

    private static func identity(_ path: String) throws(StorageError) -> FileIdentity? {
        try system { () throws(SystemCallError) in try FileSystem.status(path)?.identity }
    }
}

/// That this process has a log's index in its memory.
private final class IndexUse: Sendable {
    private static let counts = Mutex<[FileIdentity: Int]>([:])
    private let identity: FileIdentity

    init(of identity: FileIdentity) {
        self.identity = identity
        Self.counts.withLock { $0[identity, default: 0] += 1 }
    }

    deinit {
        Self.counts.withLock { counts in
            let rest = (counts[identity] ?? 1) - 1
            counts[identity] = rest > 0 ? rest : nil
        }
    }

    static func isInUse(_ identity: FileIdentity) -> Bool {
        counts.withLock { $0[identity] != nil }
    }
}

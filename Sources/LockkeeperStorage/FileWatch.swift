import LockkeeperPlatform

/// Notices that the files of an open store no longer stand at their paths.
///
/// SQLite keeps writing into a file that was renamed or removed, and would report success. So the
/// files' identities are taken when the store is opened and compared before each acknowledgement
/// (5.5 of the design, B34's kin). Not `Sendable`: it belongs to the connection it watches.
struct FileWatch {
    private let files: [(path: String, identity: FileIdentity)]

    /// Takes the identities of a store's file, its log and the log's index. The connection must
    /// have read once, so that all three are there.
    ///
    /// - Throws: ``StorageError/fileReplaced(path:)`` when one is missing already.
    init(path: String) throws(StorageError) {
        var files: [(path: String, identity: FileIdentity)] = []
        for path in [path, path + "-wal", path + "-shm"] {
            guard let identity = try Self.identity(path) else { throw .fileReplaced(path: path) }
            files.append((path, identity))
        }
        self.files = files
    }

    /// Compares.
    ///
    /// - Throws: ``StorageError/fileReplaced(path:)`` when another file or none has a path.
    func check() throws(StorageError) {
        for file in files where try Self.identity(file.path) != file.identity {
            throw .fileReplaced(path: file.path)
        }
    }

    private static func identity(_ path: String) throws(StorageError) -> FileIdentity? {
        try system { () throws(SystemCallError) in try FileSystem.status(path)?.identity }
    }
}

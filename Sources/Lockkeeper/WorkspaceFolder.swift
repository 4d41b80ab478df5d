import LockkeeperDomain
import LockkeeperPlatform

/// The folder of a workspace, looked at before anything is made in it.
struct WorkspaceFolder {
    /// The canonical path, so that one folder under two names has one socket and one instance.
    let path: String

    /// Makes the folder where there is none, and checks that it can carry a store.
    ///
    /// - Throws: ``LockkeeperError`` that says what to do.
    static func prepare(_ path: String) throws -> WorkspaceFolder {
        let subject = "workspace \(path)"
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw LockkeeperError(
                .invalidInput,
                subject: subject,
                explanation: "this is no path",
                answer: .fixEnvironment,
                remedy: "Name a folder."
            )
        }
        return try ErrorMapping.mapped(subject) {
            try makeFolders(path)
            let canonical = try FileSystem.canonicalPath(path)
            try check(canonical, subject: subject)
            return WorkspaceFolder(path: canonical)
        }
    }

    private static func makeFolders(_ path: String) throws {
        if try FileSystem.status(path) != nil { return }
        let parent = FileSystem.directory(of: path)
        if parent != path { try makeFolders(parent) }
        try FileSystem.makeDirectory(path, mode: 0o700)
    }

    private static func check(_ path: String, subject: String) throws {
        guard let status = try FileSystem.status(path), status.kind == .directory else {
            throw LockkeeperError(
                .invalidInput,
                subject: subject,
                explanation: "this is a file, not a folder",
                answer: .fixEnvironment,
                remedy: "Name a folder, or a path where none is yet."
            )
        }
        guard status.userID == Environment.userID else {
            throw LockkeeperError(
                .permissionDenied,
                subject: subject,
                explanation:
                    "the folder belongs to uid \(status.userID), this process runs as uid"
                    + " \(Environment.userID)",
                answer: .fixEnvironment,
                remedy: "All processes of a workspace run as its owner; run as that user."
            )
        }
        let kind = try FileSystem.fileSystemKind(at: path)
        guard !kind.isNetwork else {
            throw LockkeeperError(
                .unsupportedFileSystem,
                subject: subject,
                explanation:
                    "the folder lies on \(kind.name), where locks and shared memory do not reach"
                    + " every process",
                answer: .fixEnvironment,
                remedy: "Put it on a local file system."
            )
        }
        let socketByteCount = WorkspacePaths(root: path).socket.utf8.count
        guard socketByteCount <= UnixSocketError.pathByteCountMax else {
            throw LockkeeperError(
                .invalidInput,
                subject: subject,
                explanation:
                    "the path of its socket would have \(socketByteCount) bytes, at most"
                    + " \(UnixSocketError.pathByteCountMax) are possible",
                answer: .fixEnvironment,
                remedy: "Choose a path that is"
                    + " \(socketByteCount - UnixSocketError.pathByteCountMax) bytes shorter."
            )
        }
    }
}

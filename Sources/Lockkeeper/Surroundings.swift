public import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

/// What an account's store stands in.
public struct Surroundings: Sendable, Hashable {
    /// How something is, for people.
    public struct Fact: Sendable, Hashable {
        /// What it is about: "file-system".
        public let name: String
        /// How it is.
        public let value: String
    }

    /// How things are.
    public let facts: [Fact]
    /// What is not as it should be.
    public let findings: [InspectionFinding]
}

extension Workspace {
    /// Looks at what surrounds an account's store: owners, modes and links of its files, file system and
    /// mounts, free space, files that nobody uses, versions, copies of SQLite in the processes. Opens
    /// nothing to write.
    ///
    /// - Throws: ``LockkeeperError`` — `unknownAccount`, `permissionDenied`.
    public func surroundings(of id: AccountID) async throws -> Surroundings {
        try await work { workspace in
            let files = try AccountFiles(id, of: workspace)
            var look = SurroundingsLook(workspace: workspace, files: files)
            look.run()
            return Surroundings(facts: look.facts, findings: look.findings)
        }
    }
}

/// The looks, one after the other.
private struct SurroundingsLook {
    let workspace: Workspace
    let files: AccountFiles
    var facts: [Surroundings.Fact] = []
    var findings: [InspectionFinding] = []

    private var paths: WorkspacePaths.Account { files.attachment.paths }

    init(workspace: Workspace, files: AccountFiles) {
        self.workspace = workspace
        self.files = files
    }

    mutating func run() {
        look { try $0.lookAtFiles() }
        look { try $0.lookAtDisk() }
        look { try $0.lookAtMounts() }
        look { try $0.lookAtLeftovers() }
        look { try $0.lookAtPlainFiles() }
        look { try $0.lookAtEngine() }
        look { try $0.lookAtSyncs() }
    }

    /// Looks; what cannot be looked at is a finding, and the others are looked at all the same.
    private mutating func look(_ body: (inout SurroundingsLook) throws -> Void) {
        do {
            try body(&self)
        } catch {
            let subject = paths.directory
            let mapped = ErrorMapping.map(error, subject: subject) as? LockkeeperError
            findings.append(
                mapped.map { InspectionFinding(notLookedAt: $0) }
                    ?? InspectionFinding(
                        code: "not-looked-at",
                        subject: subject,
                        explanation: "It cannot be looked at: \(error).",
                        remedy: "Look at the folder."
                    )
            )
        }
    }

    private mutating func note(_ name: String, _ value: String) {
        facts.append(Surroundings.Fact(name: name, value: value))
    }

    private mutating func find(
        _ code: String,
        _ subject: String,
        _ explanation: String,
        _ remedy: String
    ) {
        findings.append(InspectionFinding(code, subject, explanation, remedy))
    }

    // MARK: - Files

    /// Every file of the workspace and of the account's folder: a file of another user's, or one that
    /// others may write, is what the next process fails at (B29); two names of one database are two
    /// logs (B27).
    private mutating func lookAtFiles() throws {
        try look(at: workspace.root)
        for name in try FileSystem.list(workspace.root).sorted() {
            try look(at: "\(workspace.root)/\(name)")
        }
        try lookAtTree(paths.directory)
    }

    private mutating func lookAtTree(_ folder: String) throws {
        guard try look(at: folder)?.kind == .directory else { return }
        for name in try FileSystem.list(folder).sorted() {
            try lookAtTree("\(folder)/\(name)")
        }
    }

    /// - Returns: what it is; `nil` where it is gone meanwhile.
    @discardableResult
    private mutating func look(at path: String) throws -> FileStatus? {
        guard let status = try FileSystem.status(path, followingLinks: false) else { return nil }
        if status.userID != Environment.userID {
            find(
                "file-owner",
                path,
                "It belongs to uid \(status.userID); the processes of the workspace run as uid"
                    + " \(Environment.userID), and fail where they need it.",
                "Give it back with 'chown', and find out which program ran as another user."
            )
        }
        if status.kind == .symbolicLink {
            find(
                "file-link",
                path,
                "It is a symbolic link: other names of a database have other logs.",
                "End all processes, and put the file itself here."
            )
        } else if status.mode & 0o077 != 0 {
            find(
                "file-mode",
                path,
                "Other users may use it: its mode is \(String(status.mode, radix: 8)).",
                "Take their rights away with 'chmod go-rwx'."
            )
        }
        let needed: UInt32 = status.kind == .directory ? 0o700 : 0o600
        if status.kind != .symbolicLink, status.mode & needed != needed {
            find(
                "file-mode",
                path,
                "Its owner may not read it or write it: its mode is"
                    + " \(String(status.mode, radix: 8)).",
                "Give the rights back with 'chmod u+rw', and 'u+rwx' for a folder."
            )
        }
        if status.kind == .regular, status.linkCount > 1 {
            find(
                "file-links",
                path,
                "It has \(status.linkCount) names. Whoever opens a database under another one has"
                    + " another log beside it and damages it.",
                "Remove the other names ('find -samefile' finds them), or copy the file instead."
            )
        }
        return status
    }

    private mutating func lookAtLeftovers() throws {
        let record = try workspace.registry.record(of: files.attachment.account)
        // Files that an old registry does not know are none.
        if try !paths.newerFiles(than: record).isEmpty { return }
        let known: Set<String> = [
            "account.locks", "account.json", "health.json", "reserve", "inbox", "damaged",
            "backups", FileSealing.keyFileName, "documents", "media", "secrets",
        ]
        for name in try FileSystem.list(paths.directory).sorted() where !known.contains(name) {
            let isCurrent = StoreKind.allCases.contains { kind in
                let files = StoreFiles(paths.file(of: kind, number: record.fileNumber(of: kind)))
                return files.all.contains("\(paths.directory)/\(name)")
            }
            if isCurrent { continue }
            find(
                "leftover",
                "\(paths.directory)/\(name)",
                "Nobody opens it: a process died as it made it, or another program put it here.",
                "Look at it, then move it away. Files of databases are moved to 'damaged' by the next"
                    + " restore."
            )
        }
        for (name, folder) in [("backups", paths.backups), ("damaged", paths.damaged)] {
            guard try FileSystem.status(folder) != nil else { continue }
            let size = try Workspace.size(ofTree: folder)
            let advice =
                name == "damaged" && size.fileCount > 0
                ? "; they hold message text, and 'lockkeeper repair \(files.attachment.account)"
                    + " --discard-damaged --yes' removes them"
                : ""
            note(name, "\(size.fileCount) files with \(size.byteCount) bytes\(advice)")
        }
    }

    /// Files of an encrypted account that are not: what was there before it was encrypted.
    private mutating func lookAtPlainFiles() throws {
        guard workspace.environment.keys.isRequired else { return }
        for folder in [paths.backups, paths.damaged]
        where try FileSystem.status(folder) != nil {
            for name in try FileSystem.list(folder).sorted() where name.hasSuffix(".db") {
                let path = "\(folder)/\(name)"
                let head = try FileSystem.contents(of: path, limit: 16)
                guard head.elementsEqual("SQLite format 3\0".utf8) else { continue }
                find(
                    "plain-file",
                    path,
                    "It was made before the account was encrypted, and is not encrypted.",
                    "Remove it with its '-wal' file, unless something in it is needed."
                )
            }
        }
    }

    // MARK: - Disk

    private mutating func lookAtDisk() throws {
        let kind = try FileSystem.fileSystemKind(at: paths.directory)
        note("file-system", kind.name)
        if kind.isNetwork {
            find(
                "file-system",
                paths.directory,
                "It lies on \(kind.name), where locks and shared memory do not reach every process.",
                "Put the workspace on a local file system."
            )
        }
        let free = try FileSystem.freeBytes(at: paths.directory)
        note("free-bytes", String(free))
        let log = try workspace.databasePaths(of: files.attachment.account).map {
            try StoreFiles($0).logByteCount()
        }.reduce(0, +)
        if free < Self.freeByteCountMin + log {
            find(
                "disk-low",
                paths.directory,
                "\(free) bytes are free; the log alone has \(log). On a full disk nothing is stored:"
                    + " packets are kept as files while the reserve lasts, and deleting works.",
                "Free space, or delete and purge."
            )
        }
    }

    /// A few thousand messages, and the reserve.
    private static let freeByteCountMin: Int64 = 16 * 1024 * 1024

    /// A mount inside of the workspace: a file alone, whose log then lies elsewhere, or a folder that
    /// other processes see otherwise (B28).
    private mutating func lookAtMounts() throws {
        let inside = try ProcessView.mountPoints().filter { $0.hasPrefix(workspace.root + "/") }
        for point in inside.sorted() {
            find(
                "mount",
                point,
                "Another file system is mounted here, inside of the workspace. A database and its log"
                    + " must lie in one folder that every process sees alike.",
                "Mount the whole workspace, or nothing of it."
            )
        }
        let device = try FileSystem.status(workspace.root)?.identity.device
        if inside.isEmpty, try FileSystem.status(paths.directory)?.identity.device != device {
            find(
                "mount",
                paths.directory,
                "It lies on another file system than the workspace.",
                "Put the whole workspace on one file system."
            )
        }
    }

    // MARK: - Engine

    private mutating func lookAtEngine() throws {
        note(
            "sqlite",
            SQLiteLibrary.version
                + (SQLiteLibrary.hasLogResetDefect
                    ? ", has the WAL-reset fault; the exclusion of checkpoints is on"
                    : ", has the fix of the WAL-reset fault")
        )
        let members = try files.attachment.membership.members().map(\.identity.pid)
        for pid in Set(members).sorted() { lookAtCopies(in: pid) }
        for kind in StoreKind.allCases {
            let path = try files.path(of: kind)
            do {
                try lookAtSchema(of: kind, path)
            } catch {
                // Why it cannot is found by the inspection of the databases.
                note("schema-\(kind.rawValue)", "cannot be read")
            }
        }
    }

    private mutating func lookAtSchema(of kind: StoreKind, _ path: String) throws {
        let connection = try StoreFile.open(
            path,
            for: .reading,
            environment: workspace.environment,
            busyDeadline: workspace.deadlineOfOpening()
        )
        defer { try? connection.close() }
        let select = try connection.prepare(
            "SELECT owner, max(name), count(*) FROM lk_migration GROUP BY owner ORDER BY owner"
        )
        while try select.step() {
            note(
                "schema-\(kind.rawValue)-\(select.string(0))",
                "\(select.string(1)), \(select.int64(2)) in all"
            )
        }
        note(
            "key-\(kind.rawValue)",
            workspace.environment.keys.key(of: connection)?.name.description
                ?? "none: the file is not encrypted"
        )
        if kind == .messages { try noteDistance(to: connection, path) }
    }

    /// Two copies of SQLite in one process do not know of each other's locks: closing a file in one takes
    /// the other's away (B21). Copies that are linked into a program are not seen from here.
    private mutating func lookAtCopies(in pid: Int32) {
        let copies = ProcessView.mappedFiles(pid: pid).filter { path in
            let name = path.split(separator: "/").last ?? ""
            return ["libsqlite3", "libsqlcipher", "sqlite3."].contains { name.hasPrefix($0) }
                && name.contains(".so")
        }
        guard copies.count > 1 else { return }
        find(
            "sqlite-copies",
            "pid \(pid)",
            "It has \(copies.count) copies of SQLite in its memory:"
                + " \(copies.joined(separator: ", ")). If both open this database, it is damaged.",
            "Have all parts of the program use one library, and none open the workspace's files itself."
        )
    }

    // MARK: - Lost writes

    /// What the kernel shows and what the disk has are the same only after a boot: until then pages
    /// come from memory, and an inspection cannot see a write that the disk has lost.
    private mutating func noteDistance(to connection: Connection, _ path: String) throws {
        let boot = try Fence.read(from: connection, path: path).bootID
        note(
            "sees-lost-writes",
            boot == workspace.environment.bootID
                ? "no: it was written since the machine started, so that its pages may come from memory;"
                    + " a failed sync is known by its word"
                : "yes: nothing was written since the machine started, so that its pages come from the"
                    + " disk"
        )
    }

    private mutating func lookAtSyncs() throws {
        let unfinished = try files.attachment.membership.unfinishedSyncs()
        guard !unfinished.isEmpty else { return }
        find(
            "sync-unknown",
            paths.locks,
            "\(unfinished.count) syncs of the log are under way, or their process died in them and"
                + " nobody knows how they ended.",
            "Open the account for writing: the log is written and synced once more before anything is"
                + " acknowledged."
        )
    }
}

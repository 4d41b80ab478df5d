public import Lockkeeper
import LockkeeperCrypto
public import LockkeeperDomain
import LockkeeperPlatform

/// Secrets as files, 0600 in a folder of 0700: what there is without a service of the user's session. In the
/// account's own folder they go with the account when it is removed; in a folder elsewhere they stay.
///
/// Whoever runs as the same user reads them, as everything of the workspace; nothing is encrypted.
/// A folder or file that others may look into is refused, and not repaired: what they saw they have.
public final class FileSecretStore: SecretStore {
    /// A file cannot be locked, and what is in no backup is the backup's to leave out
    /// (`StorageClass`).
    public let honoured: Set<SecretAccessibility> = [.always]

    private let place: Place

    private enum Place: Sendable {
        case workspace(Workspace)
        case folder(String)
    }

    /// The store of a workspace's accounts, in each account's own folder.
    public init(_ workspace: Workspace) { place = .workspace(workspace) }

    /// A store in a folder outside of any workspace, made where it is not there; each account has a
    /// folder in it. Keys of encrypted accounts are kept in one like this, on another disk if possible.
    public init(folder: String) { place = .folder(folder) }

    /// Saves an item that is not there; see ``SecretStore/save(_:for:of:accessibility:)``.
    @discardableResult
    public func save(
        _ secret: Secret,
        for service: SecretService,
        of account: AccountID,
        accessibility: SecretAccessibility = .always
    ) async throws -> SecretRevision {
        try await write(secret, service, account, accessibility) { temporary, path in
            do throws(SystemCallError) {
                // Refused where the name is taken, and the same file under both names until then.
                try FileSystem.link(temporary, to: path)
                try FileSystem.remove(temporary)
            } catch {
                if error.errno == .fileExists {
                    throw SecretError.exists(SecretError.subject(service, account))
                }
                throw error
            }
        }
    }

    /// Replaces an item that is there; see ``SecretStore/replace(_:for:of:accessibility:)``.
    @discardableResult
    public func replace(
        _ secret: Secret,
        for service: SecretService,
        of account: AccountID,
        accessibility: SecretAccessibility = .always
    ) async throws -> SecretRevision {
        try await write(secret, service, account, accessibility) { temporary, path in
            do throws(SystemCallError) {
                // Refused where there is nothing to replace; afterwards the temporary name has the
                // old item.
                try FileSystem.exchange(temporary, with: path)
                try FileSystem.remove(temporary)
            } catch {
                if error.errno == .noSuchFile {
                    throw SecretError.notFound(SecretError.subject(service, account))
                }
                throw error
            }
        }
    }

    /// Reads an item; see ``SecretStore/load(_:of:)``.
    public func load(_ service: SecretService, of account: AccountID) async throws -> StoredSecret {
        try await inFolder(of: account) { folder in
            let subject = SecretError.subject(service, account)
            let path = Self.path(of: service, in: folder)
            guard try Self.isThere(folder), let record = try Self.read(path, subject) else {
                throw SecretError.notFound(subject)
            }
            return record.stored
        }
    }

    /// Removes an item; see ``SecretStore/delete(_:of:)``.
    public func delete(_ service: SecretService, of account: AccountID) async throws {
        try await inFolder(of: account) { folder in
            let isRemoved =
                try Self.isThere(folder)
                && FileSystem.remove(Self.path(of: service, in: folder))
            guard isRemoved else {
                throw SecretError.notFound(SecretError.subject(service, account))
            }
            try FileSystem.syncDirectory(folder)
        }
    }

    /// The services of an account's items, sorted; without those that cannot be read, which would keep
    /// the others from being seen (``checkItems(of:)``).
    public func services(of account: AccountID) async throws -> [SecretService] {
        try await inFolder(of: account) { folder in
            try Self.itemNames(in: folder).compactMap { name in
                (try? Self.read("\(folder)/\(name)", ""))?.service
            }.sorted()
        }
    }

    /// Looks whether every file is an item.
    public func checkItems(of account: AccountID) async throws {
        try await inFolder(of: account) { folder in
            for name in try Self.itemNames(in: folder) {
                let subject = "the secret of account \(account) in the file 'secrets/\(name)'"
                _ = try Self.read("\(folder)/\(name)", subject)
            }
        }
    }

    /// Removes every file of an account's secrets, readable or not, and leaves keys of the account's files
    /// (``SecretStoreKeys``).
    public func deleteAll(of account: AccountID) async throws {
        try await inFolder(of: account) { folder in
            // By the name, which such a key's file has as it is: one that cannot be read may be mended.
            let names = try Self.itemNames(in: folder).filter {
                !SecretStoreKeys.isKey(Array($0.utf8))
            }
            // What cannot be removed, a folder that somebody made there, keeps nothing else.
            let results = names.map { name in
                Result { try FileSystem.remove("\(folder)/\(name)") }
            }
            if !names.isEmpty { try FileSystem.syncDirectory(folder) }
            for result in results { _ = try result.get() }
        }
    }

    /// The files of a folder that should be items.
    private static func itemNames(in folder: String) throws -> [String] {
        guard try isThere(folder) else { return [] }
        return try FileSystem.list(folder).filter { !FileSystem.isTemporary($0) }.sorted()
    }

    // MARK: - Steps

    private func inFolder<Value: Sendable>(
        of account: AccountID,
        _ body: @escaping @Sendable (String) throws -> Value
    ) async throws -> Value {
        switch place {
        case .workspace(let workspace):
            return try await workspace.staying(at: account) { try body("\($0)/secrets") }
        case .folder(let folder):
            return try await blocking("lk-state", subject: "secrets in \(folder)") {
                _ = try Self.isThere(folder)
                return try body("\(folder)/\(FileName.of(account.bytes))")
            }
        }
    }

    private func write(
        _ secret: Secret,
        _ service: SecretService,
        _ account: AccountID,
        _ accessibility: SecretAccessibility,
        _ publish: @escaping @Sendable (_ temporary: String, _ path: String) throws -> Void
    ) async throws -> SecretRevision {
        let record = SecretRecord(
            service: service,
            stored: StoredSecret(
                secret: secret,
                accessibility: accessibility,
                revision: .random()
            )
        )
        guard secret.count <= SecretRecord.byteCountMax else {
            throw LockkeeperError(
                .invalidInput,
                subject: SecretError.subject(service, account),
                explanation: "a secret has at most \(SecretRecord.byteCountMax) bytes",
                answer: .fixProgram,
                remedy: "Store a key here, and what it opens elsewhere."
            )
        }
        return try await inFolder(of: account) { folder in
            for path in [FileSystem.directory(of: folder), folder]
            where try FileSystem.status(path) == nil {
                try FileSystem.makeFolder(path, of: .secret)
            }
            _ = try Self.isThere(folder)
            // A process that died in the middle may have left an old item behind.
            try FileSystem.removeAbandonedTemporaries(in: folder)
            let path = Self.path(of: service, in: folder)
            let temporary = try FileSystem.writeTemporary(beside: path, record.bytes, mode: 0o600)
            do {
                try publish(temporary, path)
            } catch {
                _ = try? FileSystem.remove(temporary)
                throw error
            }
            try FileSystem.syncDirectory(folder)
            return record.stored.revision
        }
    }

    private static func path(of service: SecretService, in folder: String) -> String {
        "\(folder)/\(FileName.of(service.bytes))"
    }

    /// Whether the folder is there, and nobody else's.
    private static func isThere(_ folder: String) throws -> Bool {
        guard let status = try FileSystem.status(folder, followingLinks: false) else {
            return false
        }
        try requirePrivate(status, .directory, folder)
        return true
    }

    private static func read(_ path: String, _ subject: String) throws -> SecretRecord? {
        guard let status = try FileSystem.status(path, followingLinks: false) else { return nil }
        try requirePrivate(status, .regular, path)
        let file: FileDescriptor
        do throws(SystemCallError) {
            file = try FileDescriptor(opening: path, .noFollow)
        } catch {
            // Deleted in between.
            if error.errno == .noSuchFile { return nil }
            throw error
        }
        var bytes = try file.readToEnd()
        defer { bytes.withUnsafeMutableBytes { SecureMemory.erase($0) } }
        guard let record = bytes.withUnsafeBytes({ SecretRecord($0) }) else {
            throw SecretError.damaged(subject)
        }
        return record
    }

    private static func requirePrivate(
        _ status: FileStatus,
        _ kind: FileStatus.Kind,
        _ path: String
    ) throws {
        guard status.kind == kind else {
            throw SecretError.denied(path, "it is no \(kind == .directory ? "folder" : "file")")
        }
        guard status.mode & 0o077 == 0 else {
            throw SecretError.denied(
                path,
                "its mode \(String(status.mode, radix: 8)) lets others in"
            )
        }
        guard status.userID == Environment.userID else {
            throw SecretError.denied(path, "it belongs to the user \(status.userID)")
        }
    }
}

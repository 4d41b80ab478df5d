public import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperStorage
import Synchronization

/// The documents of an account: whole `Codable` values as files of their own.
///
/// A document is replaced in one act, durably: a reader in any process finds the old one or the new
/// one, after a power loss too, and never half of one. Of two writers the later one stands; what
/// rests on what was read, and two things that must change together, belong into one
/// ``SettingsStore/update(durability:waitMax:_:)`` or into tables of the app's, which are written in
/// one transaction. The replacing act takes the account's turn and is fenced: a superseded session
/// writes nothing.
///
/// Missing, damaged, and written by a newer program are three errors, and none of them changes a file.
public final class DocumentStore: Sendable {
    private let session: Session
    private let database: AccountDatabase

    private var account: AccountID { session.token.account }

    /// Opens the documents of an account.
    ///
    /// - Throws: ``LockkeeperError``: as for ``SettingsStore``.
    public init(_ session: Session) async throws {
        database = try await session.stateDatabase()
        self.session = session
    }

    /// Writes a document, in the place of the one of this name; durable when this returns.
    ///
    /// - Throws: ``LockkeeperError``: `invalidInput` for one that is too large; `busy`, `superseded`,
    ///   `diskFull`, `ioFailed`: the old one is still there. `EncodingError` where it cannot be encoded.
    public func save<Content: Document>(
        _ document: Content,
        as name: DocumentName
    ) async throws {
        precondition(Content.version > 0, "versions of documents count from 1")
        let subject = Self.subject(name, account)
        let content = try PropertyValueCodec.encode(try PropertyValueEncoder().encode(document))
        guard content.count <= DocumentFile.byteCountMax else {
            throw LockkeeperError(
                .invalidInput,
                subject: subject,
                explanation: "it has \(content.count) bytes, a document at most"
                    + " \(DocumentFile.byteCountMax)",
                answer: .fixProgram,
                remedy: "Store large content as media, and many things as records."
            )
        }
        let bytes = DocumentFile(
            name: name,
            kind: Content.kind,
            version: Content.version,
            content: content
        ).bytes
        let path = try await session.staying { [session] account in
            let folder = "\(account)/documents"
            let bytes = try session.sealing(in: account).sealed(bytes)
            try FileSystem.makeFolder(folder, of: .kept)
            // What processes left that died before they came to the renaming.
            try FileSystem.removeAbandonedTemporaries(in: folder)
            let path = Self.path(of: name, in: folder)
            return (try FileSystem.writeTemporary(beside: path, bytes), path)
        }
        do {
            try await publish(path.0, as: path.1)
        } catch {
            try? await session.staying(mayHaveEnded: true) { _ in
                _ = try FileSystem.remove(path.0)
            }
            throw error
        }
    }

    /// Reads a document, brought up to this program's version of its form.
    ///
    /// - Throws: ``LockkeeperError``: `notFound`; `damaged`; `newerSchema` where a newer program wrote
    ///   it; `wrongType` where it is of another kind, or is not what the type says; `superseded`; and
    ///   what the upgrade throws.
    public func load<Content: Document>(
        _ type: Content.Type,
        from name: DocumentName
    ) async throws -> Content {
        let subject = Self.subject(name, account)
        let bytes = try await session.staying { [session] account -> [UInt8]? in
            let path = Self.path(of: name, in: "\(account)/documents")
            let bytes: [UInt8]
            do throws(SystemCallError) {
                bytes = try FileSystem.contents(of: path)
            } catch {
                if error.errno == .noSuchFile || error.errno == .notDirectory { return nil }
                throw error
            }
            guard let content = try session.sealing(in: account).opened(bytes, at: path) else {
                throw Self.damaged(subject)
            }
            return content
        }
        // Whoever was superseded meanwhile is told so, and gets nothing (I-13).
        try await database.readConnection { _ in }
        guard let bytes else { throw Self.notFound(subject) }
        return try Self.decode(type, bytes, name, subject)
    }

    /// Removes a document; durable when this returns.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    public func remove(_ name: DocumentName) async throws -> Bool {
        let folder = try await session.staying { "\($0)/documents" }
        let path = Self.path(of: name, in: folder)
        let isRemoved = try await database.submit(durability: .committed, waitMax: nil) { _, _ in
            try FileSystem.status(folder) != nil && FileSystem.remove(path)
        }.value
        guard isRemoved else { return false }
        try await session.staying { _ in try FileSystem.syncDirectory(folder) }
        return true
    }

    /// The names of the account's documents, sorted. Files that are damaged are left out: who asks for
    /// one by its name is told so.
    public func names() async throws -> [DocumentName] {
        let names = try await session.staying { [session] account -> [DocumentName] in
            try Self.files(account, session.sealing(in: account)).compactMap { $0.file?.name }
                .sorted()
        }
        try await database.readConnection { _ in }
        return names
    }

    /// The files of the account's documents that are none any more, or that are of a later layout than
    /// this program knows, by their names; sorted. They are left as they are.
    public func unreadableFiles() async throws -> [String] {
        try await session.staying { [session] account -> [String] in
            try Self.files(account, session.sealing(in: account)).filter { name, file in
                file.map { FileName.of($0.name.bytes) != name } ?? true
            }.map(\.name).sorted()
        }
    }

    /// The files of documents, each with what it holds; `nil` where that cannot be read.
    private static func files(
        _ account: String,
        _ sealing: FileSealing
    ) throws -> [(name: String, file: DocumentFile?)] {
        let folder = "\(account)/documents"
        guard try FileSystem.status(folder) != nil else { return [] }
        return try FileSystem.list(folder).filter { !FileSystem.isTemporary($0) }.map { name in
            let path = "\(folder)/\(name)"
            let bytes = try? sealing.opened(FileSystem.contents(of: path), at: path)
            return (name, try? bytes.map { try DocumentFile($0) })
        }
    }

    // MARK: - Steps

    /// Renames within a fenced transaction, in the account's turn: no switch comes in between. The
    /// folder's sync needs no turn.
    private func publish(_ temporary: String, as path: String) async throws {
        let isRenamed = Atomic<Bool>(false)
        _ = try await database.submit(durability: .committed, waitMax: nil) { _, _ in
            // The transaction may begin anew after the renaming.
            if isRenamed.load(ordering: .relaxed) { return }
            try FileSystem.rename(temporary, to: path)
            isRenamed.store(true, ordering: .relaxed)
        }
        try await session.staying { _ in
            try FileSystem.syncDirectory(FileSystem.directory(of: path))
        }
    }

    private static func decode<Content: Document>(
        _ type: Content.Type,
        _ bytes: [UInt8],
        _ name: DocumentName,
        _ subject: String
    ) throws -> Content {
        let file: DocumentFile
        do throws(DocumentFile.Failure) {
            file = try DocumentFile(bytes)
        } catch {
            throw error == .newer ? newer(subject) : damaged(subject)
        }
        guard file.name == name else { throw damaged(subject) }
        guard file.kind.elementsEqual(Content.kind.utf8) else {
            throw incompatible(subject, "it is a '\(String(decoding: file.kind, as: UTF8.self))'")
        }
        guard file.version <= Content.version else { throw newer(subject) }
        guard file.version > 0, var value = try? PropertyValueCodec.decode(file.content) else {
            throw damaged(subject)
        }
        for version in Int(file.version)..<Content.version {
            value = try Content.upgrade(value, from: version)
        }
        do {
            return try PropertyValueDecoder().decode(type, from: value)
        } catch let error as DecodingError {
            throw incompatible(subject, "it is not what '\(Content.kind)' says", cause: error)
        }
    }

    private static func path(of name: DocumentName, in folder: String) -> String {
        "\(folder)/\(FileName.of(name.bytes))"
    }

    private static func subject(_ name: DocumentName, _ account: AccountID) -> String {
        "document '\(name)' of account \(account)"
    }

    private static func notFound(_ subject: String) -> LockkeeperError {
        LockkeeperError(
            .notFound,
            subject: subject,
            explanation: "there is no such document",
            answer: .fixEnvironment,
            remedy: "Begin with an empty one."
        )
    }

    private static func damaged(_ subject: String) -> LockkeeperError {
        LockkeeperError(
            .damaged,
            subject: subject,
            explanation: "the file is no document any more",
            answer: .recover,
            remedy: "It was left as it is. Restore it from a backup, or save another one over it."
        )
    }

    private static func newer(_ subject: String) -> LockkeeperError {
        LockkeeperError(
            .newerSchema,
            subject: subject,
            explanation: "a newer program wrote it",
            answer: .reopen,
            remedy: "Update this program; it was left as it is. Saving would lose what it holds."
        )
    }

    private static func incompatible(
        _ subject: String,
        _ explanation: String,
        cause: (any Error)? = nil
    ) -> LockkeeperError {
        LockkeeperError(
            .wrongType,
            subject: subject,
            explanation: explanation,
            answer: .fixProgram,
            remedy: "Load it as what it is; it was left as it is.",
            cause: cause
        )
    }
}

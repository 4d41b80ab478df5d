public import Lockkeeper
@_exported public import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite

/// The files of an account that are too large for messages: attachments, avatars, voice.
///
/// What there is of each stands in the account's database (``MediaState``); the content of small ones
/// too, that of larger ones in files which their digests name, so that equal content is there once. Content
/// is written outside of transactions, and is on the disk before the database says that it is present.
/// Names of files are never stored: a workspace that was moved finds its media.
///
/// Every change is a range of ``SettingsStore/changes(after:without:)`` whose topic is the id. A
/// superseded session fails every call.
public final class MediaStore: Sendable {
    /// Content of at most so many bytes stands in the database. Up to there it is stored and read
    /// faster than a file with its two syncs (`lockkeeper bench media`).
    public static let inlineByteCountMax = 32 * 1024
    /// The same in an encrypted account, where all content stands in the database: more is refused.
    public static let encryptedByteCountMax = 256 * 1024 * 1024

    let session: Session
    let database: AccountDatabase
    let inlineByteCountMax: Int

    private var account: AccountID { session.token.account }

    /// Opens the media of an account.
    ///
    /// - Throws: ``LockkeeperError``: as for ``SettingsStore``.
    public convenience init(_ session: Session) async throws {
        try await self.init(
            session,
            inlineByteCountMax: session.isEncrypted
                ? Self.encryptedByteCountMax : Self.inlineByteCountMax
        )
    }

    /// The same with another border between database and files, for benchmarks and tests.
    package init(_ session: Session, inlineByteCountMax: Int) async throws {
        database = try await session.stateDatabase()
        self.session = session
        self.inlineByteCountMax = inlineByteCountMax
    }

    // MARK: - Looking

    /// What is known of a file; `nil` where nobody has wanted or added it.
    public func media(_ id: MediaID) async throws -> Media? {
        try await database.read { try Self.row(id, $0)?.media }
    }

    /// A page of the files in a state, in the order of their ids.
    ///
    /// - Parameters:
    ///   - state: the state.
    ///   - after: the last one of the page before; `nil` for the first page.
    ///   - limit: the most files.
    public func media(
        in state: MediaState,
        after: MediaID? = nil,
        limit: Int = 100
    ) async throws -> [Media] {
        try await database.read { transaction in
            try Self.rows(
                """
                SELECT media_id FROM lk_media WHERE state = ?1 AND media_id > ?2
                ORDER BY media_id LIMIT ?3
                """,
                [SQLValue(state.rawValue), .blob(after?.bytes ?? []), SQLValue(limit)],
                transaction
            ).map(\.media)
        }
    }

    /// What is known of a file, kept live across processes.
    public func observe(_ id: MediaID) -> LiveQuery<Media?> {
        database.observe(topics: [id.bytes]) { try Self.row(id, $0)?.media }.withoutRepeats()
    }

    /// The content of a file that is present, compared with its digest.
    ///
    /// - Throws: ``LockkeeperError``: `notFound` where it is not present; `damaged` where its file is
    ///   missing or is not what it was. The file is wanted again then.
    public func content(of id: MediaID) async throws -> [UInt8] {
        let (row, inline) = try await database.read { transaction in
            let row = try Self.row(id, transaction)
            let digest = row?.digest?.bytes ?? []
            let inline = try transaction.query(
                "SELECT bytes FROM lk_media_content WHERE digest = ?1",
                .blob(digest)
            ) { $0[0].bytes ?? [] }
            return (row, inline.first)
        }
        guard let row, row.state == .present, let digest = row.digest?.bytes else {
            throw notPresent(id)
        }
        let bytes: [UInt8]?
        if let inline {
            bytes = inline
        } else {
            bytes = try await session.staying { try MediaFolder($0).contents(digest) }
        }
        guard let bytes, bytes.count == row.byteCount, MediaFolder.digest(of: bytes) == digest
        else {
            try await lose(id, digest)
            throw damaged(id)
        }
        return bytes
    }

    /// The path of the file with the content of one that is present and has a file of its own, for
    /// programs that read it piece by piece; `nil` where its content stands in the database. Its size is
    /// compared, its digest is not. Whoever has opened it may go on reading when it is evicted.
    ///
    /// - Throws: as ``content(of:)``.
    public func path(of id: MediaID) async throws -> String? {
        let (found, isInline) = try await database.read { transaction in
            let row = try Self.row(id, transaction)
            return (row, try row.map { try Self.isInline($0, transaction) } ?? false)
        }
        guard let row = found, row.state == .present, let digest = row.digest?.bytes else {
            throw notPresent(id)
        }
        if isInline { return nil }
        let path = try await session.staying { folder -> String? in
            let path = MediaFolder(folder).path(digest)
            return try FileSystem.status(path)?.size == Int64(row.byteCount ?? 0) ? path : nil
        }
        if let path { return path }
        try await lose(id, digest)
        throw damaged(id)
    }

    // MARK: - Fetching

    /// Says that a file should be here. One that is under way or here stays as it is.
    ///
    /// - Parameters:
    ///   - id: the file.
    ///   - retention: whether it is kept or may be trimmed.
    ///   - byteCount: the size that the server states, where it does; other content is refused.
    ///   - digest: the SHA-256 that the server states, where it does; other content is refused.
    @discardableResult
    public func want(
        _ id: MediaID,
        retention: MediaRetention = .cache,
        byteCount: Int? = nil,
        digest: [UInt8]? = nil
    ) async throws -> Media {
        try await database.write { transaction in
            var row =
                try Self.row(id, transaction)
                ?? MediaRow(mediaID: DataValue(id.bytes), state: .wanted, retention: retention)
            if row.state != .present, row.state != .downloading {
                row.byteCount = byteCount ?? row.byteCount
                row.digest = digest.map { DataValue($0) } ?? row.digest
            }
            if retention == .kept { row.retention = .kept }
            _ = row.take(.want)
            try Self.save(row, transaction)
            return row.media
        }.value
    }

    /// Begins to fetch a file: from now on this process is at it, until it says how that ended, or dies.
    ///
    /// - Returns: `false` where another process is at it, or it is not wanted.
    public func begin(_ id: MediaID) async throws -> Bool {
        let (own, living) = (session.claimer, try await session.livingClaimers())
        return try await database.write { transaction in
            guard var row = try Self.row(id, transaction) else { return false }
            if let claimer = row.claimer, !living.contains(claimer) { _ = row.take(.abandon) }
            guard row.take(.begin) else { return false }
            row.claimer = own
            row.attempts += 1
            try Self.save(row, transaction)
            return true
        }.value
    }

    /// Ends an attempt of this process without content.
    ///
    /// - Parameters:
    ///   - id: the file.
    ///   - reason: why, for people; nothing secret.
    public func fail(_ id: MediaID, because reason: String) async throws {
        let own = session.claimer
        try await database.write { transaction in
            guard var row = try Self.row(id, transaction), row.claimer == own, row.take(.fail)
            else {
                return
            }
            row.failure = reason
            try Self.save(row, transaction)
        }
    }

    /// Ends an attempt of this process with content: it is present, and durable, when this returns.
    ///
    /// - Throws: ``LockkeeperError``: `damaged` where the content is not what was expected, and the
    ///   attempt has failed then; `notFound` where this process is not at it any more; `diskFull`,
    ///   `ioFailed`, `busy`, `superseded`.
    public func finish(_ id: MediaID, with content: MediaContent) async throws {
        let own = session.claimer
        _ = try await place(content, of: id) { row, placed in
            guard var row = row, row.claimer == own, row.state == .downloading else { return .gone }
            let isExpected =
                (row.byteCount ?? placed.byteCount) == placed.byteCount
                && (row.digest?.bytes ?? placed.digest) == placed.digest
            guard isExpected else {
                row.failure = "the content is not what the server stated"
                _ = row.take(.fail)
                return .refused(row)
            }
            _ = row.take(.finish)
            return .present(row)
        }
    }

    /// Adds a file of this device: it is present, and durable, when this returns. One that is there gets
    /// this content.
    public func add(
        _ id: MediaID,
        _ content: MediaContent,
        retention: MediaRetention = .kept
    ) async throws {
        let before = try await place(content, of: id) { row, _ in
            var row =
                row
                ?? MediaRow(mediaID: DataValue(id.bytes), state: .present, retention: retention)
            (row.state, row.claimer, row.retention) = (.present, nil, retention)
            return .present(row)
        }
        // What it had before may be nobody's now.
        _ = try await removeContent(before.map { [$0] } ?? [])
    }
}

extension MediaStore {
    /// The row of a file.
    static func row(_ id: MediaID, _ transaction: borrowing ReadTransaction) throws -> MediaRow? {
        try MediaRow.table.record(.blob(id.bytes), in: transaction)
    }

    static func row(_ id: MediaID, _ transaction: borrowing Transaction) throws -> MediaRow? {
        try MediaRow.table.record(.blob(id.bytes), in: transaction)
    }

    /// The rows whose ids a query gives.
    static func rows(
        _ sql: String,
        _ values: [SQLValue],
        _ transaction: borrowing ReadTransaction
    ) throws -> [MediaRow] {
        let ids = try transaction.statement(sql) { try $0.ids(values) }
        return try ids.compactMap { try row($0, transaction) }
    }

    static func save(_ row: MediaRow, _ transaction: borrowing Transaction) throws {
        transaction.touch(topic: row.mediaID.bytes)
        try MediaRow.table.save(row, onConflict: .replace, in: transaction)
    }

    func notPresent(_ id: MediaID) -> LockkeeperError {
        LockkeeperError(
            .notFound,
            subject: subject(id),
            explanation: "it is not here",
            answer: .askAgain,
            remedy: "Want it, and fetch it."
        )
    }

    func damaged(_ id: MediaID) -> LockkeeperError {
        LockkeeperError(
            .damaged,
            subject: subject(id),
            explanation: "its content is not what it should be",
            answer: .askAgain,
            remedy: "Fetch it again."
        )
    }

    func subject(_ id: MediaID) -> String { "media '\(id)' of account \(session.token.account)" }

    /// Says that the content of a file is gone, unless another one is there meanwhile.
    private func lose(_ id: MediaID, _ digest: [UInt8]) async throws {
        try await database.write { transaction in
            guard var row = try Self.row(id, transaction), row.digest?.bytes == digest,
                row.take(.lose)
            else { return }
            try Self.save(row, transaction)
        }
    }
}

extension Statement {
    /// Runs a query whose first column is an id.
    func ids(_ values: [SQLValue]) throws -> [MediaID] {
        defer { reset() }
        try bind(values)
        var ids: [MediaID] = []
        while try step() { ids.append(MediaID(unchecked: bytes(0))) }
        return ids
    }
}

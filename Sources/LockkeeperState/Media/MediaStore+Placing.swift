import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform

// How content gets in and out. The order is what makes it safe:
//
//     write, sync, name, sync the folder   ──▶ then the row says that it is present, durably
//     the row says that it is evicted, durably ──▶ then, in a transaction that finds no row, unlink
//
// A process that dies in between leaves a file that no row names; the next sweep removes it. Files are
// unlinked within a transaction, under WRITER: a row that begins to name one finds it there or gone, and
// never sees it go.
extension MediaStore {
    /// What placing content does to a row.
    enum Placement {
        /// The row is there, and says so.
        case present(MediaRow)
        /// The content is refused, and the row says why.
        case refused(MediaRow)
        /// The row is another's.
        case gone
    }

    /// Writes content, and then what a closure makes of the row.
    ///
    /// - Returns: the digest of the content that it had before, where that was another.
    func place(
        _ content: MediaContent,
        of id: MediaID,
        _ decide: @escaping @Sendable (MediaRow?, MediaFolder.Placed) -> Placement
    ) async throws -> [UInt8]? {
        let inlineByteCountMax = inlineByteCountMax
        let (folder, placed) = try await session.staying { account in
            let folder = MediaFolder(account)
            let placed = try folder.take(content, inlineByteCountMax: inlineByteCountMax)
            try folder.publish(placed)
            return (folder, placed)
        }
        do {
            let before = try await commit(placed, folder, decide, of: id)
            await forget(placed)
            return before
        } catch {
            await forget(placed)
            throw error
        }
    }

    private func commit(
        _ placed: MediaFolder.Placed,
        _ folder: MediaFolder,
        _ decide: @escaping @Sendable (MediaRow?, MediaFolder.Placed) -> Placement,
        of id: MediaID
    ) async throws -> [UInt8]? {
        let (placement, before) = try await database.write { transaction in
            let earlier = try Self.row(id, transaction)
            let decided = decide(earlier, placed)
            switch decided {
            case .gone: break
            case .refused(let row): try Self.save(row, transaction)
            case .present(var row):
                (row.byteCount, row.digest) = (placed.byteCount, DataValue(placed.digest))
                row.failure = nil
                row.used = try Self.nextUse(transaction)
                if let inline = placed.inline {
                    try transaction.execute(
                        """
                        INSERT INTO lk_media_content (digest, bytes) VALUES (?1, ?2)
                        ON CONFLICT (digest) DO NOTHING
                        """,
                        .blob(placed.digest),
                        .blob(inline)
                    )
                } else if try !folder.holds(placed.digest, byteCount: placed.byteCount) {
                    // A sweep came before this row.
                    try folder.publish(placed)
                }
                try Self.save(row, transaction)
            }
            return (decided, earlier?.state == .present ? earlier?.digest?.bytes : nil)
        }.value
        switch placement {
        case .present: return before == placed.digest ? nil : before
        case .refused: throw damaged(id)
        case .gone: throw notPresent(id)
        }
    }

    /// Removes the temporary name of content. One that stays is removed once this process is dead.
    private func forget(_ placed: MediaFolder.Placed) async {
        guard let temporary = placed.temporary else { return }
        try? await session.staying(mayHaveEnded: true) { _ in
            _ = try FileSystem.remove(temporary)
        }
    }

    private static func nextUse(_ transaction: borrowing Transaction) throws -> Int {
        let newest = try transaction.query(
            """
            SELECT ifnull(max(used), 0) + 1 FROM lk_media
            WHERE state = 'present' AND retention = 'cache'
            """
        ) { $0.integer(0) }
        return Int(newest.first ?? 1)
    }

    // MARK: - Making place

    /// Notes that files were used, in this order, so that others are evicted before them. A call for each
    /// file that is shown would be a commit each: collect them.
    public func noteUse(of ids: [MediaID]) async throws {
        try await database.write { transaction in
            for id in ids {
                guard var row = try Self.row(id, transaction), row.state == .present else {
                    continue
                }
                row.used = try Self.nextUse(transaction)
                try Self.save(row, transaction)
            }
        }
    }

    /// Takes a file's content away, whatever its retention. It can be wanted again.
    ///
    /// - Returns: whether it was present.
    @discardableResult
    public func evict(_ id: MediaID) async throws -> Bool {
        let evicted = try await database.write { transaction -> [UInt8]? in
            guard var row = try Self.row(id, transaction), row.take(.evict) else { return nil }
            try Self.save(row, transaction)
            return row.digest?.bytes
        }.value
        guard let evicted else { return false }
        _ = try await removeContent([evicted])
        return true
    }

    /// Takes content of the cache away, the least used first, until at most so many bytes of it are left.
    /// What is kept does not count and does not go.
    ///
    /// - Returns: what was evicted.
    @discardableResult
    public func trim(toByteCount byteCountMax: Int) async throws -> [MediaID] {
        let evicted = try await database.write { transaction -> [MediaRow] in
            let cached = try transaction.query(
                """
                SELECT media_id, byte_count FROM lk_media
                WHERE state = 'present' AND retention = 'cache' ORDER BY used DESC
                """
            ) { row in (MediaID(unchecked: row[0].bytes ?? []), Int(row.integer(1))) }
            var (total, ids) = (0, [MediaID]())
            for (id, byteCount) in cached {
                total += byteCount
                if total > byteCountMax { ids.append(id) }
            }
            var rows: [MediaRow] = []
            for id in ids {
                guard var row = try Self.row(id, transaction), row.take(.evict) else { continue }
                try Self.save(row, transaction)
                rows.append(row)
            }
            return rows
        }.value
        _ = try await removeContent(evicted.compactMap(\.digest?.bytes))
        return evicted.map(\.media.id)
    }

    // MARK: - Sweeping

    /// Looks for what does not fit together between database and folder, and changes nothing.
    public func audit() async throws -> MediaSweep {
        let living = try await session.livingClaimers()
        let (folder, files) = try await session.staying {
            let folder = MediaFolder($0)
            return (folder, try folder.digests())
        }
        return try await database.read { transaction in
            var sweep = MediaSweep()
            for digest in files where try !Self.isReferenced(digest, transaction) {
                sweep.orphanedFileCount += 1
            }
            let present = try Self.rows(Self.idsInState, [SQLValue("present")], transaction)
            for row in present {
                let isInline = try Self.isInline(row, transaction)
                if try !isInline && !folder.holds(row) { sweep.missing.append(row.media.id) }
            }
            let downloading = try Self.rows(Self.idsInState, [SQLValue("downloading")], transaction)
            sweep.abandoned = downloading.filter { !living.contains($0.claimer ?? "") }
                .map(\.media.id)
            return sweep
        }
    }

    /// Puts right what ``audit()`` finds: files that nothing refers to are removed, what is missing or was
    /// abandoned is wanted again.
    public func sweep() async throws -> MediaSweep {
        var sweep = try await audit()
        let (missing, abandoned) = (sweep.missing, sweep.abandoned)
        let living = try await session.livingClaimers()
        let folder = try await session.staying { MediaFolder($0) }
        try await database.write { transaction in
            for id in missing {
                // It may have come meanwhile.
                guard var row = try Self.row(id, transaction),
                    try !Self.isInline(row, transaction), try !folder.holds(row), row.take(.lose)
                else { continue }
                try Self.save(row, transaction)
            }
            for id in abandoned {
                guard var row = try Self.row(id, transaction),
                    !living.contains(row.claimer ?? ""), row.take(.abandon)
                else { continue }
                try Self.save(row, transaction)
            }
        }
        sweep.orphanedFileCount = try await removeContent(try await orphans())
        sweep.orphanedFileCount += try await session.staying {
            try MediaFolder($0).removeAbandoned()
        }
        return sweep
    }

    /// The digests of content that no row says is present.
    private func orphans() async throws -> [[UInt8]] {
        let files = try await session.staying { try MediaFolder($0).digests() }
        return try await database.read { transaction in
            let inline = try transaction.query(
                """
                SELECT digest FROM lk_media_content c WHERE NOT EXISTS (
                    SELECT 1 FROM lk_media m WHERE m.state = 'present' AND m.digest = c.digest)
                """
            ) { $0[0].bytes ?? [] }
            return try inline + files.filter { try !Self.isReferenced($0, transaction) }
        }
    }

    /// Removes the content of digests that no row says is present, in the database and in files; in pieces,
    /// because others wait for each transaction.
    ///
    /// - Returns: how many files were removed.
    func removeContent(_ digests: [[UInt8]]) async throws -> Int {
        guard !digests.isEmpty else { return 0 }
        let folder = try await session.staying { MediaFolder($0) }
        var count = 0
        for start in stride(from: 0, to: digests.count, by: 64) {
            let piece = Array(digests[start..<min(start + 64, digests.count)])
            count += try await database.write { transaction in
                var count = 0
                for digest in piece {
                    try transaction.execute(
                        """
                        DELETE FROM lk_media_content WHERE digest = ?1 AND NOT EXISTS (
                            SELECT 1 FROM lk_media WHERE state = 'present' AND digest = ?1)
                        """,
                        .blob(digest)
                    )
                    let isNobodys = try !Self.isReferenced(digest, transaction)
                    if try isNobodys && FileSystem.remove(folder.path(digest)) { count += 1 }
                }
                return count
            }.value
        }
        return count
    }

    private static let idsInState =
        "SELECT media_id FROM lk_media WHERE state = ?1 ORDER BY media_id"

    private static let reference = """
        SELECT 1 FROM lk_media WHERE state = 'present' AND digest = ?1 AND NOT EXISTS (
            SELECT 1 FROM lk_media_content c WHERE c.digest = ?1) LIMIT 1
        """

    private static let inline = "SELECT 1 FROM lk_media_content WHERE digest = ?1"

    private static func isInline(
        _ row: MediaRow,
        _ transaction: borrowing ReadTransaction
    ) throws -> Bool {
        try !transaction.query(inline, .blob(row.digest?.bytes ?? [])) { $0.integer(0) }.isEmpty
    }

    private static func isInline(
        _ row: MediaRow,
        _ transaction: borrowing Transaction
    ) throws -> Bool {
        try !transaction.query(inline, .blob(row.digest?.bytes ?? [])) { $0.integer(0) }.isEmpty
    }

    private static func isReferenced(
        _ digest: [UInt8],
        _ transaction: borrowing ReadTransaction
    ) throws -> Bool {
        try !transaction.query(reference, .blob(digest)) { $0.integer(0) }.isEmpty
    }

    private static func isReferenced(
        _ digest: [UInt8],
        _ transaction: borrowing Transaction
    ) throws -> Bool {
        try !transaction.query(reference, .blob(digest)) { $0.integer(0) }.isEmpty
    }
}

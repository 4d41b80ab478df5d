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
        let isEncrypted = session.isEncrypted
        let (folder, placed) = try await session.staying { account in
            let folder = MediaFolder(account)
            let placed = try folder.take(
                content,
                inlineByteCountMax: inlineByteCountMax,
                isEncrypted: isEncrypted
            )
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
                if row.retention == .kept { try folder.keep(placed) }
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
}

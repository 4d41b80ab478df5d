import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform

// What does not fit together between the database and the folder of media: how it is found and put right.
extension MediaStore {
    /// Looks for what does not fit together between database and folder, and changes nothing. What
    /// others are writing meanwhile is no orphan. An account that was signed out of is looked at
    /// through `Workspace.inspectionSession(_:)`.
    ///
    /// - Parameter deep: also compares the content of every file with its digest, which reads
    ///   everything.
    public func audit(deep: Bool = false) async throws -> MediaSweep {
        let living = try await session.livingClaimers()
        let (folder, files, abandonedCount) = try await session.staying {
            let folder = MediaFolder($0)
            return (folder, try folder.settledDigests(), try folder.abandonedCount())
        }
        var (sweep, inFiles) = try await database.read { transaction in
            var sweep = MediaSweep()
            sweep.orphanCount = abandonedCount
            sweep.orphanCount += try Self.inlineOrphans(transaction).count
            for digest in files where try !Self.isReferenced(digest, transaction) {
                sweep.orphanCount += 1
            }
            let present = try Self.rows(Self.idsInState, [SQLValue("present")], transaction)
            let inFiles = try present.filter { try !Self.isInline($0, transaction) }
            sweep.missing = try inFiles.filter { try !folder.holds($0) }.map(\.media.id)
            let downloading = try Self.rows(Self.idsInState, [SQLValue("downloading")], transaction)
            sweep.abandoned = downloading.filter { !living.contains($0.claimer ?? "") }
                .map(\.media.id)
            return (sweep, inFiles)
        }
        if deep {
            // One after the other, so that nobody waits for all of it.
            for row in inFiles where !sweep.missing.contains(row.media.id) {
                let isWhole = try await session.staying { _ in try folder.isWhole(row) }
                if !isWhole { sweep.damaged.append(row.media.id) }
            }
        }
        return sweep
    }

    /// Puts right what ``audit(deep:)`` finds: files that nothing refers to are removed, what is missing,
    /// damaged or was abandoned is wanted again. An app calls it when it starts: what helpers left
    /// that were killed is fetched again then.
    ///
    /// - Returns: what was found.
    @discardableResult
    public func sweep(deep: Bool = false) async throws -> MediaSweep {
        var sweep = try await audit(deep: deep)
        for id in sweep.damaged {
            // Reading it finds it damaged once more, and says so in its row.
            do {
                _ = try await content(of: id)
            } catch let error as LockkeeperError where [.damaged, .notFound].contains(error.code) {}
        }
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
        if session.isEncrypted { try await moveIntoDatabase() }
        // First the names that tell others to leave a file alone.
        sweep.orphanCount = try await session.staying { try MediaFolder($0).removeAbandoned() }
        sweep.orphanCount += try await removeContent(try await orphans())
        return sweep
    }

    /// Moves content into the database that was in files before the account was encrypted. Its file is
    /// nobody's then.
    private func moveIntoDatabase() async throws {
        let present = try await database.read { transaction in
            try Self.rows(Self.idsInState, [SQLValue("present")], transaction).filter {
                try !Self.isInline($0, transaction)
            }
        }
        for row in present {
            let id = row.media.id
            try await add(id, .bytes(try await content(of: id)), retention: row.retention)
        }
    }

    /// The digests of content that no row says is present, and that nobody is writing.
    private func orphans() async throws -> [[UInt8]] {
        let files = try await session.staying { try MediaFolder($0).settledDigests() }
        return try await database.read { transaction in
            try Self.inlineOrphans(transaction)
                + files.filter { try !Self.isReferenced($0, transaction) }
        }
    }

    private static func inlineOrphans(
        _ transaction: borrowing ReadTransaction
    ) throws -> [[UInt8]] {
        try transaction.query(
            """
            SELECT digest FROM lk_media_content c WHERE NOT EXISTS (
                SELECT 1 FROM lk_media m WHERE m.state = 'present' AND m.digest = c.digest)
            """
        ) { $0[0].bytes ?? [] }
    }

    /// Removes the content of digests that no row says is present, in the database and in files; in pieces,
    /// because others wait for each transaction.
    ///
    /// - Returns: how many were removed.
    func removeContent(_ digests: [[UInt8]]) async throws -> Int {
        guard !digests.isEmpty else { return 0 }
        let folder = try await session.staying { MediaFolder($0) }
        var count = 0
        for start in stride(from: 0, to: digests.count, by: 64) {
            let piece = Array(digests[start..<min(start + 64, digests.count)])
            count += try await database.write { transaction in
                var count = 0
                for digest in piece {
                    count += try transaction.query(
                        """
                        DELETE FROM lk_media_content WHERE digest = ?1 AND NOT EXISTS (
                            SELECT 1 FROM lk_media WHERE state = 'present' AND digest = ?1)
                        RETURNING 1
                        """,
                        .blob(digest)
                    ) { $0.integer(0) }.count
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

    static func isInline(
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

import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

/// The key of copies.
enum CopyKey {
    /// That of what is copied; a new one where that is plain and must not be.
    case same
    /// This one; `nil` for plain files.
    case other(StoreKey?)
}

/// What copying distrusted files, restoring a backup and changing the key have in common: the last steps
/// of exclusive work (5.5).
extension Workspace {
    /// Copies databases into new files, each a store of its own, and publishes those in one
    /// transaction of the registry. The caller is alone with the account, and under SWITCH.
    ///
    /// - Parameters:
    ///   - sources: what is copied, by what it becomes.
    ///   - copyKey: what the new files are encrypted with, both with the same.
    ///   - floor: a generation that the new one is above, where a source comes from elsewhere.
    ///   - adapt: changes a copy, at this program's schema, before it is looked at and published.
    /// - Returns: the generation under which they were published.
    /// - Throws: what the kernel and SQLite throw; `StorageError.notAStore` when a copy is not sound.
    ///   What was current stays so then, and the copies are never opened.
    func publishCopies(
        of sources: [StoreKind: Connection],
        _ attachment: AccountAttachment,
        key copyKey: CopyKey = .same,
        above floor: Generation = Generation(0),
        deadline: Deadline,
        adapting adapt: (StoreKind, Connection) throws -> Void = { _, _ in }
    ) throws -> Generation {
        let record = try registry.record(of: attachment.account)
        let key =
            switch copyKey {
            case .other(let key): key
            case .same:
                try keyOfNewFiles(of: attachment.account, beside: Array(sources.values))
            }
        let generation = try registry.use { try $0.reserveGeneration(above: floor) }
        var generator = SystemRandomNumberGenerator()
        var numbers: [StoreKind: Int64] = [:]
        // Settings first, as everywhere.
        for kind in [StoreKind.settings, .messages] {
            guard let source = sources[kind] else { continue }
            let number = try attachment.nextFileNumber(of: kind, after: record.fileNumber(of: kind))
            let path = attachment.paths.file(of: kind, number: number)
            try StoreFile.create(
                path,
                copying: source,
                key: key,
                as: .random(using: &generator),
                at: generation,
                record.state,
                environment: environment,
                busyDeadline: deadline
            )
            try migrateUnpublished(path, kind, deadline: deadline, adapting: adapt)
            try requireSound(path, kind, deadline: deadline)
            Failpoint.copyMade.reach()
            numbers[kind] = number
        }
        try registry.use { [numbers] in
            try $0.replace(numbers, at: generation, of: attachment.account)
        }
        Failpoint.copyPublished.reach()
        return generation
    }

    /// Brings a file that nobody else knows of to this program's schema.
    private func migrateUnpublished(
        _ path: String,
        _ kind: StoreKind,
        deadline: Deadline,
        adapting adapt: (StoreKind, Connection) throws -> Void
    ) throws {
        let connection = try StoreFile.open(
            path,
            for: .maintaining,
            acceptsPlain: true,
            environment: environment,
            busyDeadline: deadline
        )
        defer { try? connection.close() }
        _ = try migrator(for: kind).apply(to: connection, at: wallClock.milliseconds())
        // Nobody follows this store yet: there is nobody to whom a commit would be news.
        try connection.begin(.immediate)
        do {
            try adapt(kind, connection)
            try connection.commit()
        } catch {
            connection.rollBack()
            throw error
        }
        try connection.syncLog()
    }

    private func requireSound(_ path: String, _ kind: StoreKind, deadline: Deadline) throws {
        let connection = try StoreFile.open(
            path,
            for: .reading,
            acceptsPlain: true,
            environment: environment,
            busyDeadline: deadline
        )
        defer { try? connection.close() }
        let findings = try StoreInspection(migrations: migrations(for: kind))
            .run(on: connection, path: path, level: .quick)
        if let finding = findings.first {
            throw StorageError.notAStore(path: path, reason: finding.explanation)
        }
    }
}

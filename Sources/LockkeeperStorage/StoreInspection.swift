import LockkeeperDomain
import LockkeeperPlatform
package import LockkeeperSQLite

/// Looks whether a store is what it should be, and changes nothing.
package struct StoreInspection: Sendable {
    /// How closely is looked.
    package enum Level: Int, Sendable, Hashable, Comparable {
        /// What opening looks at: fence, schema, ends of the commit log.
        case open
        /// Also the file's structure, and the whole commit log.
        case quick
        /// Also indexes against tables, foreign keys, and stored counters against recounts (I-16).
        case deep

        /// Orders levels by closeness.
        package static func < (left: Level, right: Level) -> Bool {
            left.rawValue < right.rawValue
        }
    }

    /// Something that is not as it should be.
    package struct Finding: Sendable, Hashable, CustomStringConvertible {
        /// A stable name for programs: "commit-log.order".
        package let code: String
        /// What is concerned: a table, a row, a file.
        package let subject: String
        /// What is wrong, as a sentence.
        package let explanation: String
        /// What to do about it, as a sentence.
        package let remedy: String

        /// A finding of its parts.
        package init(code: String, subject: String, explanation: String, remedy: String) {
            self.code = code
            self.subject = subject
            self.explanation = explanation
            self.remedy = remedy
        }

        /// Whether it says that a migration is yet to be applied, which opening the store does.
        package var isPendingMigration: Bool { code == StoreInspection.pendingMigration }

        /// The finding in one line.
        package var description: String { "\(subject): \(explanation) (\(code)); \(remedy)" }
    }

    /// What a floor above looks at, from a level on, within the same snapshot.
    package struct Probe: Sendable {
        let level: Level
        let look: @Sendable (Connection) throws -> [Finding]

        /// A probe that looks from a level on.
        package init(
            from level: Level,
            _ look: @escaping @Sendable (Connection) throws -> [Finding]
        ) {
            self.level = level
            self.look = look
        }
    }

    private static let pendingMigration = "schema.pending"

    private static let keepFiles =
        "copy the account's folder away as it is; this version finds damage and repairs none"

    private let migrator: Migrator
    private let probes: [Probe]

    /// An inspection of a store with some migrations above this room's own.
    package init(migrations: [Migration], probes: [Probe] = []) {
        self.migrator = Migrator(Migration.store + migrations)
        self.probes = probes
    }

    /// Looks at a store in one snapshot.
    ///
    /// - Returns: what was found, this room's findings first; none for a store that is sound. What
    ///   cannot be read is a finding.
    /// - Throws: ``StorageError`` when the connection itself cannot be used, busy among others.
    package func run(
        on connection: Connection,
        path: String,
        level: Level
    ) throws(StorageError) -> [Finding] {
        try sqlite { () throws(SQLiteError) in try connection.begin(.deferred) }
        defer { connection.rollBack() }
        var findings: [Finding] = []
        look(into: &findings, at: path) {
            let fence = try Fence.read(from: connection, path: path)
            return try Self.inspect(fence, connection, wholeLog: level >= .quick)
        }
        look(into: &findings, at: "lk_migration") {
            try migrator.pending(in: connection).map(Self.missing)
        }
        if level >= .quick {
            look(into: &findings, at: path) {
                try connection.integrityCheck(quick: level < .deep).map { Self.damage(path, $0) }
            }
        }
        if level >= .deep {
            look(into: &findings, at: path) {
                try connection.foreignKeyCheck().map(Self.dangling)
            }
        }
        for probe in probes where level >= probe.level {
            look(into: &findings, at: path) { try probe.look(connection) }
        }
        return findings
    }

    /// Runs one look. What it throws says as much as what it finds.
    private func look(
        into findings: inout [Finding],
        at subject: String,
        _ look: () throws -> [Finding]
    ) {
        do {
            findings += try look()
        } catch {
            findings.append(Self.finding(for: error, subject))
        }
    }

    // MARK: - Looks

    private static func inspect(
        _ fence: Fence,
        _ connection: Connection,
        wholeLog: Bool
    ) throws(SQLiteError) -> [Finding] {
        var findings: [Finding] = []
        if fence.generation.rawValue < 0 || fence.floor.rawValue < 0 {
            findings.append(
                Finding(
                    code: "fence.range",
                    subject: "lk_fence",
                    explanation: "generation or floor is negative",
                    remedy: Self.keepFiles
                )
            )
        }
        // Rows at or below the floor were to be gone; a log that begins above leaves positions
        // between the two that are answered with a resync, which is safe.
        let oldest = try connection.value("SELECT min(number) FROM lk_commit")?.integer
        if let oldest, oldest <= fence.floor.rawValue {
            findings.append(
                Finding(
                    code: "commit-log.floor",
                    subject: "lk_commit",
                    explanation: "row \(oldest) lies at or below the floor \(fence.floor)",
                    remedy: Self.keepFiles
                )
            )
        }
        if wholeLog { findings += try inspectRows(fence, connection) }
        return findings
    }

    private static func inspectRows(
        _ fence: Fence,
        _ connection: Connection
    ) throws(SQLiteError) -> [Finding] {
        let select = try connection.prepare(
            "SELECT number, generation, tables, topics FROM lk_commit ORDER BY number"
        )
        defer { select.reset() }
        var findings: [Finding] = []
        var generation = Generation(0)
        while findings.count < 100, try select.step() {
            let number = CommitNumber(select.int64(0))
            let own = Generation(select.int64(1))
            if own < generation || own > fence.generation {
                findings.append(Self.disorder(number, own, fence))
            }
            generation = own
            if !isReadable(select) {
                findings.append(
                    Self.finding(for: StorageError.malformedCommit(number), "lk_commit")
                )
            }
        }
        return findings
    }

    private static func isReadable(_ row: Statement) -> Bool {
        do throws(JSONError) {
            _ = try row.withBytes(2) { bytes throws(JSONError) in
                try CommitRowCodec.decodeTables(bytes)
            }
            if row.isNull(3) { return true }
            _ = try row.withBytes(3) { bytes throws(JSONError) in
                try CommitRowCodec.decodeTopics(bytes)
            }
            return true
        } catch {
            return false
        }
    }

    // MARK: - Findings

    private static func disorder(
        _ number: CommitNumber,
        _ generation: Generation,
        _ fence: Fence
    ) -> Finding {
        Finding(
            code: "commit-log.generation",
            subject: "lk_commit \(number)",
            explanation: "generation \(generation) does not fit its neighbours or the fence at "
                + "\(fence.generation)",
            remedy: Self.keepFiles
        )
    }

    private static func missing(_ migration: Migration) -> Finding {
        Finding(
            code: pendingMigration,
            subject: "\(migration.owner) \(migration.name)",
            explanation: "a migration was not applied",
            remedy: "open the account with this program, which migrates it"
        )
    }

    private static func damage(_ path: String, _ sentence: String) -> Finding {
        Finding(
            code: "file.damaged",
            subject: path,
            explanation: sentence,
            remedy: Self.keepFiles
        )
    }

    private static func dangling(_ violation: Connection.ForeignKeyViolation) -> Finding {
        Finding(
            code: "foreign-key",
            subject: "\(violation.table) \(violation.row.map(String.init) ?? "")",
            explanation: "refers to a row of \(violation.parent) that is missing",
            remedy: Self.keepFiles
        )
    }

    private static func finding(for error: any Error, _ subject: String) -> Finding {
        let (code, remedy) =
            switch error {
            case StorageError.newerSchema: ("schema.newer", "use a newer program")
            case StorageError.migrationChanged: ("schema.changed", "use the program that made it")
            case StorageError.fenceMissing, StorageError.notAStore: ("fence.missing", keepFiles)
            case StorageError.malformedCommit: ("commit-log.row", Self.keepFiles)
            default: ("file.unreadable", Self.keepFiles)
            }
        return Finding(code: code, subject: subject, explanation: "\(error)", remedy: remedy)
    }
}

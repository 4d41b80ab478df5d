package import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite

/// Makes a new store of what can be read of a damaged one.
///
/// ```
/// structure   the tables of the damaged file, as its own schema says them
/// copied      table by table, what nobody can give back first; what indexes still tell of lost rows
/// migrated    to this program's schema
/// set back    cursors, where something was lost or may have been
/// derived     what follows from other tables
/// closed      under a fence of its own, and on the disk
/// ```
///
/// The new file is nobody's until it is published, so that it is made without a journal that would
/// outlive the process; what is left of one that was not finished is made anew.
package struct StoreSalvage {
    private let kind: StoreKind
    private let plan: SalvagePlan
    private let migrator: Migrator
    private let ownID: [UInt8]?
    private let environment: StoreEnvironment
    private let progress: (Progress) throws -> Void

    /// How far it is.
    package struct Progress: Sendable, Hashable {
        /// Tables that are done.
        package let tablesDone: Int
        /// How many there are.
        package let tableCount: Int
        /// Rows that were copied of the one that is worked on.
        package var rowCount: Int64 = 0
    }

    /// A salvage of its parts.
    ///
    /// - Parameters:
    ///   - plan: what the owners of the tables say, without this room.
    ///   - migrations: the steps above this room's own.
    ///   - ownID: who the account is on its server.
    ///   - progress: called now and then; what it throws ends the work.
    package init(
        _ kind: StoreKind,
        plan: SalvagePlan,
        migrations: [Migration],
        ownID: [UInt8]?,
        environment: StoreEnvironment,
        progress: @escaping (Progress) throws -> Void
    ) {
        self.kind = kind
        self.plan = SalvagePlan([.store, plan])
        migrator = Migrator(Migration.store + migrations)
        self.ownID = ownID
        self.environment = environment
        self.progress = progress
    }

    /// Makes the new store, durably.
    ///
    /// - Parameters:
    ///   - source: the damaged set; `nil` where nothing of it can be read.
    ///   - log: what is known of its log.
    ///   - key: what the new file is encrypted with; `nil` for a plain one.
    ///   - path: the new file, which is not there yet.
    ///   - fence: makes the new file's fence, from the commit number that its log begins after.
    /// - Returns: what was kept and what was lost.
    /// - Throws: ``StorageError``: ``StorageError/newerSchema(owner:name:)`` and
    ///   ``StorageError/wrongAccount(path:expected:found:)`` where the set is none for this program or
    ///   account; what SQLite and the kernel throw.
    package func run(
        _ source: DamagedStore?,
        log: SalvageReport.Log,
        key: StoreKey?,
        into path: String,
        fence: (_ floor: CommitNumber) -> Fence
    ) throws -> SalvageReport {
        var report = SalvageReport(kind)
        report.log = log
        if log == .read, source?.isLogDamaged == true { report.log = .damaged }
        report.structure = source?.structure ?? .none
        try StoreFile.reserve(path)
        let target = try StoreFile.connect(
            path,
            .maintaining,
            environment,
            Deadline(after: .seconds(5), from: environment.clock.now()),
            newKey: key,
            isNew: true
        )
        do {
            try target.enable(.distrustSchema)
            try target.execute(
                """
                PRAGMA page_size = 4096; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;
                PRAGMA foreign_keys = OFF; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY
                """
            )
            let schema = try structure(of: source)
            try schema.makeTables(in: target)
            if let source {
                try copy(schema, source, into: target, &report)
            } else {
                report.tables = schema.tables.map { lostTable($0.name) }
            }
            try schema.makeRest(in: target)
            let floor = CommitNumber(newestCommit(source?.connection) + StoreWriter.bootJump)
            try complete(target, fence(floor), &report)
            try target.close()
        } catch {
            try? target.close()
            throw error
        }
        try Self.settle(path, environment)
        return report
    }

    // MARK: - Structure

    private func structure(of source: DamagedStore?) throws -> SchemaTexts {
        let ours = try SchemaTexts(applying: migrator)
        guard let source else { return ours }
        let theirs = try SchemaTexts(reading: source.connection)
        // Refuses what a newer program made. A file whose list of steps is lost looks as if none had been
        // applied, or not all; its structure says which were.
        if try migrator.fits(source.connection), let theirs, theirs.hasSteps {
            let pending = Set(try migrator.pending(in: source.connection))
            let applied = migrator.migrations.filter { !pending.contains($0) }
            // Of a schema with pages that cannot be read some objects are missing. What was applied says
            // which there were.
            if !applied.isEmpty {
                return theirs.adding(try SchemaTexts(applying: Migrator(applied)))
            }
        }
        return ours.adding(theirs)
    }

    /// The newest commit that can still be seen; 0 where none can.
    private func newestCommit(_ source: Connection?) -> Int64 {
        guard let source else { return 0 }
        let newest = ["SELECT max(number) FROM lk_commit", "SELECT floor FROM lk_fence"].compactMap
        {
            (try? source.value($0))?.integer
        }
        return max(0, newest.max() ?? 0)
    }

    // MARK: - Rows

    private func copy(
        _ schema: SchemaTexts,
        _ source: DamagedStore,
        into target: Connection,
        _ report: inout SalvageReport
    ) throws {
        let order: [SalvagePlan.TableClass] = [.irreplaceable, .refetched, .derived]
        let tables = order.flatMap { tableClass in
            schema.tables.filter { plan.tableClass(of: $0.name) == tableClass }.map(\.name)
        }
        var salvages: [String: TableSalvage] = [:]
        for (index, table) in tables.enumerated() {
            var now = Progress(tablesDone: index, tableCount: tables.count)
            try progress(now)
            if plan.tableClass(of: table) == .derived { continue }
            try target.begin(.immediate)
            salvages[table] = try copy(table, source.connection, target) {
                now.rowCount = $0
                try progress(now)
            }
            try target.commit()
        }
        try copyOrphans(Array(salvages.values), source, into: target)
        report.tables = tables.map { table in
            if let salvage = salvages[table] { return salvage.report }
            return plan.tableClass(of: table) == .derived
                ? SalvageReport.Table(table, .derived) : lostTable(table)
        }
        try copyCounters(source.connection, into: target)
        let partial = try readIndexes(source.connection, into: target, &report)
        try removeOrphans(target, partial, &report)
    }

    /// Copies rows of pages to which no tree leads any more, where one table alone can have missed them.
    private func copyOrphans(
        _ salvages: [TableSalvage],
        _ source: DamagedStore,
        into target: Connection
    ) throws {
        let lacking = salvages.filter(\.hasGaps)
        // Of an encrypted file nothing but SQLite reads a page.
        if lacking.isEmpty || source.connection.keyName != nil { return }
        var roots: [Int64] = []
        let select = try source.connection.prepare(
            "SELECT rootpage FROM sqlite_schema WHERE rootpage > 0"
        )
        while try select.step() { roots.append(select.int64(0)) }
        try target.begin(.immediate)
        for leaf in try RawPages(of: source.path).orphans(roots: roots) {
            let owners = lacking.filter { $0.misses(leaf) }
            if owners.count == 1 { try owners[0].copy(leaf) }
        }
        try target.commit()
        try source.connection.removeImpostors()
    }

    /// Completes what tables lost with what indexes still tell.
    ///
    /// - Returns: the row ids of what is there in part, by table.
    private func readIndexes(
        _ source: Connection,
        into target: Connection,
        _ report: inout SalvageReport
    ) throws -> [String: Set<Int64>] {
        var partial: [String: Set<Int64>] = [:]
        for reading in plan.indexReadings {
            guard let index = report.tables.firstIndex(where: { $0.name == reading.table }),
                report.tables[index].lostCount != 0
            else { continue }
            try target.begin(.immediate)
            let completion = try target.prepare(reading.completion)
            try IndexReader(reading, source).forEach { row in
                guard case .integer(let id) = row[0] else { return }
                if reading.isOfMade, partial[reading.table]?.contains(id) != true { return }
                do throws(SQLiteError) {
                    try completion.bind(row)
                    try completion.run()
                } catch {
                    guard .constraint ~= error.code else { throw error }
                    return
                }
                if target.changes == 1 { partial[reading.table, default: []].insert(id) }
            }
            try target.commit()
            try source.removeImpostors()
            report.tables[index].partialCount = Int64(partial[reading.table]?.count ?? 0)
        }
        return partial
    }

    /// - Returns: `nil` where the damaged file has no such table, or not as it should be.
    private func copy(
        _ table: String,
        _ source: Connection,
        _ target: Connection,
        _ progress: @escaping (Int64) throws -> Void
    ) throws -> TableSalvage? {
        let salvage: TableSalvage
        do throws(SQLiteError) {
            salvage = try TableSalvage(
                table,
                plan.tableClass(of: table),
                from: source,
                into: target,
                progress: progress
            )
        } catch {
            guard error.isOfUnreadablePage || .error ~= error.code else { throw error }
            return nil
        }
        try salvage.run()
        return salvage
    }

    private func lostTable(_ name: String) -> SalvageReport.Table {
        var table = SalvageReport.Table(name, plan.tableClass(of: name))
        table.lostCount = nil
        table.lostCountMax = nil
        return table
    }

    /// Row ids that were given are never given again, whatever became of their rows.
    private func copyCounters(_ source: Connection, into target: Connection) throws {
        let has = "SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'"
        guard try target.value(has) != nil else { return }
        var counters: [(name: SQLValue, value: Int64)] = []
        if let select = try? source.prepare("SELECT name, seq FROM sqlite_sequence") {
            while (try? select.step()) == true {
                counters.append((select.value(0), select.int64(1)))
            }
        }
        // SQLite makes a line for a table when the first row goes in.
        let update = try target.prepare(
            "UPDATE sqlite_sequence SET seq = max(seq, ?2) WHERE name = ?1"
        )
        let insert = try target.prepare(
            """
            INSERT INTO sqlite_sequence (name, seq)
            SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?1)
            """
        )
        for counter in counters {
            for statement in [update, insert] {
                try statement.bind([counter.name, .integer(counter.value)])
                try statement.run()
            }
        }
    }

    /// Takes out rows that belong to rows that are gone, until none is left.
    private func removeOrphans(
        _ target: Connection,
        _ partial: [String: Set<Int64>],
        _ report: inout SalvageReport
    ) throws {
        while true {
            try target.begin(.immediate)
            var removedCount = 0
            for (table, row) in try orphans(in: target) {
                let delete = try target.prepare("DELETE FROM \(quoted(table)) WHERE rowid = ?1")
                try delete.bind(1, row)
                try delete.run()
                guard target.changes == 1 else { continue }
                removedCount += 1
                guard let index = report.tables.firstIndex(where: { $0.name == table })
                else { continue }
                if partial[table]?.contains(row) == true {
                    report.tables[index].partialCount -= 1
                } else {
                    report.tables[index].noteOrphan()
                }
            }
            try target.commit()
            if removedCount == 0 { return }
        }
    }

    /// Rows of which what they belong to is not there, some of them where there are many.
    private func orphans(in target: Connection) throws -> [(table: String, row: Int64)] {
        var orphans = try target.foreignKeyCheck(limit: 10_000).compactMap { violation in
            violation.row.map { (table: violation.table, row: $0) }
        }
        for reference in plan.references {
            let select = try target.prepare(
                """
                SELECT rowid FROM \(quoted(reference.table))
                WHERE \(quoted(reference.column)) NOT IN (
                    SELECT rowid FROM \(quoted(reference.parent)))
                """
            )
            while try select.step() { orphans.append((reference.table, select.int64(0))) }
        }
        return orphans
    }

    // MARK: - The end

    private func complete(
        _ target: Connection,
        _ fence: Fence,
        _ report: inout SalvageReport
    ) throws {
        try migrator.apply(to: target, at: environment.wallClock.milliseconds())
        try target.execute("PRAGMA foreign_keys = OFF")
        try target.begin(.immediate)
        if !report.isWhole {
            report.setBack = try plan.setBack(target)
            for index in report.tables.indices where report.tables[index].tableClass != .derived {
                let count = try target.value(
                    "SELECT count(*) FROM \(quoted(report.tables[index].name))"
                )
                if let count = count?.integer { report.tables[index].note(rowCount: count) }
            }
        }
        try plan.derive(ownID, target)
        try target.commit()
        // From here on SQLite syncs what it writes, and with it all that was written before.
        try target.execute("PRAGMA synchronous = EXTRA")
        try target.begin(.immediate)
        try fence.insert(into: target)
        try target.commit()
    }

    /// Makes the log, and everything durable.
    private static func settle(_ path: String, _ environment: StoreEnvironment) throws {
        let connection = try StoreFile.open(
            path,
            for: .maintaining,
            environment: environment,
            busyDeadline: Deadline(after: .seconds(5), from: environment.clock.now()),
            isNew: true
        )
        _ = try connection.value("SELECT generation FROM lk_fence")
        try connection.syncLog()
        try connection.close()
        // Nobody has the file open, so that no lock is lost with the descriptor.
        try FileDescriptor(opening: path, [.readWrite]).sync()
        try FileSystem.syncDirectory(FileSystem.directory(of: path))
    }

    // MARK: - Indexes alone

    /// Makes indexes anew in a copy of the damaged file, where its tables are whole, and what follows
    /// from them.
    ///
    /// - Parameter key: what the copy is encrypted with, as the source is.
    /// - Returns: what was kept; `nil` where this does not suffice, and then the copy is worthless.
    /// - Throws: as ``run(_:log:key:into:fence:)``.
    package func reindex(
        _ source: DamagedStore,
        key: StoreKey?,
        into path: String,
        as store: StoreIdentity,
        at generation: Generation,
        _ state: AccountState
    ) throws -> SalvageReport? {
        guard source.structure == .own, !source.isLogDamaged,
            try migrator.fits(source.connection),
            let counts = try wholeTables(of: source.connection)
        else { return nil }
        let deadline = Deadline(after: .seconds(5), from: environment.clock.now())
        do {
            try StoreFile.create(
                path,
                copying: source.connection,
                key: key,
                as: store,
                at: generation,
                state,
                environment: environment,
                busyDeadline: deadline
            )
            let connection = try StoreFile.open(
                path,
                for: .maintaining,
                environment: environment,
                busyDeadline: deadline
            )
            defer { try? connection.close() }
            try connection.execute("REINDEX")
            try migrator.apply(to: connection, at: environment.wallClock.milliseconds())
            try connection.begin(.immediate)
            try plan.derive(ownID, connection)
            try connection.commit()
            try connection.syncLog()
        } catch {
            guard Self.isOfTheFile(error) else { throw error }
            return nil
        }
        var report = SalvageReport(kind)
        report.method = .reindexed
        report.tables = counts.map { name, count in
            var table = SalvageReport.Table(name, plan.tableClass(of: name))
            table.keptCount = count
            return table
        }
        return report
    }

    private static func isOfTheFile(_ error: any Error) -> Bool {
        switch error {
        case let error as SQLiteError: error.isOfUnreadablePage || .constraint ~= error.code
        case let error as StorageError: error.isDamage
        default: false
        }
    }

    /// How many rows each table has, where each can be read whole and no index tells of more.
    private func wholeTables(of source: Connection) throws -> [(String, Int64)]? {
        guard let schema = try SchemaTexts(reading: source), schema.hasSteps else { return nil }
        var counts: [(String, Int64)] = []
        for table in schema.tables {
            let tableClass = plan.tableClass(of: table.name)
            // This room's own tables are copied as they are here, and not made anew.
            let isDerived =
                tableClass == .derived && !SalvagePlan.store.classes.keys.contains(table.name)
            if isDerived { continue }
            try progress(Progress(tablesDone: counts.count, tableCount: schema.tables.count))
            guard let count = try TableSalvage.wholeCount(of: table.name, source) else {
                return nil
            }
            counts.append((table.name, count))
        }
        return counts
    }
}

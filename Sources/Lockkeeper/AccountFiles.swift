import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

/// Makes, migrates and fences the database files of an account. Blocks; called on threads of our
/// own, under SWITCH where it writes fences.
struct AccountFiles: Sendable {
    let workspace: Workspace
    let stay: AccountAttachment.Stay

    var attachment: AccountAttachment { stay.attachment }

    /// Comes in, or waits for exclusive work to end.
    init(_ account: AccountID, of workspace: Workspace, until deadline: Deadline? = nil) throws {
        let deadline = deadline ?? workspace.deadlineOfOpening()
        let attachment = try workspace.attach(account, until: deadline)
        self.init(try attachment.stay(until: deadline), of: workspace)
    }

    init(_ stay: AccountAttachment.Stay, of workspace: Workspace) {
        self.workspace = workspace
        self.stay = stay
    }

    /// Brings both files to where a session can open them: made where there are none, migrated where
    /// this program knows newer tables, and inspected as closely as costs no time: fence, schema, the
    /// ends of the commit log.
    ///
    /// Whoever finds something to do takes MAINTENANCE and looks again, so that each step is done
    /// once, in one process (I-14). The log mode is set under it as well: SQLite's switch to it does
    /// not wait for other writers.
    ///
    /// - Returns: the migrations that were applied to files that were there.
    @discardableResult
    func prepare(deadline: Deadline) throws -> [AppliedMigration] {
        var connections: [Connection] = []
        return try prepare(deadline: deadline, keeping: &connections)
    }

    /// The same for somebody who opens the files next.
    ///
    /// - Parameter connections: gets those that have looked at files that were ready. While one is open
    ///   the log's index stays; where nobody has the file open, each opening reads the whole log to make
    ///   it anew, which takes a second for some hundred megabytes.
    @discardableResult
    func prepare(
        deadline: Deadline,
        keeping connections: inout [Connection]
    ) throws -> [AppliedMigration] {
        try keepCharter(deadline: deadline)
        if try isPrepared(deadline: deadline, keeping: &connections) {
            try keepSealingKey(deadline: deadline)
            return []
        }
        let maintenance = try attachment.membership.acquire(
            .maintenance,
            .exclusive,
            until: deadline
        )
        return try maintenance.whileHeld {
            try attachment.membership.setActivity(.migrating)
            var applied: [AppliedMigration] = []
            // Settings first, as everywhere: the messages' file decides.
            for kind in [StoreKind.settings, .messages] {
                let number = try currentNumber(of: kind)
                if number == 0 {
                    try create(kind, deadline: deadline)
                } else {
                    applied += try migrate(kind, number: number, deadline: deadline)
                }
            }
            try attachment.writeCharter(try record())
            try keepSealingKey(deadline: deadline)
            try attachment.membership.setActivity(.idle)
            return applied
        }
    }

    /// Writes both fences under one hold of WRITER, settings first: the messages' fence decides
    /// (section 4). A fence that stands there already, or higher, is left: somebody did it before.
    ///
    /// - Parameter counterpart: the other account, where a switch does it.
    func writeFences(
        _ generation: Generation,
        _ state: AccountState,
        counterpart: FencingToken? = nil,
        deadline: Deadline
    ) throws {
        let trusts = [try trust(in: .settings), try trust(in: .messages)]
        try keepCharter(deadline: deadline)
        let environment = workspace.environment
        try attachment.underWriter(deadline: deadline) { [self] in
            try settle(try unfinishedSyncs(), deadline: deadline)
            for trust in trusts {
                try trust.check()
                let connection = try StoreFile.open(
                    trust.path,
                    for: .maintaining,
                    environment: environment,
                    busyDeadline: deadline
                )
                defer { try? connection.close() }
                let fence = try Fence.read(from: connection, path: trust.path)
                try fence.require(trust.kind, of: attachment.account, at: trust.path)
                let isThere = fence.generation >= generation
                try trust.syncing {
                    if isThere {
                        // Who wrote it may have died before its sync.
                        try connection.syncLog()
                    } else {
                        try Fence.advance(
                            connection,
                            path: trust.path,
                            to: generation,
                            state,
                            counterpart: counterpart
                        )
                    }
                }
            }
        }
    }

    /// Makes sure that the account's folder names the current files, which whoever published them may
    /// not have come to (``AccountCharter``). Called before anything is written to them.
    private func keepCharter(deadline: Deadline) throws {
        if try attachment.hasCharter(try record()) { return }
        try attachment.paths.requireCurrent(try record())
        let maintenance = try attachment.membership.acquire(
            .maintenance,
            .exclusive,
            until: deadline
        )
        try maintenance.whileHeld { try attachment.writeCharter(try record()) }
    }

    /// How far the fences have come that were to get a generation and could not be written.
    func extent(
        of generation: Generation,
        deadline: Deadline
    ) throws -> SwitchStateMachine.Failure {
        SwitchStateMachine.Failure(
            fences: StoreKind.allCases.map { try? fence(of: $0, deadline: deadline) },
            recorded: try record().generation,
            wanted: generation
        )
    }

    /// Whether a fence could not be written because a file is missing or damaged, and no other
    /// process is there. While one is, it may still write into what it has open, so that only a
    /// fence keeps it from committing (I-2). Too many open files or a wrong mode are no damage.
    func isLost(after error: any Error) throws -> Bool {
        guard let error = error as? StorageError else { return false }
        let isMissing = try StoreKind.allCases.contains { kind in
            try FileSystem.status(path(of: kind)) == nil
        }
        guard isMissing || error.isDamage else { return false }
        let own = workspace.process.identity
        return try attachment.membership.members().allSatisfy { $0.identity == own }
    }

    /// Who uses the account's databases.
    var users: DatabaseUsers {
        StoreOpener(workspace: workspace, account: attachment.account).users(attachment)
    }

    /// The path of the current file of a kind.
    func path(of kind: StoreKind) throws -> String {
        let number = try currentNumber(of: kind)
        guard number > 0 else { throw LockkeeperError.accountInactive(attachment.account) }
        let path = path(of: kind, number: number)
        if try FileSystem.status(path) == nil { try attachment.paths.requireCurrent(try record()) }
        return path
    }

    /// What is known of the current file of a kind.
    func trust(in kind: StoreKind) throws -> FileTrust {
        FileTrust(
            path: try path(of: kind),
            number: try currentNumber(of: kind),
            kind: kind,
            attachment: attachment,
            bootID: workspace.environment.bootID
        )
    }

    // MARK: - What others died in

    /// The syncs of which nobody may ever know the result. Those of the living are waited for
    /// shortly: they end.
    func unfinishedSyncs() throws -> [UnfinishedSync] {
        var unfinished = try attachment.membership.unfinishedSyncs()
        let kernel = SystemClock()
        var pause = Duration.microseconds(250)
        while !unfinished.isEmpty, pause < Self.syncPatience {
            kernel.sleep(until: Deadline(after: pause, from: kernel.now()))
            let now = try attachment.membership.unfinishedSyncs()
            unfinished.removeAll { !now.contains($0) }
            pause = pause * 2
        }
        return unfinished
    }

    /// Makes durable what the logs hold, whatever came of syncs that others died in: the logs' bytes
    /// are written again as they are read, and synced. The caller holds WRITER; nobody else, foreign
    /// programs included, writes a log meanwhile.
    ///
    /// A sync of the database file needs no such care: SQLite counts a checkpoint only once its sync
    /// has succeeded, so that the next one copies the same pages again.
    ///
    /// - Throws: ``LockkeeperError`` with the code `ioFailed` when a log is not what its index says:
    ///   pages of it are lost, and the file is not trusted any more.
    func settle(_ unfinished: [UnfinishedSync], deadline: Deadline) throws {
        guard !unfinished.isEmpty else { return }
        for kind in StoreKind.allCases where try currentNumber(of: kind) > 0 {
            let trust = try trust(in: kind)
            try trust.check()
            let connection = try StoreFile.open(
                trust.path,
                for: .maintaining,
                environment: workspace.environment,
                busyDeadline: deadline
            )
            defer { try? connection.close() }
            try connection.begin(.immediate)
            defer { connection.rollBack() }
            if try !trust.syncing({ try connection.rewriteLog() }) {
                trust.distrust(because: StorageError.logDamaged(path: trust.path))
                try trust.check()
            }
        }
        for sync in unfinished { try attachment.membership.forget(sync) }
    }

    /// The longest pause between two looks whether others' syncs have ended.
    private static let syncPatience = Duration.milliseconds(8)

    // MARK: - Steps

    private func isPrepared(
        deadline: Deadline,
        keeping connections: inout [Connection]
    ) throws -> Bool {
        for kind in StoreKind.allCases {
            let number = try currentNumber(of: kind)
            guard number > 0 else { return false }
            let path = path(of: kind, number: number)
            let connection: Connection
            do throws(StorageError) {
                connection = try StoreFile.open(
                    path,
                    for: .reading,
                    environment: workspace.environment,
                    busyDeadline: deadline
                )
            } catch {
                // Opening it for writing, as migrating does, turns the log on again.
                if case .logModeChanged = error { return false }
                throw error
            }
            connections.append(connection)
            try Fence.refuseStranger(connection, kind, of: attachment.account, at: path)
            guard try migrator(for: kind).pending(in: connection).isEmpty else { return false }
            let inspection = StoreInspection(
                migrations: migrations(for: kind),
                bootID: workspace.environment.bootID
            )
            let findings = try inspection.run(on: connection, path: path, level: .open)
            if findings.contains(where: \.isOfLog) { throw StorageError.logDamaged(path: path) }
            if let finding = findings.first {
                throw StorageError.notAStore(path: path, reason: finding.explanation)
            }
        }
        return true
    }

    private func create(_ kind: StoreKind, deadline: Deadline) throws {
        let number = try nextNumber(of: kind)
        var generator = SystemRandomNumberGenerator()
        let record = try record()
        let fence = Fence(
            kind: kind,
            account: attachment.account,
            store: .random(using: &generator),
            generation: record.generation,
            state: .retired,
            bootID: workspace.environment.bootID,
            floor: CommitNumber(0)
        )
        try StoreFile.create(
            path(of: kind, number: number),
            key: try keyOfNewFile(deadline: deadline),
            fence: fence,
            migrations: migrations(for: kind),
            environment: workspace.environment,
            busyDeadline: deadline
        )
        // The file's own folder was synced with it; here those in which the folder itself is new.
        try FileSystem.syncDirectory(workspace.paths.accounts)
        try FileSystem.syncDirectory(workspace.paths.root)
        try workspace.registry.use {
            try $0.publish(kind, file: number, of: attachment.account)
        }
    }

    /// Makes sure that files beside the databases are sealed with the key that these have: whoever
    /// changed it may not have come to that.
    private func keepSealingKey(deadline: Deadline) throws {
        let environment = workspace.environment
        guard environment.keys.isRequired else { return }
        let connection = try StoreFile.open(
            path(of: .settings),
            for: .reading,
            environment: environment,
            busyDeadline: deadline
        )
        defer { try? connection.close() }
        let sealing = FileSealing(account: attachment.paths.directory, keys: environment.keys)
        try sealing.use(environment.keys.key(of: connection))
    }

    /// Both files have one key.
    private func keyOfNewFile(deadline: Deadline) throws -> StoreKey? {
        guard workspace.environment.keys.isRequired else { return nil }
        let there = try StoreKind.allCases.filter { try currentNumber(of: $0) > 0 }
        let connections = try there.map { kind in
            try StoreFile.open(
                path(of: kind),
                for: .reading,
                environment: workspace.environment,
                busyDeadline: deadline
            )
        }
        defer { for connection in connections { try? connection.close() } }
        return try workspace.keyOfNewFiles(of: attachment.account, beside: connections)
    }

    private func migrate(
        _ kind: StoreKind,
        number: Int64,
        deadline: Deadline
    ) throws -> [AppliedMigration] {
        let path = path(of: kind, number: number)
        let migrator = migrator(for: kind)
        let environment = workspace.environment
        let now = workspace.wallClock.milliseconds()
        return try attachment.underWriter(deadline: deadline) { [self] in
            let connection = try StoreFile.open(
                path,
                for: .maintaining,
                environment: environment,
                busyDeadline: deadline
            )
            defer { try? connection.close() }
            if try migrator.pending(in: connection).isEmpty { return [] }
            // Entering has written down that it writes.
            try attachment.membership.setActivity(.migrating)
            try backUpBeforeMigration(of: kind, connection, at: path)
            Failpoint.migrationBackedUp.reach()
            let applied = try migrator.apply(to: connection, at: now) { done, count in
                let progress = ActivityProgress(done: done, of: count)
                // For people's eyes only.
                try? attachment.membership.setActivity(.migrating, progress)
            }
            try connection.syncLog()
            return applied.map {
                AppliedMigration(kind: kind, owner: $0.owner, name: $0.name)
            }
        }
    }

    private func migrations(for kind: StoreKind) -> [Migration] { workspace.migrations(for: kind) }

    private func migrator(for kind: StoreKind) -> Migrator { workspace.migrator(for: kind) }

    private func fence(of kind: StoreKind, deadline: Deadline) throws -> Generation {
        let path = try path(of: kind)
        let connection = try StoreFile.open(
            path,
            for: .reading,
            environment: workspace.environment,
            busyDeadline: deadline
        )
        defer { try? connection.close() }
        return try Fence.read(from: connection, path: path).generation
    }

    private func currentNumber(of kind: StoreKind) throws -> Int64 {
        try record().fileNumber(of: kind)
    }

    private func record() throws -> AccountRecord {
        try workspace.registry.record(of: attachment.account)
    }

    private func nextNumber(of kind: StoreKind) throws -> Int64 {
        try attachment.nextFileNumber(of: kind, after: try currentNumber(of: kind))
    }

    private func path(of kind: StoreKind, number: Int64) -> String {
        attachment.paths.file(of: kind, number: number)
    }
}

extension AccountAttachment {
    /// Whether the account's folder says what the registry says.
    func hasCharter(_ record: AccountRecord) throws -> Bool {
        guard try FileSystem.status(paths.charter) != nil else { return false }
        return try FileSystem.contents(of: paths.charter) == AccountCharter(record).bytes
    }

    /// Writes down in the account's folder what the registry says, durably. The caller holds
    /// MAINTENANCE, so that nobody publishes a file meanwhile.
    func writeCharter(_ record: AccountRecord, isRemoving: Bool = false) throws {
        if try !isRemoving && hasCharter(record) { return }
        try FileSystem.replaceFile(
            at: paths.charter,
            with: AccountCharter(record, isRemoving: isRemoving).bytes
        )
    }

    /// A number that no file of the kind has: a process may have died before it published one, and
    /// a name that was used is never used again.
    func nextFileNumber(of kind: StoreKind, after current: Int64) throws -> Int64 {
        let used = try [paths.directory, paths.damaged].flatMap { folder in
            try FileSystem.status(folder) == nil ? [] : FileSystem.list(folder)
        }
        let numbers = used.compactMap { WorkspacePaths.Account.number(in: $0, of: kind) }
        return max(current, numbers.max() ?? 0) + 1
    }
}

public import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import Synchronization

/// Recovery is exclusive work (5.5, 5.8), always under SWITCH:
///
/// ```
/// looked at   something is damaged; nothing is changed
/// alone       everybody has left
/// confirmed   looked at again, and noted in the registry                      (durable)
/// aside       the damaged files lie in `damaged/recovery-<n>`                 (durable)
/// made        new files of what can be read, inspected                        (durable)
/// published   one registry transaction names them and the generation          (durable)
/// ```
///
/// Whoever dies after `confirmed` leaves a note, and whoever opens the account next goes on. What is no
/// damage (a full disk, permissions, too many open files, a newer schema) never comes to `confirmed`.
extension Workspace {
    /// Longer than the repair of any account takes that somebody waits for.
    private static let repairWaitMax = Duration.seconds(3600)
    private static let repairLookInterval = Duration.milliseconds(200)

    /// Repairs an account whose files are damaged: what can be read of them is saved into new files,
    /// what follows from other tables is made anew, and where something was lost the server's cursors
    /// are set back, so that it is asked again. The damaged files are kept as they are.
    ///
    /// Looks first, and changes nothing where nothing is damaged. Sessions of the account, in every
    /// process, are superseded by a repair. Where several processes repair at once, one does it and the
    /// others wait for its end.
    ///
    /// - Parameters:
    ///   - id: the account.
    ///   - waitMax: how long to wait for other processes to leave the account; five seconds where it
    ///     is not given.
    ///   - beginsAnew: whether an empty database is made in the place of one that is not there. What its
    ///     log still holds is saved.
    ///   - progress: called on a thread of Lockkeeper's.
    /// - Throws: ``LockkeeperError``: `unknownAccount`; `accountInactive` where nothing was ever
    ///   stored; `busy`, which names who did not leave; `fileMissing` where a database is not there,
    ///   which no repair can read; `diskFull`, `permissionDenied`, `newerSchema`, `ioFailed`. Where it
    ///   had begun it is gone on with by the next call, or by whoever opens the account.
    public func repair(
        _ id: AccountID,
        waitMax: Duration? = nil,
        beginsAnew: Bool = false,
        progress: (@Sendable (RepairProgress) -> Void)? = nil
    ) async throws -> RepairReport {
        try await work { workspace in
            let kernel = SystemClock()
            let end = Deadline(after: Self.repairWaitMax, from: kernel.now())
            let (began, hasRenewed) =
                try workspace.takeNewerFiles(of: id, until: workspace.deadlineOfOpening())
            while true {
                do {
                    var report = try workspace.repair(
                        id,
                        since: began,
                        beginsAnew: beginsAnew,
                        waitMax ?? ExclusiveWork.leaveWaitMax
                    ) { progress?($0) }
                    report.hasRenewedRegistry = hasRenewed
                    return report
                } catch {
                    let mapped = ErrorMapping.map(error, subject: "account \(id)")
                    guard (mapped as? LockkeeperError)?.code == .busy,
                        try workspace.isBusyElsewhere(), !end.hasPassed(at: kernel.now())
                    else { throw mapped }
                    kernel.sleep(
                        until: Deadline(after: Self.repairLookInterval, from: kernel.now())
                    )
                }
            }
        }
    }

    /// Whether another process that runs has the workspace to itself, perhaps for the repair of this
    /// account.
    private func isBusyElsewhere() throws -> Bool {
        let holders = try membership.holders(of: .switching, includingSelf: false)
        return !holders.isEmpty && holders.allSatisfy { $0.condition == .running }
    }

    private func repair(
        _ id: AccountID,
        since began: AccountRecord,
        beginsAnew: Bool,
        _ waitMax: Duration,
        _ progress: (RepairProgress) -> Void
    ) throws -> RepairReport {
        // Before anything is opened: opening makes a log where there is none.
        let missing = try missingLogs(of: began)
        let isPending = try isRecovering(id)
        if !isPending, missing.isEmpty, try suspects(id, beginsAnew: beginsAnew).isEmpty {
            return RepairReport(id, .nothingFound)
        }
        let deadline = Deadline(after: waitMax, from: clock.now())
        return try membership.underSwitch(until: deadline) {
            // One that cannot be finished because of this account is finished after it.
            try? finishIntent(deadline: deadline)
            if let report = try resumeRecovery(of: id, deadline, progress) { return report }
            let now = try registry.record(of: id)
            guard
                StoreKind.allCases.allSatisfy({ now.fileNumber(of: $0) == began.fileNumber(of: $0) }
                )
            else { return try RepairReport(of: now, in: paths.account(directory: now.directory)) }
            return try recover(id, missing, beginsAnew: beginsAnew, deadline, progress)
        }
    }

    /// Whether a recovery of an account was begun that is not at its end.
    func isRecovering(_ id: AccountID) throws -> Bool {
        try registry.use { try $0.recovery(of: id) } != nil
    }

    /// Goes on with a recovery that another process began and did not end. For who opens an account.
    ///
    /// - Throws: ``LockkeeperError``, `busy` while another process is at it.
    func continueRecovery(of id: AccountID) throws {
        guard try isRecovering(id) else { return }
        let deadline = deadlineOfOpening()
        try membership.underSwitch(until: deadline) {
            guard let report = try resumeRecovery(of: id, deadline, { _ in }) else { return }
            state.withLock { $0.repairHandler }?(report)
        }
    }

    // MARK: - Under SWITCH

    private func resumeRecovery(
        of id: AccountID,
        _ deadline: Deadline,
        _ progress: (RepairProgress) -> Void
    ) throws -> RepairReport? {
        guard let intent = try registry.use({ try $0.recovery(of: id) }) else { return nil }
        return try withoutEscape(progress) { progress in
            try exclusively(id, deadline, progress) { work, connections in
                try finish(intent, work, connections)
            }
        }
    }

    private func recover(
        _ id: AccountID,
        _ missing: Set<StoreKind>,
        beginsAnew: Bool,
        _ deadline: Deadline,
        _ progress: (RepairProgress) -> Void
    ) throws -> RepairReport {
        try withoutEscape(progress) { progress in
            try exclusively(id, deadline, progress) { work, connections in
                let record = try registry.record(of: id)
                let damaged = try confirmed(
                    record,
                    missing,
                    beginsAnew: beginsAnew,
                    connections
                )
                if damaged.isEmpty { return RepairReport(id, .nothingFound) }
                try requireSpace(for: damaged, record, work.attachment.paths)
                let intent = RecoveryIntent(
                    account: id,
                    folder: try folderName(work.attachment.paths),
                    damaged: damaged,
                    missingLogs: missing.intersection(damaged.keys),
                    beganAt: wallClock.milliseconds()
                )
                try registry.use { try $0.note(intent) }
                Failpoint.recoveryNoted.reach()
                return try finish(intent, work, connections)
            }
        }
    }

    private func withoutEscape<Value>(
        _ progress: (RepairProgress) -> Void,
        _ body: (@escaping (RepairProgress) -> Void) throws -> Value
    ) rethrows -> Value {
        try withoutActuallyEscaping(progress, do: body)
    }

    private func exclusively(
        _ id: AccountID,
        _ deadline: Deadline,
        _ progress: @escaping (RepairProgress) -> Void,
        _ body: (RecoveryWork, [StoreKind: Connection]) throws -> RepairReport
    ) throws -> RepairReport {
        let attachment = try attach(id)
        let work = ExclusiveWork(workspace: self, attachment: attachment, deadline: deadline)
        let recovery = RecoveryWork(
            workspace: self,
            attachment: attachment,
            deadline: deadline,
            progress: progress
        )
        let report = try work.run(proving: StoreKind.allCases, toleratingDamage: true) {
            try body(recovery, $0)
        }
        if let generation = report.generation {
            announce(
                FencingToken(account: id, generation: generation),
                try registry.record(of: id).state
            )
        }
        return report
    }

    private func finish(
        _ intent: RecoveryIntent,
        _ work: RecoveryWork,
        _ connections: [StoreKind: Connection]
    ) throws -> RepairReport {
        if let report = try work.carryOut(intent, connections) { return report }
        let record = try registry.record(of: intent.account)
        return try RepairReport(of: record, in: paths.account(directory: record.directory))
    }

    // MARK: - Looking

    /// The databases that have no log: each of ours keeps its own when it is closed.
    private func missingLogs(of record: AccountRecord) throws -> Set<StoreKind> {
        let paths = paths.account(directory: record.directory)
        return Set(
            try StoreKind.allCases.filter { kind in
                let path = paths.file(of: kind, number: record.fileNumber(of: kind))
                return try record.fileNumber(of: kind) > 0 && StoreFiles(path).hasLostLog()
            }
        )
    }

    /// The databases in which something is damaged, as who is not alone with them sees it.
    private func suspects(_ id: AccountID, beginsAnew: Bool) throws -> [StoreKind] {
        let info = AccountInfo(try registry.record(of: id))
        let files = try AccountFiles(id, of: self)
        return try files.users.naming {
            try StoreKind.allCases.filter { kind in
                let path = try files.path(of: kind)
                do {
                    let connection = try StoreFile.open(
                        path,
                        for: .reading,
                        environment: environment,
                        busyDeadline: deadlineOfOpening()
                    )
                    defer { try? connection.close() }
                    // Who is alone with it tells of a file that belongs elsewhere.
                    try Fence.read(from: connection, path: path).require(kind, of: id, at: path)
                    return try !damage(of: kind, in: connection, path: path, info).isEmpty
                } catch let error as StorageError where error.isDamage {
                    return true
                } catch StorageError.fileMissing where beginsAnew {
                    return true
                }
            }
        }
    }

    /// The numbers of the files that are damaged, for who is alone with them.
    ///
    /// - Throws: where one is no damaged file of this account, but another's, missing, or newer.
    private func confirmed(
        _ record: AccountRecord,
        _ missing: Set<StoreKind>,
        beginsAnew: Bool,
        _ connections: [StoreKind: Connection]
    ) throws -> [StoreKind: Int64] {
        let paths = paths.account(directory: record.directory)
        var damaged: [StoreKind: Int64] = [:]
        for kind in StoreKind.allCases {
            let number = record.fileNumber(of: kind)
            let path = paths.file(of: kind, number: number)
            guard number > 0 else { continue }
            if try !beginsAnew && FileSystem.status(path) == nil {
                throw StorageError.fileMissing(path: path)
            }
            if let connection = connections[kind] {
                let found = try damage(of: kind, in: connection, path: path, AccountInfo(record))
                if found.isEmpty && !missing.contains(kind) { continue }
            } else if try FileSystem.status(path) != nil {
                try requireOwn(path, kind, of: record.id)
                try requireFirstPage(of: path)
            }
            damaged[kind] = number
        }
        return damaged
    }

    /// What is damaged in a database, or does not follow from its tables as it should.
    ///
    /// - Throws: where it cannot be looked at for another reason than damage; a newer schema among
    ///   them.
    func damage(
        of kind: StoreKind,
        in connection: Connection,
        path: String,
        _ account: AccountInfo
    ) throws -> [StoreInspection.Finding] {
        do throws(StorageError) {
            _ = try migrator(for: kind).pending(in: connection)
        } catch {
            if !error.isDamage { throw error }
        }
        let schemas = schemas.filter { $0.kind == kind }
        let inspection = StoreInspection(
            migrations: schemas.flatMap(\.migrations),
            probes: schemas.flatMap { $0.probes(account) },
            bootID: environment.bootID
        )
        let derived = salvagePlan(for: kind).derivedFindings
        let findings = try inspection.run(on: connection, path: path, level: .deep)
        // Where the schema itself is gone, what looks into its tables finds none.
        if !findings.contains(where: \.isDamage),
            let other = findings.first(where: \.isOfEnvironment)
        {
            throw LockkeeperError(
                .ioFailed,
                subject: path,
                explanation: "it cannot be looked at: \(other.explanation)",
                answer: .retry,
                remedy: "Nothing was changed. Look at what is said here, and try again."
            )
        }
        return findings.filter { $0.isDamage || derived.contains($0.code) }
    }

    /// Makes sure that there is room for what is to be made, before anything is moved.
    private func requireSpace(
        for damaged: [StoreKind: Int64],
        _ record: AccountRecord,
        _ paths: WorkspacePaths.Account
    ) throws {
        var needed: Int64 = 8 << 20
        for (kind, number) in damaged {
            let path = paths.file(of: kind, number: number)
            var size = try FileSystem.status(path)?.size ?? 0
            size += try StoreFiles(path).logByteCount()
            needed += try DamagedStore.takesCopy(path) ? 2 * size : size
        }
        let free = try FileSystem.freeBytes(at: paths.directory)
        guard free < needed else { return }
        throw LockkeeperError(
            .diskFull,
            subject: paths.directory,
            explanation: "a repair needs \(needed) bytes, and \(free) are free",
            answer: .fixEnvironment,
            remedy: "Nothing was changed. Free space, then try again."
        )
    }

    private func folderName(_ paths: WorkspacePaths.Account) throws -> String {
        let used =
            try FileSystem.status(paths.damaged) == nil ? [] : FileSystem.list(paths.damaged)
        var number = 1
        while used.contains("recovery-\(number)") { number += 1 }
        return "recovery-\(number)"
    }

    /// What the owners of an account's tables say for the case of damage.
    func salvagePlan(for kind: StoreKind) -> SalvagePlan {
        SalvagePlan(schemas.filter { $0.kind == kind }.map(\.salvage))
    }
}

import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

/// Something about a store that is not as it should be.
public struct InspectionFinding: Sendable, Hashable {
    /// What it is, for programs: stable.
    public let code: String
    /// What it concerns: a file, a table, a conversation.
    public let subject: String
    /// What was found, as a sentence without message text.
    public let explanation: String
    /// What to do, as a sentence.
    public let remedy: String

    /// A finding of its parts.
    package init(code: String, subject: String, explanation: String, remedy: String) {
        self.code = code
        self.subject = subject
        self.explanation = explanation
        self.remedy = remedy
    }

    /// The same, for lists of them.
    package init(
        _ code: String,
        _ subject: String,
        _ explanation: String,
        _ remedy: String
    ) {
        self.init(code: code, subject: subject, explanation: explanation, remedy: remedy)
    }

    /// What stands in an error, as a finding.
    package init(_ code: String, _ error: LockkeeperError) {
        self.init(code, error.subject, "\(error.explanation).", error.remedy)
    }

    /// What could not be looked at, and why, as a finding.
    package init(notLookedAt error: LockkeeperError) {
        self.init(
            "not-looked-at",
            error.subject,
            "It cannot be looked at: \(error.explanation).",
            error.remedy
        )
    }
}

extension ForeignProcess {
    /// Its being there as something that a check found.
    public var finding: InspectionFinding {
        InspectionFinding(
            code: "foreign-process",
            subject: "pid \(pid)",
            explanation: "The program '\(program)' (\(condition)) has the database open without"
                + " Lockkeeper: \(Self.consequence).",
            remedy: "End it, or have it open a copy."
        )
    }
}

/// How closely an inspection looks.
public enum InspectionLevel: String, Sendable, Hashable, CaseIterable {
    /// Header, fence, schema, the ends of the commit log: milliseconds at any size. Every opening does
    /// it.
    case open
    /// Also every row, foreign keys, the whole commit log: reads everything once, in slices, so that
    /// nobody's log is kept from being begun anew for long.
    case quick
    /// Also indexes against their tables, cursors, and every stored counter against its recount (I-16),
    /// each in one snapshot, which the log has to wait for.
    case deep

    init(_ level: StoreInspection.Level) {
        self =
            switch level {
            case .open: .open
            case .quick: .quick
            case .deep: .deep
            }
    }

    var stored: StoreInspection.Level {
        switch self {
        case .open: .open
        case .quick: .quick
        case .deep: .deep
        }
    }
}

/// How an inspection ended.
public struct InspectionReport: Sendable, Hashable {
    /// The account.
    public let account: AccountID
    /// How closely was looked.
    public let level: InspectionLevel
    /// What was found; nothing for a sound store.
    public let findings: [InspectionFinding]
    /// How long it took.
    public let duration: Duration
}

/// How the last inspection of one level and database ended, for `status`.
public struct InspectionSummary: Sendable, Hashable {
    /// The account's database.
    public let kind: StoreKind
    /// How closely was looked.
    public let level: InspectionLevel
    /// When it ended, in milliseconds since 1970.
    public let endedAt: Int64
    /// How long it took.
    public let duration: Duration
    /// How many findings there were.
    public let findingCount: Int
    /// Their codes, each once.
    public let codes: [String]
}

extension Session {
    /// Looks whether the account's files are what they should be. Changes nothing.
    ///
    /// - Parameter deep: besides structure and commit log also indexes against their tables, foreign
    ///   keys, cursors, and every stored counter against its recount (I-16), which reads everything.
    /// - Returns: what was found; nothing for a sound store.
    public func inspect(deep: Bool = true) async throws -> [InspectionFinding] {
        try await workspace.inspect(token.account, deep: deep)
    }
}

extension Workspace {
    /// ``inspection(of:level:progress:)``, with what was found alone.
    ///
    /// - Parameters:
    ///   - id: the account.
    ///   - deep: as ``Session/inspect(deep:)``.
    public func inspect(_ id: AccountID, deep: Bool = true) async throws -> [InspectionFinding] {
        try await inspection(of: id, level: deep ? .deep : .quick).findings
    }

    /// Looks whether an account's files are what they should be. Changes nothing in them. A file that is
    /// missing, or is no store, is a finding like others, and what can be looked at is. How it ended is
    /// written down for ``status()``.
    ///
    /// - Parameters:
    ///   - id: the account.
    ///   - level: how much is looked at.
    ///   - progress: called on a thread of Lockkeeper's with the tables that are done, and how
    ///     many there are, of one database after the other.
    /// - Throws: ``LockkeeperError`` — `unknownAccount`; `accountInactive` where the account was
    ///   never activated, so that there is nothing to look at; `busy` where another process needs the
    ///   account to itself. `CancellationError`.
    public func inspection(
        of id: AccountID,
        level: InspectionLevel,
        progress: (@Sendable (_ done: Int, _ count: Int) -> Void)? = nil
    ) async throws -> InspectionReport {
        try await cancellableWork { workspace, cancellation in
            let account = AccountInfo(try workspace.registry.record(of: id))
            let files = try AccountFiles(id, of: workspace)
            let began = workspace.clock.now()
            let attachment = files.attachment
            let read = attachment.reads.begin(.inspection)
            defer { attachment.reads.end(read) }
            let pace = InspectionPace(
                isCancelled: { cancellation.isCancelled || !attachment.isOpen },
                progress: { progress?($0, $1) }
            )
            let look = Look(account: account, level: level.stored, pace: pace, cancellation)
            do {
                let findings =
                    try files.users.naming {
                        try StoreKind.allCases.flatMap { try files.inspect($0, look) }
                    } + (try files.charterFindings())
                return InspectionReport(
                    account: id,
                    level: level,
                    findings: findings,
                    duration: workspace.clock.now().duration(since: began)
                )
            } catch StorageError.cancelled where !cancellation.isCancelled {
                throw LockkeeperError.leftMeanwhile(id, what: "the inspection")
            }
        }
    }

    /// Programs that have an account's databases open without Lockkeeper. While one is there I-10 is
    /// not guaranteed: it may checkpoint with a SQLite that has the WAL-reset fault. Programs of
    /// other users are seen only while they hold a lock of SQLite's.
    ///
    /// - Throws: ``LockkeeperError`` — `unknownAccount`.
    public func foreignProcesses(of id: AccountID) async throws -> [ForeignProcess] {
        try await work { workspace in try AccountFiles(id, of: workspace).users.foreign() }
    }
}

/// What an inspection was asked for.
private struct Look {
    let account: AccountInfo
    let level: StoreInspection.Level
    let pace: InspectionPace
    let cancellation: Cancellation

    init(
        account: AccountInfo,
        level: StoreInspection.Level,
        pace: InspectionPace,
        _ cancellation: Cancellation
    ) {
        self.account = account
        self.level = level
        self.pace = pace
        self.cancellation = cancellation
    }
}

extension AccountFiles {
    fileprivate func inspect(_ kind: StoreKind, _ look: Look) throws -> [InspectionFinding] {
        let began = workspace.clock.now()
        let findings = try findings(of: kind, look)
        if look.level > .open { note(findings, of: kind, look.level, since: began) }
        return findings
    }

    /// Writes down how an inspection ended. On a full disk it is not written down, and no harm is done.
    private func note(
        _ findings: [InspectionFinding],
        of kind: StoreKind,
        _ level: StoreInspection.Level,
        since began: MonotonicInstant
    ) {
        var health = HealthRecord(at: attachment.paths.health)
        var codes: [String] = []
        for finding in findings where !codes.contains(finding.code) { codes.append(finding.code) }
        health[kind, level] = HealthRecord.Result(
            at: workspace.wallClock.milliseconds(),
            duration: Int64(workspace.clock.now().duration(since: began).milliseconds),
            found: Int64(findings.count),
            codes: codes
        )
        try? health.write(to: attachment.paths.health)
    }

    /// What inspections found: opening's, which is run now, and those of the other levels as they were
    /// written down.
    func inspectionSummaries(of account: AccountInfo) throws -> [InspectionSummary] {
        let health = HealthRecord(at: attachment.paths.health)
        return try StoreKind.allCases.flatMap { kind in
            let began = workspace.clock.now()
            let look = Look(
                account: account,
                level: .open,
                pace: InspectionPace(),
                Cancellation()
            )
            let findings = try findings(of: kind, look)
            let now = InspectionSummary(
                kind: kind,
                level: .open,
                endedAt: workspace.wallClock.milliseconds(),
                duration: workspace.clock.now().duration(since: began),
                findingCount: findings.count,
                codes: findings.map(\.code)
            )
            let earlier = [StoreInspection.Level.quick, .deep].compactMap { level in
                health[kind, level].map { result in
                    InspectionSummary(
                        kind: kind,
                        level: InspectionLevel(level),
                        endedAt: result.at,
                        duration: .milliseconds(result.duration),
                        findingCount: Int(result.found),
                        codes: result.codes
                    )
                }
            }
            return [now] + earlier
        }
    }

    private func findings(of kind: StoreKind, _ look: Look) throws -> [InspectionFinding] {
        let record = try workspace.registry.record(of: attachment.account)
        if let newer = try attachment.paths.newerFiles(than: record)[kind] {
            let path = attachment.paths.file(of: kind, number: newer)
            return [
                InspectionFinding("old-registry", .oldRegistry(attachment.account, beside: path))
            ]
        }
        let path = try path(of: kind)
        let unfinished = try repairFindings(of: kind, path)
        // What a repair has moved aside is not missing.
        if try !unfinished.isEmpty && FileSystem.status(path) == nil { return unfinished }
        let missing = try logFindings(path) + unfinished
        do {
            return try missing + trustFindings(of: kind) + inspect(kind, at: path, look)
        } catch StorageError.logModeChanged(_, let mode) {
            return [
                InspectionFinding(
                    code: "log-mode",
                    subject: path,
                    explanation: "Another program has changed its journal mode to \(mode).",
                    remedy: "Open the account: its log is turned on again, and nothing is lost."
                )
            ]
        } catch StorageError.fileMissing {
            return [
                InspectionFinding(
                    code: "file-missing",
                    subject: path,
                    explanation: "The file is not there.",
                    remedy: LockkeeperError.remedyForMissingFile(attachment.account)
                )
            ]
        } catch let error as StorageError where error.isOfTheKey {
            let mapped = ErrorMapping.map(error, subject: path) as? LockkeeperError
            return missing + [
                InspectionFinding(
                    code: mapped?.code.rawValue ?? "key",
                    subject: path,
                    explanation: "It was not looked at: \(error.description).",
                    remedy: mapped?.remedy ?? ""
                )
            ]
        } catch let error as StorageError where !error.isDamage {
            guard let mapped = ErrorMapping.map(error, subject: path) as? LockkeeperError,
                [.permissionDenied, .ioFailed, .diskFull].contains(mapped.code)
            else { throw error }
            return missing + [InspectionFinding(notLookedAt: mapped)]
        } catch let error as StorageError where error.isMisplaced {
            return [
                InspectionFinding(
                    "misplaced-file",
                    path,
                    "\(error.description).",
                    LockkeeperError.remedyForMisplacedFile("\(attachment.account)")
                )
            ]
        } catch let error as StorageError {
            return [
                InspectionFinding(
                    code: "not-a-store",
                    subject: path,
                    explanation: "\(error.description).",
                    remedy: repairRemedy
                )
            ]
        }
    }

    /// A repair that another process is at, or died in.
    private func repairFindings(
        of kind: StoreKind,
        _ path: String
    ) throws -> [InspectionFinding] {
        let account = attachment.account
        guard let repair = try workspace.registry.use({ try $0.recovery(of: account) }),
            repair.damaged[kind] != nil
        else { return [] }
        return [
            InspectionFinding(
                code: "repair-unfinished",
                subject: path,
                explanation:
                    "A repair of it has begun and is not at its end (\(repair.phase.rawValue));"
                    + " the damaged files are kept in damaged/\(repair.folder).",
                remedy:
                    "If nobody is at it any more, 'lockkeeper repair \(account)' goes on with it,"
                    + " and so does whoever opens the account."
            )
        ]
    }

    /// Each of our files keeps its log when it is closed.
    private func logFindings(_ path: String) throws -> [InspectionFinding] {
        guard try StoreFiles(path).hasLostLog() else { return [] }
        let isBack = try FileSystem.status(StoreFiles(path).log) != nil
        return [
            InspectionFinding(
                code: "log-missing",
                subject: path,
                explanation: isBack
                    ? "Its log was not there when it was opened; the one that is there now was made then."
                    : "Its log is not there.",
                remedy:
                    "Where another program was the last to close it, the log went into the file and"
                    + " nothing is lost: 'lockkeeper repair \(attachment.account) --accept-log' notes"
                    + " that. Otherwise what stood in it is lost. "
                    + (isBack ? "" : "Put the file '-wal' back, or: ") + repairRemedy
            )
        ]
    }

    private func trustFindings(of kind: StoreKind) throws -> [InspectionFinding] {
        do {
            let trust = try trust(in: kind)
            try trust.check()
            return []
        } catch let error as LockkeeperError where error.code == .ioFailed {
            return [
                InspectionFinding(
                    code: "sync-failed",
                    subject: error.subject,
                    explanation: error.explanation + ".",
                    remedy: error.remedy
                )
            ]
        }
    }

    private func inspect(
        _ kind: StoreKind,
        at path: String,
        _ look: Look
    ) throws -> [InspectionFinding] {
        let schemas = workspace.schemas.filter { $0.kind == kind }
        let inspection = StoreInspection(
            migrations: schemas.flatMap(\.migrations),
            probes: schemas.flatMap { $0.probes(look.account) },
            bootID: workspace.environment.bootID
        )
        let connection = try StoreFile.open(
            path,
            for: .reading,
            environment: workspace.environment,
            busyDeadline: workspace.deadlineOfOpening()
        )
        defer { try? connection.close() }
        try Fence.refuseStranger(connection, kind, of: attachment.account, at: path)
        if try registryIsOlder(than: connection, at: path) {
            return [
                InspectionFinding("old-registry", .oldRegistry(attachment.account, beside: path))
            ]
        }
        look.cancellation.runs(on: connection)
        let findings = try inspection.run(
            on: connection,
            path: path,
            level: look.level,
            pace: look.pace
        )
        return findings.map {
            InspectionFinding(
                code: $0.code,
                subject: $0.subject,
                explanation: $0.explanation,
                remedy: $0.isDamage ? repairRemedy : $0.remedy
            )
        }
    }

    /// What to do about damage, as a sentence.
    private var repairRemedy: String {
        "Run 'lockkeeper repair \(attachment.account)', which saves what can be read and deletes"
            + " nothing, or restore a backup."
    }
}

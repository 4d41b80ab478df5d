import LockkeeperDomain
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
    /// Looks whether an account's files are what they should be. Changes nothing. A file that is
    /// missing, or is no store, is a finding like others, and what can be looked at is.
    ///
    /// - Parameter deep: as ``Session/inspect(deep:)``.
    /// - Returns: what was found; nothing for a sound store.
    /// - Throws: ``LockkeeperError`` — `unknownAccount`; `accountInactive` where the account was
    ///   never activated, so that there is nothing to look at.
    public func inspect(_ id: AccountID, deep: Bool = true) async throws -> [InspectionFinding] {
        try await work { workspace in
            let account = AccountInfo(try workspace.registry.record(of: id))
            let files = try AccountFiles(id, of: workspace)
            let deadline = workspace.deadlineOfOpening()
            let read = files.attachment.reads.begin(.inspection)
            defer { files.attachment.reads.end(read) }
            return try files.users.naming {
                try StoreKind.allCases.flatMap { kind in
                    try files.inspect(
                        kind,
                        account: account,
                        level: deep ? .deep : .quick,
                        deadline: deadline
                    )
                }
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

extension AccountFiles {
    fileprivate func inspect(
        _ kind: StoreKind,
        account: AccountInfo,
        level: StoreInspection.Level,
        deadline: Deadline
    ) throws -> [InspectionFinding] {
        let path = try path(of: kind)
        do {
            return try trustFindings(of: kind)
                + inspect(kind, at: path, account: account, level: level, deadline: deadline)
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
                    remedy: "Put it back with its '-wal' file, or restore a backup."
                )
            ]
        } catch let error as StorageError where error.isDamage {
            return [
                InspectionFinding(
                    code: "not-a-store",
                    subject: path,
                    explanation: "\(error.description).",
                    remedy: "Restore a backup, or put the file aside and fetch everything anew."
                )
            ]
        }
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
        account: AccountInfo,
        level: StoreInspection.Level,
        deadline: Deadline
    ) throws -> [InspectionFinding] {
        let schemas = workspace.schemas.filter { $0.kind == kind }
        let inspection = StoreInspection(
            migrations: schemas.flatMap(\.migrations),
            probes: schemas.flatMap { $0.probes(account) }
        )
        let connection = try StoreFile.open(
            path,
            for: .reading,
            environment: workspace.environment,
            busyDeadline: deadline
        )
        defer { try? connection.close() }
        return try inspection.run(on: connection, path: path, level: level).map {
            InspectionFinding(
                code: $0.code,
                subject: $0.subject,
                explanation: $0.explanation,
                remedy: $0.remedy
            )
        }
    }
}

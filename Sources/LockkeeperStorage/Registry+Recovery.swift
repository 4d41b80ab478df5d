package import LockkeeperDomain
import LockkeeperSQLite

/// The intents of ``RecoveryIntent``, one for an account at most. The caller holds SWITCH.
extension Registry {
    static let recoveryMigration = Migration(
        owner: "registry",
        name: "202611301900_recovery",
        sql: """
            CREATE TABLE lk_recovery(
              account TEXT PRIMARY KEY,
              folder TEXT NOT NULL,
              messages_file INTEGER,
              settings_file INTEGER,
              missing_logs TEXT NOT NULL,
              phase TEXT NOT NULL,
              began_at INTEGER NOT NULL,
              CHECK (messages_file IS NOT NULL OR settings_file IS NOT NULL)
            ) WITHOUT ROWID;
            """
    )

    /// The recovery of an account that somebody began and nobody completed.
    ///
    /// - Throws: ``StorageError/malformedRegistry(reason:)``; what SQLite throws.
    package func recovery(of account: AccountID) throws(StorageError) -> RecoveryIntent? {
        let select = try prepare(
            """
            SELECT folder, messages_file, settings_file, missing_logs, phase, began_at FROM lk_recovery
            WHERE account = ?1
            """
        )
        defer { select.reset() }
        try sqlite { () throws(SQLiteError) in try select.bind(1, text: account.bytes) }
        guard try step(select) else { return nil }
        var damaged: [StoreKind: Int64] = [:]
        damaged[.messages] = select.optionalInt64(1)
        damaged[.settings] = select.optionalInt64(2)
        guard let phase = RecoveryPhase(rawValue: select.string(4)), !damaged.isEmpty else {
            throw .malformedRegistry(reason: "the row of a recovery makes no sense")
        }
        return RecoveryIntent(
            account: account,
            folder: select.string(0),
            damaged: damaged,
            missingLogs: Set(
                select.string(3).split(separator: " ").compactMap { StoreKind(rawValue: "\($0)") }
            ),
            phase: phase,
            beganAt: select.int64(5)
        )
    }

    /// Notes a recovery that is about to begin, or how far one is.
    ///
    /// - Throws: ``StorageError/unknownAccount(_:)``; what SQLite throws.
    package func note(_ recovery: RecoveryIntent) throws(StorageError) {
        try transaction { () throws(StorageError) in
            _ = try known(recovery.account)
            try write(recovery)
        }
    }

    /// Publishes the files that a recovery made, under a generation that their fences have.
    ///
    /// - Returns: the intent as it is now.
    /// - Throws: as ``replace(_:at:of:)``.
    package func publish(
        _ recovery: RecoveryIntent,
        _ files: [StoreKind: Int64],
        at generation: Generation
    ) throws(StorageError) -> RecoveryIntent {
        var published = recovery
        published.phase = .published
        let next = published
        try transaction { () throws(StorageError) in
            try replaceFiles(files, at: generation, of: recovery.account)
            try write(next)
        }
        return published
    }

    /// Notes that a recovery is at its end.
    ///
    /// - Throws: what SQLite throws.
    package func complete(_ recovery: RecoveryIntent) throws(StorageError) {
        try transaction { () throws(StorageError) in try forgetRecovery(of: recovery.account) }
    }

    // MARK: - Within a transaction

    /// Takes files out of a recovery that were replaced otherwise.
    func reduceRecovery(
        of account: AccountID,
        by replaced: Set<StoreKind>
    ) throws(StorageError) {
        guard let recovery = try recovery(of: account) else { return }
        let rest = recovery.damaged.filter { !replaced.contains($0.key) }
        if rest.isEmpty { return try forgetRecovery(of: account) }
        try write(
            RecoveryIntent(
                account: account,
                folder: recovery.folder,
                damaged: rest,
                missingLogs: recovery.missingLogs,
                phase: recovery.phase,
                beganAt: recovery.beganAt
            )
        )
    }

    /// Forgets the recovery of an account that is gone.
    func forgetRecovery(of account: AccountID) throws(StorageError) {
        let delete = try prepare("DELETE FROM lk_recovery WHERE account = ?1")
        try sqlite { () throws(SQLiteError) in
            try delete.bind(1, text: account.bytes)
            try delete.run()
        }
    }

    /// Writes the row of a recovery.
    func write(_ recovery: RecoveryIntent) throws(StorageError) {
        let insert = try prepare(
            "INSERT OR REPLACE INTO lk_recovery VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
        )
        let missing = recovery.missingLogs.map(\.rawValue).sorted().joined(separator: " ")
        try sqlite { () throws(SQLiteError) in
            try insert.bind(1, text: recovery.account.bytes)
            try insert.bind(2, recovery.folder)
            try insert.bind(3, recovery.damaged[.messages])
            try insert.bind(4, recovery.damaged[.settings])
            try insert.bind(5, missing)
            try insert.bind(6, recovery.phase.rawValue)
            try insert.bind(7, recovery.beganAt)
            try insert.run()
        }
    }
}

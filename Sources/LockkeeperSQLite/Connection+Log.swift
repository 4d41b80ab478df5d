import CLockkeeperSQLite

/// How far a checkpoint goes.
package enum CheckpointKind: Sendable, Hashable {
    /// Copies what it can without waiting for anybody.
    case passive
    /// Waits for writers and readers, copies all and makes the log an empty file.
    case truncate
}

/// What a checkpoint left behind.
package struct CheckpointResult: Sendable, Hashable {
    /// Frames in the log.
    package let logFrameCount: Int
    /// How many of them are in the database file.
    package let checkpointedFrameCount: Int

    /// Whether the next writer can begin the log anew. SQLite counts -1 where it did nothing, on a
    /// connection that has not read yet.
    package var isComplete: Bool { logFrameCount >= 0 && logFrameCount == checkpointedFrameCount }

    /// Frames that are not in the database file yet.
    package var remainingFrameCount: Int { max(0, logFrameCount - checkpointedFrameCount) }
}

extension Connection {
    /// Copies the log into the database file.
    ///
    /// In most versions of SQLite (``SQLiteLibrary/hasLogResetDefect``) the caller must hold a read
    /// transaction on another connection meanwhile (I-10).
    ///
    /// - Throws: ``SQLiteError``, busy when somebody else checkpoints or, where the kind waits, when
    ///   the busy deadline came.
    package func checkpoint(_ kind: CheckpointKind) throws(SQLiteError) -> CheckpointResult {
        try core.requireUsable(.checkpoint)
        let mode: Int32 =
            switch kind {
            case .passive: SQLITE_CHECKPOINT_PASSIVE
            case .truncate: SQLITE_CHECKPOINT_TRUNCATE
            }
        var logFrames: Int32 = 0
        var checkpointedFrames: Int32 = 0
        let code = sqlite3_wal_checkpoint_v2(
            core.database,
            "main",
            mode,
            &logFrames,
            &checkpointedFrames
        )
        guard code == SQLITE_OK else { throw core.error(code, .checkpoint) }
        return CheckpointResult(
            logFrameCount: Int(logFrames),
            checkpointedFrameCount: Int(checkpointedFrames)
        )
    }

    /// Syncs the log: every frame that was in it when this began is on the disk when it returns,
    /// whoever wrote it. The connection must have read once, or it has no log open.
    ///
    /// - Throws: ``SQLiteError`` when the kernel says that the sync failed. What is on the disk is
    ///   then unknown for good, and no later sync can make up for it.
    package func syncLog() throws(SQLiteError) {
        try core.requireUsable(.syncLog)
        let code = lk_sqlite_sync_log(core.database)
        guard code != SQLITE_OK else { return }
        // The method table does not set the handle's error message.
        throw SQLiteError(
            code: ResultCode(rawValue: code),
            message: String(cString: sqlite3_errstr(code)),
            operation: .syncLog
        )
    }

    /// A switch of the connection that is set before its first statement.
    package enum Option: Sendable, Hashable {
        /// Closing the last connection of a file does not checkpoint. It must be set before
        /// anything is read.
        case noCheckpointOnClose
        /// Foreign keys are enforced.
        case foreignKeys
        /// The schema may not call functions that do something, so that a file from elsewhere
        /// cannot act through its triggers and views.
        case distrustSchema
    }

    /// Turns a switch on.
    ///
    /// - Throws: ``SQLiteError`` when SQLite does not take it.
    package func enable(_ option: Option) throws(SQLiteError) {
        try core.requireUsable(.configure)
        let (name, value) =
            switch option {
            case .noCheckpointOnClose: (SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, Int32(1))
            case .foreignKeys: (SQLITE_DBCONFIG_ENABLE_FKEY, 1)
            case .distrustSchema: (SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            }
        let code = lk_sqlite_configure(core.database, Int32(name), value)
        guard code == SQLITE_OK else { throw core.error(code, .configure) }
    }

    /// Keeps the log and its index as files when the last connection closes.
    ///
    /// - Throws: ``SQLiteError`` when SQLite does not take it.
    package func keepLog() throws(SQLiteError) {
        try core.requireUsable(.configure)
        let code = lk_sqlite_keep_log(core.database)
        guard code == SQLITE_OK else { throw core.error(code, .configure) }
    }
}

import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

/// Opens what a session consists of.
struct SessionBuilder {
    let workspace: Workspace
    let info: AccountInfo
    let token: FencingToken

    func build(isReadOnly: Bool) throws -> Session {
        let files = try AccountFiles(token.account, of: workspace)
        let deadline = workspace.deadlineOfOpening()
        if !isReadOnly { try files.prepare(deadline: deadline) }
        let path = try files.path(of: .messages)
        let attachment = files.attachment
        let (environment, account) = (workspace.environment, token.account)
        let waitMax = workspace.limits.admissionWaitMax
        // Whoever may open a connection keeps PRESENCE for as long: the attachment is captured.
        let openReader: @Sendable () throws -> StoreReader = { [attachment] in
            _ = attachment
            return try StoreReader(
                path: path,
                account: account,
                environment: environment,
                busyDeadline: Deadline(after: waitMax, from: environment.clock.now())
            )
        }
        let writer =
            isReadOnly ? nil : try makeWriter(attachment, path: path)
        let ending = SessionEnding()
        let database = AccountDatabase(
            token: token,
            store: try writer?.store ?? identity(openReader),
            writer: writer,
            readers: ReaderPool(threadCountMax: workspace.limits.readerCountMax, open: openReader),
            limits: workspace.limits,
            clock: workspace.clock,
            requiredState: isReadOnly ? nil : .active,
            ending: ending
        )
        let feeds = FeedFactory(
            parts: FeedReader.Parts(
                token: token,
                after: nil,
                excludedOrigin: nil,
                socketPath: workspace.paths.socket,
                limits: workspace.limits,
                clock: workspace.clock,
                announcements: workspace.announcements,
                open: openReader
            )
        )
        try? attachment.membership.setActivity(.idle)
        return Session(
            account: info,
            database: database,
            attachment: attachment,
            feeds: feeds,
            ending: ending,
            workspace: workspace
        )
    }

    private func makeWriter(
        _ attachment: AccountAttachment,
        path: String
    ) throws -> AccountWriter {
        let (environment, waitMax) = (workspace.environment, workspace.limits.admissionWaitMax)
        let (account, origin) = (token.account, workspace.name)
        let open: @Sendable () throws -> StoreWriter = {
            try StoreWriter(
                path: path,
                account: account,
                origin: origin,
                environment: environment,
                busyDeadline: Deadline(after: waitMax, from: environment.clock.now())
            )
        }
        // Before the line's thread starts, which would outlive a failure here.
        let storeWriter = try open()
        let checkpointer = Checkpointer(
            attachment: attachment,
            path: path,
            environment: environment,
            limits: workspace.limits,
            frameCountMark: { [weak workspace] in workspace?.checkpointMark ?? .max }
        )
        let syncer = LogSyncer { [attachment] in
            _ = attachment
            let connection = try StoreFile.open(
                path,
                for: .maintaining,
                environment: environment,
                busyDeadline: Deadline(after: waitMax, from: environment.clock.now())
            )
            // SQLite opens the log with the first read.
            _ = try connection.value("SELECT generation FROM lk_fence")
            return connection
        }
        return AccountWriter(
            token: token,
            storeWriter: storeWriter,
            reopen: open,
            line: try WriterThread.start(attachment.membership, limits: workspace.limits),
            syncer: syncer,
            announcements: workspace.announcements,
            checkpointer: checkpointer,
            attachment: attachment,
            clock: workspace.clock
        )
    }

    private func identity(_ open: () throws -> StoreReader) throws -> StoreIdentity {
        let reader = try open()
        defer { try? reader.close() }
        return reader.store
    }
}

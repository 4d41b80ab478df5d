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
        if !isReadOnly { try files.prepare(deadline: workspace.deadlineOfOpening()) }
        let attachment = files.attachment
        let opener = StoreOpener(workspace: workspace, account: token.account)
        let (clock, waitMax) = (workspace.clock, workspace.limits.admissionWaitMax)
        let openReader: @Sendable () throws -> StoreOpener.Reader = { [attachment] in
            let deadline = Deadline(after: waitMax, from: clock.now())
            return try opener.reader(try attachment.stay(until: deadline))
        }
        let writer = isReadOnly ? nil : try makeWriter(files.stay, opener)
        let ending = SessionEnding()
        let database = AccountDatabase(
            token: token,
            store: try writer?.store ?? identity(opener.reader(files.stay)),
            writer: writer,
            readers: ReaderPool(
                threadCountMax: workspace.limits.readerCountMax,
                attachment: attachment,
                open: openReader
            ),
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
                attachment: attachment,
                opener: opener
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
        _ stay: AccountAttachment.Stay,
        _ opener: StoreOpener
    ) throws -> AccountWriter {
        let attachment = stay.attachment
        // Before the line's thread starts, which would outlive a failure here.
        let open = try opener.writer(stay)
        return AccountWriter(
            token: token,
            open: open,
            opener: opener,
            stay: stay,
            line: try WriterThread.start(attachment.membership, limits: workspace.limits),
            announcements: workspace.announcements,
            checkpointer: Checkpointer(
                attachment: attachment,
                opener: opener,
                environment: workspace.environment,
                limits: workspace.limits,
                frameCountMark: { [weak workspace] in workspace?.checkpointMark ?? .max }
            ),
            clock: workspace.clock
        )
    }

    private func identity(_ reader: StoreOpener.Reader) throws -> StoreIdentity {
        defer { try? reader.store.close() }
        return reader.store.store
    }
}

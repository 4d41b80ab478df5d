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

    /// Opens the session. Blocks.
    func build(isReadOnly: Bool) throws -> Session {
        let files = try AccountFiles(token.account, of: workspace)
        let opener = StoreOpener(workspace: workspace, account: token.account)
        let users = opener.users(files.attachment)
        return try users.naming { try build(files, opener, users, isReadOnly: isReadOnly) }
    }

    private func build(
        _ files: AccountFiles,
        _ opener: StoreOpener,
        _ users: DatabaseUsers,
        isReadOnly: Bool
    ) throws -> Session {
        let attachment = files.attachment
        if !isReadOnly {
            // The id was given to another account after the caller had looked.
            guard token.generation > attachment.birth else {
                throw LockkeeperError.accountRemoved(token.account)
            }
            try files.prepare(deadline: workspace.deadlineOfOpening())
        }
        let (clock, waitMax) = (workspace.clock, workspace.limits.admissionWaitMax)
        let openReader: @Sendable () throws -> StoreOpener.Reader = { [attachment] in
            let deadline = Deadline(after: waitMax, from: clock.now())
            return try users.naming { try opener.reader(try attachment.stay(until: deadline)) }
        }
        let writer = isReadOnly ? nil : try makeWriter(files.stay, opener, users)
        let folder = InboxFolder(account: attachment.paths.directory)
        let intake = isReadOnly ? nil : workspace.packetIntake
        let inbox = intake.map { SessionInbox(.files, workspace, folder: folder, intake: $0) }
        let packets = intake.map { SessionInbox(.rows, workspace, folder: folder, intake: $0) }
        let upkeep =
            isReadOnly
            ? nil : SessionUpkeep(workspace, steps: workspace.schemas.flatMap(\.upkeep))
        let ending = SessionEnding(wallClock: workspace.wallClock)
        let feeds = FeedFactory(
            parts: FeedReader.Parts(
                token: token,
                after: nil,
                excludedOrigin: nil,
                limits: workspace.limits,
                clock: workspace.clock,
                attachment: attachment,
                opener: opener
            )
        )
        let database = AccountDatabase(
            token: token,
            store: try writer?.store ?? identity(opener.reader(files.stay)),
            writer: writer,
            readers: ReaderPool(
                threadCountMax: workspace.limits.readerCountMax,
                attachment: attachment,
                open: openReader
            ),
            users: users,
            feeds: feeds,
            inbox: inbox,
            upkeep: upkeep,
            packets: packets,
            limits: workspace.limits,
            clock: workspace.clock,
            requiredState: isReadOnly ? nil : .active,
            ending: ending
        )
        try? attachment.membership.setActivity(.idle)
        let session = Session(
            account: info,
            database: database,
            attachment: attachment,
            feeds: feeds,
            ending: ending,
            workspace: workspace
        )
        inbox?.attach(session)
        upkeep?.attach(session)
        packets?.attach(session)
        return session
    }

    private func makeWriter(
        _ stay: AccountAttachment.Stay,
        _ opener: StoreOpener,
        _ users: DatabaseUsers
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
                Checkpoint(attachment: attachment, opener: opener),
                isDue: { [weak workspace] in workspace?.isCheckpointDue(frameCount: $0) ?? false }
            ),
            pacer: WritePacer(limits: workspace.limits, timer: workspace.timer),
            users: users,
            clock: workspace.clock
        )
    }

    private func identity(_ reader: StoreOpener.Reader) throws -> StoreIdentity {
        defer { try? reader.store.close() }
        return reader.store.store
    }
}

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
        return try users.naming {
            do {
                return try build(files, opener, users, isReadOnly: isReadOnly)
            } catch {
                // Who comes first to a database makes its log's index anew, which takes room too.
                guard SpaceReserve.isDiskFull(error), reserve(files.attachment).release() else {
                    throw error
                }
                return try build(files, opener, users, isReadOnly: isReadOnly)
            }
        }
    }

    private func reserve(_ attachment: AccountAttachment) -> SpaceReserve {
        SpaceReserve(
            folder: InboxFolder(
                account: attachment.paths.directory,
                keys: workspace.environment.keys
            ),
            byteCount: Int64(workspace.limits.inboxReserveByteCount)
        )
    }

    private func build(
        _ files: AccountFiles,
        _ opener: StoreOpener,
        _ users: DatabaseUsers,
        isReadOnly: Bool
    ) throws -> Session {
        let attachment = files.attachment
        // Until the session has its own: the logs' indexes are made once.
        var connections: [Connection] = []
        defer { for connection in connections { try? connection.close() } }
        if !isReadOnly {
            // The id was given to another account after the caller had looked.
            guard token.generation > attachment.birth else {
                throw LockkeeperError.accountRemoved(token.account)
            }
            try files.prepare(
                deadline: workspace.deadlineOfOpening(),
                keeping: &connections
            )
        }
        let logPath = StoreFiles(try files.path(of: .messages)).log
        let chores = isReadOnly ? Chores() : Chores(workspace, attachment, logPath: logPath)
        let ending = SessionEnding(wallClock: workspace.wallClock)
        let database = try database(
            opener,
            files.stay,
            users,
            chores,
            ending: ending,
            isReadOnly: isReadOnly
        )
        try? attachment.membership.setActivity(.idle)
        let session = Session(
            account: info,
            database: database,
            attachment: attachment,
            ending: ending,
            workspace: workspace,
            openSettings: { [self, weak attachment] in
                guard let attachment else { throw LockkeeperError.closed("account \(info.id)") }
                return try settings(of: attachment, ending: ending, isReadOnly: isReadOnly)
            }
        )
        chores.attach(session)
        return session
    }

    /// Opens the account's settings, under the same generation. Blocks.
    private func settings(
        of attachment: AccountAttachment,
        ending: SessionEnding,
        isReadOnly: Bool
    ) throws -> AccountDatabase {
        let opener = StoreOpener(workspace: workspace, account: token.account, kind: .settings)
        let users = opener.users(attachment)
        let stay = try attachment.stay(until: workspace.deadlineOfOpening())
        return try users.naming {
            try database(
                opener,
                stay,
                users,
                Chores(),
                ending: ending,
                isReadOnly: isReadOnly
            )
        }
    }

    private func database(
        _ opener: StoreOpener,
        _ stay: AccountAttachment.Stay,
        _ users: DatabaseUsers,
        _ chores: Chores,
        ending: SessionEnding,
        isReadOnly: Bool
    ) throws -> AccountDatabase {
        let attachment = stay.attachment
        let (clock, waitMax) = (workspace.clock, workspace.limits.admissionWaitMax)
        let openReader: @Sendable () throws -> StoreOpener.Reader = { [attachment] in
            let deadline = Deadline(after: waitMax, from: clock.now())
            return try users.naming { try opener.reader(try attachment.stay(until: deadline)) }
        }
        let writer = isReadOnly ? nil : try makeWriter(stay, opener, users)
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
        return AccountDatabase(
            token: token,
            store: try writer?.store ?? identity(opener.reader(stay)),
            writer: writer,
            readers: ReaderPool(
                threadCountMax: workspace.limits.readerCountMax,
                attachment: attachment,
                open: openReader
            ),
            users: users,
            feeds: feeds,
            inbox: chores.inbox,
            upkeep: chores.upkeep,
            packets: chores.packets,
            limits: workspace.limits,
            clock: workspace.clock,
            requiredState: isReadOnly ? nil : .active,
            ending: ending,
            noting: { [weak workspace, account = token.account, kind = opener.kind] error in
                workspace?.noteDamage(error, account, kind) ?? error
            }
        )
    }

    private func makeWriter(
        _ stay: AccountAttachment.Stay,
        _ opener: StoreOpener,
        _ users: DatabaseUsers
    ) throws -> AccountWriter {
        let attachment = stay.attachment
        // Before the line's thread starts, which would outlive a failure here.
        let open = try opener.writer(stay)
        let reserve = reserve(attachment)
        reserve.keep()
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
            reserve: reserve,
            pacer: WritePacer(limits: workspace.limits, timer: workspace.timer),
            users: users,
            clock: workspace.clock,
            times: workspace.stageTimes
        )
    }

    private func identity(_ reader: StoreOpener.Reader) throws -> StoreIdentity {
        defer { try? reader.store.close() }
        return reader.store.store
    }
}

/// What a session does beside what it is asked for; nothing, where it only reads or holds settings.
private struct Chores {
    var inbox: SessionInbox?
    var packets: SessionInbox?
    var upkeep: SessionUpkeep?

    init() {}

    init(_ workspace: Workspace, _ attachment: AccountAttachment, logPath: String) {
        if let intake = workspace.packetIntake {
            let folder = InboxFolder(
                account: attachment.paths.directory,
                keys: workspace.environment.keys
            )
            inbox = SessionInbox(.files, workspace, folder: folder, intake: intake)
            packets = SessionInbox(.rows, workspace, folder: folder, intake: intake)
        }
        // What there is to do is done to messages.
        let schemas = workspace.schemas.filter { $0.kind == .messages }
        upkeep = SessionUpkeep(workspace, steps: schemas.flatMap(\.upkeep), logPath: logPath)
    }

    func attach(_ session: Session) {
        inbox?.attach(session)
        upkeep?.attach(session)
        packets?.attach(session)
    }
}

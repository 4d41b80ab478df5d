import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import Synchronization

/// The writing side of a session: the write connection, the thread that stands in the turnstile,
/// and the sync behind them.
///
/// The path of a write: line → QUEUE → WRITER → transaction with the fence inside → WRITER let go →
/// announcement → sync → acknowledgement. It crosses no thread between the line and the sync.
// Safe to share because `open`, its connection, `stay`, `hasToSettle` and `unsynced` are touched only
// on the line's thread: by work that holds WRITER and by the sync that follows it there; and by
// `vacate`, `comeBack` and `close` while that thread is parked or has ended. Everything else is
// constant or locks itself.
final class AccountWriter: @unchecked Sendable {
    let token: FencingToken
    let store: StoreIdentity
    private let kind: StoreKind
    /// `nil` while the process is away from the account.
    private var open: StoreOpener.Writer?
    private var stay: AccountAttachment.Stay?
    private var hasToSettle = true
    /// Who waits for the sync of what this admission has committed.
    private var unsynced: [LogSyncer.Completion] = []
    private let opener: StoreOpener
    private let line: WriterThread
    private let syncer: LogSyncer
    private let announcements: Announcements
    private let checkpointer: Checkpointer
    private let reserve: SpaceReserve
    /// Keeps writes apart while the log is degraded.
    let pacer: WritePacer
    private let users: DatabaseUsers
    private let attachment: AccountAttachment
    private let clock: any MonotonicClock
    private let times: StageTimes

    init(
        token: FencingToken,
        open: sending StoreOpener.Writer,
        opener: StoreOpener,
        stay: AccountAttachment.Stay,
        line: WriterThread,
        announcements: Announcements,
        checkpointer: Checkpointer,
        reserve: SpaceReserve,
        pacer: WritePacer,
        users: DatabaseUsers,
        clock: any MonotonicClock,
        times: StageTimes
    ) {
        self.token = token
        store = open.store.store
        kind = open.store.kind
        self.open = open
        self.opener = opener
        self.stay = stay
        self.line = line
        syncer = LogSyncer(stay, opener)
        self.announcements = announcements
        self.checkpointer = checkpointer
        self.reserve = reserve
        self.pacer = pacer
        self.users = users
        attachment = stay.attachment
        self.clock = clock
        self.times = times
        attachment.add(self)
    }

    /// Puts a job into the line, behind those of its class.
    func submit(
        _ job: WriteJob<some Sendable>,
        class admissionClass: AdmissionClass = .live,
        deadline: Deadline
    ) -> AdmissionTicket {
        line.submit(job, class: admissionClass, deadline: deadline)
    }

    /// Takes a job out of the line again. Returns whether it was still waiting: then nothing of it
    /// will be called any more.
    func withdraw(_ ticket: AdmissionTicket) -> Bool { line.withdraw(ticket) }

    /// Runs a transaction. Called by a job that holds WRITER.
    func transaction<Value>(
        deadline: Deadline,
        isCancelled: () -> Bool,
        body: (Connection, inout TopicSet) throws -> Value
    ) throws -> TransactionOutcome<Value> {
        let began = clock.now()
        let outcome = try users.naming {
            let open = try opened()
            if try open.trust.check().isLeaveWordSet { attachment.lookAtLeaveWord() }
            try settle(deadline: deadline)
            Failpoint.afterLock.reach()
            do {
                return try open.store.transaction(
                    token: token,
                    deadline: deadline,
                    isCancelled: isCancelled
                ) { connection, topics in
                    let value = try body(connection, &topics)
                    if PlantedDefect.announceBeforeCommit.isPlanted {
                        try announceEarly(connection)
                    }
                    return value
                }
            } catch {
                // A log that was copied begins anew, and needs no more of the disk.
                if SpaceReserve.isDiskFull(error) { checkpointer.diskIsFull() }
                throw error
            }
        }
        times.add(.transaction, clock.now().duration(since: began))
        reserve.committed()
        let frameCount = open?.store.connection.logFrameCount ?? 0
        checkpointer.logGrew(to: frameCount)
        pacer.logGrew(to: Int64(frameCount * StoreFile.frameByteCount))
        return outcome
    }

    /// Whether the disk is full and the space for that is used up.
    var isOutOfRoom: Bool { reserve.isUsedUp }

    /// Makes room on a full disk for a write that makes more of it: gives up the reserve, and copies the
    /// log with it, where that is enough, so that it begins anew. Blocks.
    ///
    /// - Returns: whether the write may use what room there is. Where the log could not be copied just
    ///   now it must leave enough for that: a log that takes the last room can never be copied again.
    func makeRoom() -> Bool {
        _ = reserve.release()
        switch checkpointer.copyNow() {
        case .complete, .notDue: return true
        // There is nothing to be left any more.
        case .noRoom: return true
        case .pinned, .elsewhere, nil: return checkpointer.leavesRoom()
        }
    }

    /// Notes how long a write stood in line. Called by a job that was admitted.
    func noteAdmission(_ waited: Duration) { times.add(.admission, waited) }

    /// Makes sure that what was committed went into the files that stand at their paths (5.5).
    /// Called once WRITER was let go, so that nobody waits for it, and before the acknowledgement.
    func checkFiles() throws { try open?.store.checkFiles() }

    /// Tells the others what was committed. Never waits.
    func announce(_ change: CommittedChange) {
        let began = clock.now()
        defer { times.add(.announcement, clock.now().duration(since: began)) }
        announcements.announce(
            change.range(account: token.account, kind: kind, store: store, isDurable: false)
        )
    }

    /// Completes a write whose transaction has ended: at once, or by the next
    /// ``syncCommitted(othersWait:)``.
    ///
    /// - Parameter commit: its commit; `nil` where nothing changed.
    func makeDurable(
        _ durability: Durability,
        upTo commit: CommitNumber?,
        completion: @escaping LogSyncer.Completion
    ) {
        switch durability {
        case .committed: completion(.success(()))
        case .durable where isAcknowledgedUnsynced(commit): completion(.success(()))
        case .durable:
            let known = attachment.durable(of: kind)
            let position = commit.map { Position(store: store, commit: $0) }
            let ended = clock.now()
            unsynced.append { [clock, times] result in
                Failpoint.afterSync.reach()
                times.add(.sync, clock.now().duration(since: ended))
                if case .success = result, let position { known.raise(to: position) }
                completion(result)
            }
        }
    }

    /// Two planted defects.
    private func isAcknowledgedUnsynced(_ commit: CommitNumber?) -> Bool {
        PlantedDefect.acknowledgeBeforeSync.isPlanted
            || commit == nil && PlantedDefect.duplicateAcknowledgedUnsynced.isPlanted
    }

    /// A planted defect: tells the others of the commit that this transaction is going to be, and gives
    /// them the time to look for it.
    private func announceEarly(_ connection: Connection) throws {
        guard let newest = try connection.value("SELECT max(number) FROM lk_commit")?.integer else {
            return
        }
        let last = CommitNumber(newest)
        announcements.announce(
            ChangeRange(
                account: token.account,
                kind: kind,
                store: store,
                generation: token.generation,
                predecessor: last,
                commits: last.next...last.next,
                tables: [],
                topics: nil,
                origins: ["planted"],
                isDurable: false
            )
        )
        let clock = SystemClock()
        clock.sleep(until: Deadline(after: .milliseconds(5), from: clock.now()))
    }

    /// Makes durable what one admission has committed, with one sync that begins now (5.2).
    ///
    /// The calling thread syncs by itself when nobody stands behind it and no earlier write waits
    /// for its sync, so that writes complete in the order of their commits. Otherwise the syncer's
    /// thread does, so that the next writer of this process need not wait for the disk.
    func syncCommitted(othersWait: Bool) {
        let completions = unsynced
        guard !completions.isEmpty else { return }
        unsynced.removeAll(keepingCapacity: true)
        guard !othersWait, syncer.isIdle else { return syncer.sync(completions) }
        let result = Result { try syncByItself() }
        for completion in completions { completion(result) }
    }

    private func syncByItself() throws {
        guard let open else { preconditionFailure("a transaction ends before its connection") }
        try open.trust.syncing { try open.store.connection.syncLog() }
    }

    /// The write connection, opened anew where it is missing, or where a rollback failed, so that
    /// nobody knows in which state it is.
    private func opened() throws -> StoreOpener.Writer {
        if let open, open.store.connection.isUsable { return open }
        guard let stay else {
            if attachment.isRemoved { throw LockkeeperError.accountRemoved(token.account) }
            throw LockingError.closed
        }
        let opened = try opener.writer(stay)
        (open, hasToSettle) = (opened, true)
        return opened
    }

    /// Settles what others died in before the connection was opened. Called by a job that holds
    /// WRITER.
    private func settle(deadline: Deadline) throws {
        guard hasToSettle, let open, let stay else { return }
        try opener.files(stay).settle(open.unfinished, deadline: deadline)
        hasToSettle = false
    }

    /// Ends the line, the syncs and the connections. Those who still wait are told that it closed.
    func close() {
        // What was admitted ends by its own deadline; a thread that stands behind another process
        // ends when that one lets go.
        let hasEnded = line.close(until: Deadline(after: .seconds(10), from: clock.now()))
        attachment.remove(self)
        checkpointer.close()
        syncer.close()
        // Where the thread still stands in the turnstile it never touches the connection again.
        if hasEnded { closeConnection() }
    }

    private func closeConnection() {
        // The connection may have closed itself after a failed rollback.
        try? open?.store.close()
        (open, stay) = (nil, nil)
    }
}

extension AccountWriter: Occupant {
    func vacate(_ absence: AccountAttachment.Absence, until deadline: Deadline) throws -> Bool {
        do throws(LockingError) {
            guard try line.suspend(absence.suspension, until: deadline) else { return false }
        } catch .closed {
            // Who closes it ends its stay as well.
            return true
        }
        // What was committed is synced first, and whoever waits for that is told.
        guard syncer.pause(until: deadline) else { return false }
        closeConnection()
        return true
    }

    func comeBack() throws {
        do {
            // Without a stay, in an account that was removed, whoever waits is told so in his turn.
            if !attachment.isRemoved {
                let stay = try attachment.stay(until: Deadline(at: clock.now()))
                self.stay = stay
                // What cannot be opened now is opened for the first who writes, or fails him.
                open = try? opener.writer(stay)
                hasToSettle = true
                syncer.goOn(stay)
            }
            try line.resume()
        } catch LockingError.closed {
            closeConnection()
        }
    }
}

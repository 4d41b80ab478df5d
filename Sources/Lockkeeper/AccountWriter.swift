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
// Safe to share because `storeWriter` and its connection are touched only on the line's thread: by
// work that holds WRITER, by the sync that follows it there, and by `close` once that thread has
// ended. Everything else is constant.
final class AccountWriter: @unchecked Sendable {
    let token: FencingToken
    let store: StoreIdentity
    private var storeWriter: StoreWriter
    private let reopen: @Sendable () throws -> StoreWriter
    private let line: WriterThread
    private let syncer: LogSyncer
    private let announcements: Announcements
    private let checkpointer: Checkpointer
    /// PRESENCE, for as long as there is a connection.
    private let attachment: AccountAttachment
    private let clock: any MonotonicClock
    private let syncFailure = Mutex<(any Error)?>(nil)

    init(
        token: FencingToken,
        storeWriter: sending StoreWriter,
        reopen: @escaping @Sendable () throws -> StoreWriter,
        line: WriterThread,
        syncer: LogSyncer,
        announcements: Announcements,
        checkpointer: Checkpointer,
        attachment: AccountAttachment,
        clock: any MonotonicClock
    ) {
        self.token = token
        store = storeWriter.store
        self.storeWriter = storeWriter
        self.reopen = reopen
        self.line = line
        self.syncer = syncer
        self.announcements = announcements
        self.checkpointer = checkpointer
        self.attachment = attachment
        self.clock = clock
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
        if let failure = syncFailure.withLock({ $0 }) { throw failure }
        if !storeWriter.connection.isUsable {
            // A rollback failed: nobody knows in which state that connection is.
            storeWriter = try reopen()
        }
        let outcome = try storeWriter.transaction(
            token: token,
            deadline: deadline,
            isCancelled: isCancelled,
            body: body
        )
        checkpointer.logGrew(to: storeWriter.connection.logFrameCount)
        return outcome
    }

    /// Makes sure that what was committed went into the files that stand at their paths (5.5).
    /// Called once WRITER was let go, so that nobody waits for it, and before the acknowledgement.
    func checkFiles() throws { try storeWriter.checkFiles() }

    /// Tells the others what was committed. Never waits.
    func announce(_ change: CommittedChange) {
        announcements.announce(
            change.range(account: token.account, store: store, isDurable: false)
        )
    }

    /// Completes a write whose transaction has ended: at once, or after a sync that begins now
    /// (5.2).
    ///
    /// The calling thread syncs by itself when nobody stands behind it and no earlier write waits
    /// for its sync, so that writes complete in the order of their commits. Otherwise the syncer's
    /// thread does, so that the next writer of this process need not wait for the disk.
    func makeDurable(
        _ durability: Durability,
        othersWait: Bool,
        completion: @escaping LogSyncer.Completion
    ) {
        let completion: LogSyncer.Completion = { [self] result in completion(judge(result)) }
        switch (durability, othersWait || !syncer.isIdle) {
        case (.committed, _): completion(.success(()))
        case (.durable, true): syncer.sync(completion)
        case (.durable, false): completion(Result { try storeWriter.connection.syncLog() })
        }
    }

    /// Whether a write may be acknowledged after a sync.
    ///
    /// A sync that failed may have lost what was written before it, and the next one says nothing
    /// of that: Linux counts the pages as written. After the first failure nothing is acknowledged
    /// through this session any more.
    private func judge(_ result: Result<Void, any Error>) -> Result<Void, any Error> {
        syncFailure.withLock { failure in
            if let failure { return .failure(failure) }
            if case .failure(let error) = result { failure = error }
            return result
        }
    }

    /// Ends the line, the syncs and the connections. Those who still wait are told that it closed.
    func close() {
        // What was admitted ends by its own deadline; a thread that stands behind another process
        // ends when that one lets go.
        let hasEnded = line.close(until: Deadline(after: .seconds(10), from: clock.now()))
        checkpointer.close()
        syncer.close()
        // The connection may have closed itself after a failed rollback. Where the thread still
        // stands in the turnstile it never touches the connection again.
        if hasEnded { try? storeWriter.close() }
    }
}

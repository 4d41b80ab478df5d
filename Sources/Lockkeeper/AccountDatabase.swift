public import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
package import LockkeeperSQLite
package import LockkeeperStorage
import Synchronization

/// The database of one account under one generation: fenced writes in fair order, and reads.
///
/// It belongs to a ``Session`` and dies with it. All calls may be made from any task; none of them
/// blocks a thread of the cooperative pool.
public final class AccountDatabase: Sendable {
    /// The account and generation that every write carries.
    public let token: FencingToken
    /// The store behind it.
    public let store: StoreIdentity
    /// The bounds it keeps.
    public let limits: Limits

    package let clock: any MonotonicClock
    private let writer: AccountWriter?
    private let readers: ReaderPool
    private let users: DatabaseUsers
    private let feeds: FeedFactory
    /// Packets that wait as files; `nil` where nothing here takes any.
    let inbox: SessionInbox?
    /// What is done while nobody writes; `nil` where nothing here does it.
    let upkeep: SessionUpkeep?
    /// Packets that wait as rows; `nil` where nothing here takes any.
    let packets: SessionInbox?
    private let requiredState: AccountState?
    private let ending: SessionEnding
    /// Told of what a call fails with; says it better where the file is damaged.
    private let noting: @Sendable (any Error) -> any Error
    private let isClosed = Atomic<Bool>(false)

    /// - Parameters:
    ///   - writer: `nil` for a database that is only read.
    ///   - requiredState: what the fence must say for a read; `nil` also reads an account that was
    ///     signed out of.
    init(
        token: FencingToken,
        store: StoreIdentity,
        writer: AccountWriter?,
        readers: ReaderPool,
        users: DatabaseUsers,
        feeds: FeedFactory,
        inbox: SessionInbox?,
        upkeep: SessionUpkeep?,
        packets: SessionInbox?,
        limits: Limits,
        clock: any MonotonicClock,
        requiredState: AccountState?,
        ending: SessionEnding,
        noting: @escaping @Sendable (any Error) -> any Error
    ) {
        self.token = token
        self.store = store
        self.writer = writer
        self.readers = readers
        self.users = users
        self.feeds = feeds
        self.inbox = inbox
        self.upkeep = upkeep
        self.packets = packets
        self.limits = limits
        self.clock = clock
        self.requiredState = requiredState
        self.ending = ending
        self.noting = noting
    }

    /// A database that nobody refers to any more closes itself, whatever became of its session.
    deinit {
        guard !isClosed.load(ordering: .acquiring) else { return }
        // Closing joins threads and waits for a running sync: not on whichever thread happened to
        // drop the last reference. Where no thread can be had the process is at its end anyway.
        let (readers, writer) = (readers, writer)
        _ = try? WorkerThread.start(name: "lk-close") {
            readers.close()
            writer?.close()
        }
    }

    /// Runs a closure inside a write transaction, in its turn among all processes.
    ///
    /// The closure may run again from its start when another program's commit came between; what it
    /// does outside of the transaction must bear that. Cancelling the task counts until COMMIT
    /// begins.
    ///
    /// - Parameters:
    ///   - durability: what the returned receipt promises.
    ///   - waitMax: how long to stand in line, foreign writers included;
    ///     ``Limits/admissionWaitMax`` by default.
    ///   - usesReserve: whether it may have the space that the account keeps for a full disk. For what
    ///     makes room: deleting and purging. The closure runs once more then.
    ///   - body: what runs inside of the transaction, on the writer's thread.
    /// - Returns: what the closure returned, and the commit's receipt.
    /// - Throws: ``LockkeeperError`` — `busy` with the holders when the deadline passed, `superseded`
    ///   when the generation is no longer current, `diskFull`, `ioFailed`; `CancellationError`; and
    ///   what the closure throws. Nothing was stored then, but for `ioFailed` and `fileReplaced`: what
    ///   was committed may be lost.
    @discardableResult
    public func write<Value: Sendable>(
        durability: Durability = .durable,
        waitMax: Duration? = nil,
        usesReserve: Bool = false,
        _ body: @escaping @Sendable (borrowing Transaction) throws -> Value
    ) async throws -> (value: Value, receipt: CommitReceipt) {
        let inside: @Sendable (Connection, inout TopicSet) throws -> Value = { connection, topics in
            let collector = Transaction.TopicCollector(topics)
            defer { topics = collector.topics }
            return try body(Transaction(connection: connection, topics: collector))
        }
        return try await submit(
            durability: durability,
            waitMax: waitMax,
            usesReserve: usesReserve,
            inside
        )
    }

    /// Runs a closure inside a read transaction: one consistent snapshot, with the fence checked.
    ///
    /// - Throws: ``LockkeeperError`` — `superseded` when the generation is no longer current (I-13);
    ///   and what the closure throws.
    public func read<Value: Sendable>(
        _ body: @escaping @Sendable (borrowing ReadTransaction) throws -> Value
    ) async throws -> Value {
        try await readConnection { try body(ReadTransaction(connection: $0)) }
    }

    /// The position after the newest commit: where a new feed begins.
    public func head() async throws -> Position {
        try await mapped { try await readers.run { try $0.head().position } }
    }

    /// A read for the products, which know the connection.
    package func readConnection<Value: Sendable>(
        for purpose: ReadPurpose = .query,
        _ body: @escaping @Sendable (Connection) throws -> Value
    ) async throws -> Value {
        let (token, state, clock, waitMax) = (token, requiredState, clock, limits.admissionWaitMax)
        let users = users
        return try await mapped {
            if let reason = ending.removal { throw reason }
            return try await readers.run { reader in
                try users.naming {
                    try reader.read(
                        token: token,
                        requiring: state,
                        for: purpose,
                        deadline: Deadline(after: waitMax, from: clock.now()),
                        body: body
                    )
                }
            }
        }
    }

    /// A read that says what it read, and where in the log.
    func observed<Value: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> Value
    ) async throws -> StoreReader.Observed<Value> {
        try await mapped { try await readers.run(observing(body)) }
    }

    /// The same, with the calling thread waiting for it.
    func observedBlocking<Value: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> Value
    ) throws -> StoreReader.Observed<Value> {
        do { return try readers.runBlocking(observing(body)) } catch { throw translated(error) }
    }

    /// A read on the thread of a feed, with the feed's reader.
    func observed<Value: Sendable>(
        with reader: StoreReader,
        _ body: @escaping @Sendable (Connection) throws -> Value
    ) throws -> StoreReader.Observed<Value> {
        do { return try observing(body)(reader) } catch { throw translated(error) }
    }

    private func observing<Value: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> Value
    ) -> @Sendable (StoreReader) throws -> StoreReader.Observed<Value> {
        let (token, state, clock, waitMax) = (token, requiredState, clock, limits.admissionWaitMax)
        let users = users
        return { reader in
            try users.naming {
                try reader.observe(
                    token: token,
                    requiring: state,
                    for: .query,
                    deadline: Deadline(after: waitMax, from: clock.now()),
                    body: body
                )
            }
        }
    }

    /// The ranges after a position, for the products.
    package func changes(after position: Position?, without origin: String?) -> ChangeFeed {
        feed(after: position, without: origin)
    }

    /// The ranges after a position. The feed keeps the database: a caller that lets go of it follows.
    func feed(after position: Position?, without origin: String? = nil) -> ChangeFeed {
        feeds.feed(of: self, after: position, without: origin)
    }

    /// Waits until the process is at the account again after it has left it.
    ///
    /// - Returns: `false` once the task was cancelled or the session closed.
    func isHereAgain() async throws -> Bool { try await feeds.isHereAgain() }

    /// Whether the disk is full and the space for that is used up. One system call or two.
    var isOutOfRoom: Bool { writer?.isOutOfRoom ?? false }

    /// A write for the products, which know the connection. While the log is degraded it waits before
    /// it stands in the line (``WritePace``); the deadline counts from there. Packets that wait as files
    /// go first, and are looked for afterwards.
    ///
    /// - Parameter usesReserve: as of ``write(durability:waitMax:usesReserve:_:)``.
    package func submit<Value: Sendable>(
        durability: Durability,
        class admissionClass: AdmissionClass = .live,
        waitMax: Duration?,
        usesReserve: Bool = false,
        _ body: @escaping @Sendable (Connection, inout TopicSet) throws -> Value
    ) async throws -> (value: Value, receipt: CommitReceipt) {
        let writer = try writing()
        let attempt = {
            try await self.submit(writer, durability, admissionClass, waitMax: waitMax, body)
        }
        guard usesReserve else { return try await attempt() }
        // Where the reserve is used up already, the log begins anew first, if it can.
        if writer.isOutOfRoom, try await !blocking("lk-room", { writer.makeRoom() }) {
            throw LockkeeperError.logTakesLastRoom(token.account)
        }
        do {
            return try await attempt()
        } catch let error as LockkeeperError where error.code == .diskFull {
            guard try await blocking("lk-room", { writer.makeRoom() }) else { throw error }
            return try await attempt()
        }
    }

    private func submit<Value: Sendable>(
        _ writer: AccountWriter,
        _ durability: Durability,
        _ admissionClass: AdmissionClass,
        waitMax: Duration?,
        _ body: @escaping @Sendable (Connection, inout TopicSet) throws -> Value
    ) async throws -> (value: Value, receipt: CommitReceipt) {
        let pause = writer.pacer.wait(admissionClass)
        if pause > .zero { try await Task.sleep(for: pause) }
        let call = PendingWrite<Value>()
        let deadline = deadline(waitMax)
        if let inbox, inbox.isDue {
            await withCheckedContinuation { continuation in
                inbox.whenDrained(until: deadline) { continuation.resume() }
            }
        }
        defer {
            lookForPackets()
            upkeep?.wrote()
        }
        return try await mapped {
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    let job = WriteJob(
                        writer: writer,
                        durability: durability,
                        deadline: deadline,
                        body: body
                    ) { continuation.resume(with: $0.map { (value: $0.0, receipt: $0.1) }) }
                    call.start(job, on: writer, class: admissionClass, deadline: deadline)
                }
            } onCancel: {
                call.cancel(on: writer)
            }
        }
    }

    /// A write whose caller does not wait: the way of a pipeline of batches. The completion is called
    /// on the writer's or the syncer's thread. Packets that wait as files are looked for afterwards.
    package func submit<Value: Sendable>(
        durability: Durability,
        class admissionClass: AdmissionClass = .live,
        waitMax: Duration? = nil,
        body: @escaping @Sendable (Connection, inout TopicSet) throws -> Value,
        completion: @escaping @Sendable (Result<(Value, CommitReceipt), any Error>) -> Void
    ) {
        submitFromInbox(
            durability: durability,
            class: admissionClass,
            waitMax: waitMax,
            body: body
        ) { [inbox, packets, upkeep] result in
            completion(result)
            inbox?.look()
            packets?.look()
            upkeep?.wrote()
        }
    }

    /// Has packets that wait applied on threads of their own. Never waits.
    func lookForPackets() {
        inbox?.look()
        packets?.look()
    }

    /// Runs a write of the inbox's or the upkeep's own and waits for it, for as long as any write may
    /// wait where there is no deadline. Blocks.
    func writeFromInbox<Value: Sendable>(
        durability: Durability,
        class admissionClass: AdmissionClass,
        deadline: Deadline? = nil,
        _ body: @escaping @Sendable (Connection, inout TopicSet) throws -> Value
    ) throws -> Value {
        let monitor = Monitor<Result<Value, any Error>?>(nil)
        submitFromInbox(
            durability: durability,
            class: admissionClass,
            waitMax: deadline?.remaining(at: clock.now()),
            body: body
        ) { result in
            monitor.withLock { $0 = result.map(\.0) }
            monitor.broadcast()
        }
        // Without a deadline: the line ends every wait by the one that it was given.
        guard let result = monitor.wait(until: .never, for: { $0 }) else {
            preconditionFailure("a wait without a deadline ends with a value")
        }
        return try result.get()
    }

    /// The same for the inbox itself, which looks by itself.
    private func submitFromInbox<Value: Sendable>(
        durability: Durability,
        class admissionClass: AdmissionClass = .live,
        waitMax: Duration?,
        body: @escaping @Sendable (Connection, inout TopicSet) throws -> Value,
        completion: @escaping @Sendable (Result<(Value, CommitReceipt), any Error>) -> Void
    ) {
        let writer: AccountWriter
        do { writer = try writing() } catch { return completion(.failure(error)) }
        writer.pacer.whenDue(admissionClass) { [self] in
            let deadline = deadline(waitMax)
            let job = WriteJob(
                writer: writer,
                durability: durability,
                deadline: deadline,
                body: body
            ) { [self] result in
                completion(result.mapError { translated($0) })
            }
            _ = writer.submit(job, class: admissionClass, deadline: deadline)
        }
    }

    /// Ends the feeds, finishes what runs and closes every connection. Blocks; does nothing the second time.
    func close() {
        guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        feeds.close()
        readers.close()
        writer?.close()
    }

    private func writing() throws -> AccountWriter {
        // A session that is known to be superseded fails every call the same way (I-13).
        if let reason = ending.reason { throw reason }
        guard let writer else { throw LockkeeperError.accountInactive(token.account) }
        return writer
    }

    private func deadline(_ waitMax: Duration?) -> Deadline {
        Deadline(after: waitMax ?? limits.admissionWaitMax, from: clock.now())
    }

    private func mapped<Value>(_ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch { throw translated(error) }
    }

    private func translated(_ error: any Error) -> any Error {
        let mapped = ErrorMapping.map(error, subject: "account \(token.account)")
        let ends: [LockkeeperError.Code] = [.superseded, .accountRemoved]
        if let known = mapped as? LockkeeperError, ends.contains(known.code) {
            ending.end(known)
        }
        return noting(mapped)
    }
}

/// A write between its call and its admission, so that a cancelled task finds it.
///
/// The handler may run before, while or after the job is put into the line; the mutex makes one
/// order of it.
private final class PendingWrite<Value: Sendable>: Sendable {
    private enum State {
        case created
        case submitted(WriteJob<Value>, AdmissionTicket)
        case cancelled
    }

    private let state = Mutex<State>(.created)

    func start(
        _ job: WriteJob<Value>,
        on writer: AccountWriter,
        class admissionClass: AdmissionClass,
        deadline: Deadline
    ) {
        let isCancelled = state.withLock { state in
            if case .cancelled = state { return true }
            state = .submitted(job, writer.submit(job, class: admissionClass, deadline: deadline))
            return false
        }
        if isCancelled { job.giveUp() }
    }

    func cancel(on writer: AccountWriter) {
        let submitted = state.withLock { state -> (WriteJob<Value>, AdmissionTicket)? in
            defer { state = .cancelled }
            if case .submitted(let job, let ticket) = state { return (job, ticket) }
            return nil
        }
        guard let (job, ticket) = submitted else { return }
        job.cancel()
        if writer.withdraw(ticket) { job.giveUp() }
    }
}

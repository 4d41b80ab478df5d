import Lockkeeper
package import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperState
import LockkeeperTesting
import Synchronization

/// One process of a benchmark.
///
///     opens what it writes to ──▶ says "ready" ──▶ waits to be told when to start ──▶ writes until
///     its time is over ──▶ gives its tally as a line
package struct BenchWorker: Sendable {
    private let assignment: BenchAssignment
    private let root: String
    private let clock = SystemClock()
    // Kept for as long as files are open in it.
    private let zone: FaultZone?

    /// Where the baseline's database lies in a benchmark's folder.
    package static func baselinePath(in root: String) -> String { "\(root)/baseline.db" }
    /// The account that Lockkeeper's side writes to.
    package static let account: AccountID = "bench"
    /// How long either side waits before it gives up.
    private static let waitMax: Duration = .seconds(5)
    /// Batches that an ingester keeps ready, so that the writer never waits for the producer.
    private static let readyBatchCount = 64
    /// Messages between two times that a worker brings the index of texts up to them.
    private static let catchUpMessageCount = 2000
    /// Bytes that a message counts at the most.
    private static let messageByteCountMax = 1024

    /// A worker in a benchmark's folder, given by its canonical path.
    package init(_ assignment: BenchAssignment, root: String) {
        self.assignment = assignment
        self.root = root
        zone = Self.zone(root, assignment.syncDelay)
    }

    /// A zone whose syncs take longer; none where they do not.
    static func zone(_ root: String, _ syncDelay: Duration) -> FaultZone? {
        guard syncDelay > .zero else { return nil }
        let zone = FaultZone(folder: root)
        zone.delaySyncs(by: syncDelay)
        return zone
    }

    /// Does the work. May block the thread that it is called on.
    ///
    /// - Parameters:
    ///   - ready: says that the worker is ready, and returns the instant at which it is to start.
    /// - Throws: ``SimulationError`` or what the store throws.
    package func run(ready: () throws -> MonotonicInstant) async throws -> BenchTally {
        switch (assignment.store, assignment.way) {
        case (.baseline, _): return try runBaseline(ready)
        case (.lockkeeper, .ingest): return try await runIngest(ready)
        case (.lockkeeper, .write): return try await runWrite(ready)
        }
    }

    private var vfs: String? { zone == nil ? nil : FaultZone.vfs }

    private func begin(_ ready: () throws -> MonotonicInstant) throws -> (BenchTally, Deadline) {
        let start = try ready()
        clock.sleep(until: Deadline(at: start))
        let end = start.advanced(by: assignment.time)
        return (BenchTally(from: start, to: end), Deadline(at: end))
    }

    private var rests: Bool { assignment.pause > .zero }

    /// Rests between two writes; not beyond the end.
    private func rest(until end: Deadline) {
        guard rests else { return }
        clock.sleep(until: min(end, Deadline(after: assignment.pause, from: clock.now())))
    }

    // MARK: - The stores

    private func runBaseline(_ ready: () throws -> MonotonicInstant) throws -> BenchTally {
        let writer = try BaselineWriter(
            Self.baselinePath(in: root),
            vfs: vfs,
            number: assignment.number,
            busyTimeout: Self.waitMax,
            durability: assignment.durability,
            effects: assignment.effects
        )
        var (tally, end) = try begin(ready)
        while case let called = clock.now(), !end.hasPassed(at: called) {
            if try writer.write(count: assignment.batchCount, holding: assignment.hold) {
                tally.acknowledge(
                    messageCount: assignment.batchCount,
                    called: rests ? called : nil,
                    at: clock.now()
                )
            } else {
                tally.refuse()
            }
            rest(until: end)
        }
        tally.finish()
        return tally
    }

    private func runWrite(_ ready: () throws -> MonotonicInstant) async throws -> BenchTally {
        let (workspace, store) = try await open()
        var messages = BenchMessages(number: assignment.number)
        var (tally, end) = try begin(ready)
        while case let called = clock.now(), !end.hasPassed(at: called) {
            let events = messages.next(assignment.batchCount)
            do {
                try await write(events, to: store)
                tally.acknowledge(
                    messageCount: events.count,
                    called: rests ? called : nil,
                    at: clock.now()
                )
            } catch let error as LockkeeperError where error.code == .busy {
                tally.refuse()
            }
            rest(until: end)
        }
        tally.finish()
        await workspace.close()
        return tally
    }

    private func write(_ events: [Event], to store: MessageStore) async throws {
        guard assignment.hold > .zero else {
            try await store.ingest(
                events,
                durability: assignment.durability,
                effects: assignment.effects
            )
            return
        }
        let (clock, hold) = (clock, assignment.hold)
        try await store.session.database.write { transaction in
            try store.apply(events, in: transaction)
            clock.sleep(until: Deadline(after: hold, from: clock.now()))
        }
    }

    private func runIngest(_ ready: () throws -> MonotonicInstant) async throws -> BenchTally {
        precondition(!rests && assignment.hold == .zero, "an ingester has a pace of its own")
        let (workspace, store) = try await open()
        var messages = BenchMessages(number: assignment.number)
        let (tally, end) = try begin(ready)
        let counter = Mutex(tally)
        // A refusal ends an ingester, and so does what is to be indexed; the next one goes on.
        while !end.hasPassed(at: clock.now()) {
            let clock = clock
            let ingester = try Ingester(
                store,
                durability: assignment.durability,
                effects: assignment.effects
            ) { stored in
                counter.withLock { tally in
                    tally.acknowledge(messageCount: stored.marks.count, at: clock.now())
                }
            }
            var mark = 0
            while !end.hasPassed(at: clock.now()),
                !assignment.catchesUp || mark < Self.catchUpMessageCount
            {
                mark += 1
                // Why it takes no more stands in its summary.
                guard
                    (try? ingester.submitBlocking(DecodedLine(messages.next()), mark: mark)) != nil
                else { break }
            }
            if let failure = await ingester.finish().failure {
                guard (failure as? LockkeeperError)?.code == .busy else { throw failure }
                counter.withLock { $0.refuse() }
            }
            if assignment.catchesUp { try await store.catchUpSearch() }
        }
        await workspace.close()
        return counter.withLock { tally in
            tally.finish()
            return tally
        }
    }

    private func open() async throws -> (Workspace, MessageStore) {
        var limits = Limits()
        // The count alone cuts batches: what is measured is as large as it is asked for.
        let batchByteCount = assignment.batchCount * Self.messageByteCountMax
        limits.batchEventCountMax = assignment.batchCount
        limits.batchByteCountMax = max(limits.batchByteCountMax, batchByteCount)
        limits.queueEventCountMax = assignment.batchCount * Self.readyBatchCount
        limits.queueByteCountMax = max(
            limits.queueByteCountMax,
            batchByteCount * Self.readyBatchCount
        )
        limits.admissionWaitMax = Self.waitMax
        let workspace = try await Self.open(
            root,
            name: "bench-\(assignment.number)",
            limits: limits,
            vfs: vfs,
            isEncrypted: assignment.isEncrypted
        )
        return (workspace, try MessageStore(try await workspace.session(Self.account)))
    }
}

// What all processes of a benchmark share.
extension BenchWorker {
    /// The database of the account's messages.
    static func databasePath(in root: String) -> String {
        "\(root)/accounts/\(account)/messages-1.db"
    }

    /// Opens the workspace in a benchmark's folder.
    static func open(
        _ folder: String,
        name: String,
        limits: Limits = Limits(),
        clock: any MonotonicClock = SystemClock(),
        vfs: String? = nil,
        isEncrypted: Bool = false
    ) async throws -> Workspace {
        try await Workspace.openApart(
            at: folder,
            name: name,
            schemas: [.messages],
            limits: limits,
            clock: clock,
            vfs: vfs,
            keys: isEncrypted
                ? SecretStoreKeys(FileSecretStore(folder: "\(folder)/keys")) : nil
        )
    }

    /// Makes the workspace with its active account.
    ///
    /// - Parameter statement: what else is made in its database.
    static func makeAccount(
        in folder: String,
        vfs: String? = nil,
        isEncrypted: Bool = false,
        running statement: String? = nil
    ) async throws {
        let workspace = try await open(
            folder,
            name: "bench",
            vfs: vfs,
            isEncrypted: isEncrypted
        )
        try await workspace.addAccount(account)
        let session = try await workspace.activate(account)
        if let statement { try await session.database.write { try $0.execute(statement) } }
        await workspace.close()
    }

    /// Opens the account's messages in a benchmark's folder, and closes them behind what is done.
    static func withStore<Value>(
        in folder: String,
        vfs: String? = nil,
        isEncrypted: Bool = false,
        _ body: (MessageStore) async throws -> Value
    ) async throws -> Value {
        let workspace = try await open(
            folder,
            name: "bench",
            vfs: vfs,
            isEncrypted: isEncrypted
        )
        do {
            let value = try await body(MessageStore(try await workspace.session(account)))
            await workspace.close()
            return value
        } catch {
            await workspace.close()
            throw error
        }
    }
}

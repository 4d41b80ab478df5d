import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperSimulation
import LockkeeperStorage
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

private let isWholeRun = Environment.variable("LOCKKEEPER_TEST_ALL") != nil

/// Receipts that rest on another process's commit, and a power cut right behind them (I-6, 5.2).
///
///     A   commits, and does not sync: "committed"
///     B   is given the same, finds that it is there already, changes nothing and answers "durable"
///         -- the power goes
///
/// What B answered for was written by A. In every image that the disk may hold it must be there.
@Suite("Power cuts: what a process acknowledges is on the disk, whoever wrote it (I-6)")
struct PowerCutTests {
    private static let event = message("m1", seq: 1)

    private static let page = SyncPage(stream: "inbox", after: nil, next: "k1")

    @Test(
        "a message that another process committed without a sync is there when B has answered durable"
    )
    func duplicate() async throws {
        try await cut(
            first: { try await $0.ingest([Self.event], durability: .committed) },
            second: { store in
                let receipt = try await store.ingest([Self.event])
                #expect(receipt.durability == .durable && receipt.commit == nil)
                #expect(receipt.outcomes.duplicate == 1)
            },
            question: "SELECT count(*) FROM lk_message"
        )
    }

    @Test(
        "the cursor that another process moved without a sync is there when B has answered it durably"
    )
    func page() async throws {
        try await cut(
            first: {
                try await $0.ingest([Self.event], closing: Self.page, durability: .committed)
            },
            second: { store in
                let receipt = try await store.ingest([Self.event], closing: Self.page)
                #expect(receipt.durability == .durable && receipt.commit == nil)
                #expect(receipt.cursors == ["inbox": "k1"])
            },
            question: "SELECT count(*) FROM lk_cursor, lk_message WHERE value = 'k1'"
        )
    }

    // What is asked for by this cursor is not sent again from before it.
    @Test("a cursor is on the disk before it is handed out")
    func cursor() async throws {
        try await cut(
            first: {
                try await $0.ingest([Self.event], closing: Self.page, durability: .committed)
            },
            second: { store in
                let cursors = try await store.cursors()
                #expect(cursors == ["inbox": "k1"])
            },
            question: "SELECT count(*) FROM lk_cursor, lk_message WHERE value = 'k1'"
        )
    }

    // M-11, 5.2: nobody is told of a message that a power cut takes away.
    @Test("an effect is handed out once the commit that decided it is on the disk, and its attempt")
    func effect() async throws {
        try await cut(
            first: { try await $0.ingest([Self.event], durability: .committed) },
            second: { store in
                guard let claim = try await store.claimNextEffect() else {
                    Issue.record("nothing to claim")
                    return
                }
                let effect = claim.effect
                #expect(effect.message == "m1" && effect.kind == .notify)
            },
            question: """
                SELECT count(*) FROM lk_effect e JOIN lk_message m ON m.id = e.message
                WHERE e.attempt = 1
                """
        )
    }

    @Test("an item of the outbox is handed out once it is on the disk, and its attempt")
    func outboxItem() async throws {
        let line = EventEncoder.line(Self.event)
        try await cut(
            first: { store in
                try await store.session.database.write(durability: .committed) {
                    try $0.execute(
                        """
                        INSERT INTO lk_outbox (act, conversation_id, client_id, content, created_at)
                        VALUES ('send', 'c', 'k1', ?1, 0)
                        """,
                        .text(line)
                    )
                }
            },
            second: { store in
                guard let claim = try await store.claimNextOutboxItem() else {
                    Issue.record("nothing to claim")
                    return
                }
                let item = claim.item
                #expect(item.clientID == "k1" && item.attempt == 1)
            },
            question: "SELECT count(*) FROM lk_outbox WHERE client_id = 'k1' AND attempt = 1"
        )
    }

    @Test("a write that finds a row of another process's and changes nothing has synced it")
    func anySchema() async throws {
        try await cut(
            first: { store in
                try await store.session.database.write(durability: .committed) {
                    try $0.execute("CREATE TABLE note AS SELECT 1 AS n")
                }
            },
            second: { store in
                let found = try await store.session.database.write { transaction in
                    try transaction.query("SELECT n FROM note") { $0.integer(0) }
                }
                #expect(found.value == [1] && found.receipt.commit == nil)
            },
            question: "SELECT count(*) FROM note"
        )
    }

    // 5.3: what was announced before its sync may be lost, and its number is not given again.
    @Test(
        "a position that the power took gets resync under the next boot, whatever is written then"
    )
    func lostPosition() async throws {
        try await TestWorkspace.with { test in
            let recording = try await Recording(test)
            let zone = try recording.begin()
            let feed = recording.second.session.changes(
                after: try await recording.second.session.database.head()
            ).makeAsyncIterator()
            try await recording.first.ingest([Self.event], durability: .committed)
            let heard = try #require(try await feed.next())
            #expect(!heard.isDurable)
            zone.mark(1)
            let recorded = recording.end()
            let token = recording.first.session.token
            try Self.withStore(of: recorded, cutAt: recorded.steps.count, .lost) { path in
                let environment = StoreEnvironment(
                    clock: SystemClock(),
                    wallClock: SystemWallClock(),
                    bootID: BootID(high: 0, low: 7),
                    jitterSeed: 1
                )
                let reader = try StoreReader(
                    path: path,
                    account: token.account,
                    environment: environment,
                    busyDeadline: .never
                )
                let writer = try StoreWriter(
                    path: path,
                    account: token.account,
                    origin: "next",
                    environment: environment,
                    busyDeadline: .never
                )
                #expect(try reader.head().position.commit < heard.last, "the power took it")
                for number in 0..<3 {
                    if number > 0 {
                        let written = try writer.transaction(
                            token: token,
                            deadline: .never,
                            isCancelled: { false }
                        ) { connection, _ in
                            try connection.execute("INSERT INTO settled VALUES (1)")
                        }
                        let commits = try #require(written.change?.commits)
                        #expect(!commits.contains(heard.last))
                    }
                    guard
                        case .resync = try reader.catchUp(after: heard.position, limit: 10)
                    else {
                        Issue.record("the lost position was continued after \(number) commits")
                        continue
                    }
                }
                try writer.close()
                try reader.close()
            }
        }
    }

    // Syncs that complete several waiters, checkpoints between them, and every moment of it.
    @Test(
        "at any moment of two processes' work all that was acknowledged until then is on the disk"
    )
    func crowd() async throws {
        var limits = Limits()
        limits.checkpointFrameCountWithoutHost = 40
        try await TestWorkspace.with(limits: limits) { test in
            let recording = try await Recording(test)
            try await recording.first.session.database.write {
                try $0.execute("CREATE TABLE entry (id INTEGER PRIMARY KEY)")
            }
            let zone = try recording.begin()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for writer in 0..<8 {
                    let store = writer < 4 ? recording.first : recording.second
                    group.addTask {
                        for row in (writer * 100 + 1)...(writer * 100 + 12) {
                            try await store.session.database.write {
                                try $0.execute("INSERT INTO entry VALUES (?1)", SQLValue(row))
                            }
                            zone.mark(row)
                        }
                    }
                }
                try await group.waitForAll()
            }
            let recorded = recording.end()
            let count = recorded.steps.count
            #expect(recorded.marks(before: count).count == 96)
            let cuts = stride(from: count, to: 0, by: -max(1, count / (isWholeRun ? 300 : 25)))
            for cut in cuts {
                for fate in [DiskImage.Fate.lost, .drawn(seed: UInt64(cut))] {
                    let rows = try Self.withImage(of: recorded, cutAt: cut, fate) {
                        try $0.rowNumbers()
                    }
                    let lost = Set(recorded.marks(before: cut)).subtracting(rows)
                    #expect(lost.isEmpty, "cut at \(cut) of \(count), \(fate): \(lost)")
                }
            }
        }
    }

    // Images in which a wrong program loses nothing are worth nothing.
    @Test("a receipt that came before its sync is seen to be lost")
    func acknowledgedBeforeSync() async {
        await #expect(processExitsWith: .exitCode(17)) {
            PlantedDefect.acknowledgeBeforeSync.plant()
            let isSeen = try await PowerCutTests.isReceiptLost(afterCommitOfAnother: false)
            CurrentProcess.exit(isSeen ? 17 : 0)
        }
    }

    @Test("a receipt for what another process has committed, without a sync, is seen to be lost")
    func duplicateUnsynced() async {
        await #expect(processExitsWith: .exitCode(17)) {
            PlantedDefect.duplicateAcknowledgedUnsynced.plant()
            let isSeen = try await PowerCutTests.isReceiptLost(afterCommitOfAnother: true)
            CurrentProcess.exit(isSeen ? 17 : 0)
        }
    }

    /// Whether what B has a durable receipt for is missing in an image.
    private static func isReceiptLost(afterCommitOfAnother isKnown: Bool) async throws -> Bool {
        let count = Monitor(0)
        try await TestWorkspace.with { test in
            let recording = try await Recording(test)
            let zone = try recording.begin()
            if isKnown { try await recording.first.ingest([event], durability: .committed) }
            zone.mark(1)
            try await recording.second.ingest([event])
            zone.mark(2)
            let losing = try losingFates(of: recording.end(), "SELECT count(*) FROM lk_message")
            count.withLock { $0 = losing.count }
        }
        return count.withLock { $0 } > 0
    }

    /// Records what two processes do to the store, cuts the power after each step and looks what is
    /// there.
    ///
    /// - Parameters:
    ///   - first: what A does; it acknowledges nothing as durable.
    ///   - second: what B does; when it returns, B has acknowledged.
    ///   - question: gives 1 where what B acknowledged is there.
    private func cut<Ignored>(
        first: (MessageStore) async throws -> Ignored,
        second: (MessageStore) async throws -> Void,
        question: String
    ) async throws {
        try await TestWorkspace.with { test in
            let recording = try await Recording(test)
            let zone = try recording.begin()
            _ = try await first(recording.first)
            zone.mark(1)
            try await second(recording.second)
            zone.mark(2)
            try judge(recording.end(), question)
        }
    }

    private func judge(_ recorded: RecordedWrites, _ question: String) throws {
        let losing = try Self.losingFates(of: recorded, question)
        #expect(losing.isEmpty, "what was acknowledged is lost in \(losing.count) images")
        // Where B has not answered it may be lost; if it never is, these images prove nothing.
        let before = recorded.steps.firstIndex(of: .mark(1)) ?? 0
        let early = try Self.answer(to: question, of: recorded, cutAt: before, .lost)
        #expect(early != 1, "A's commit is on the disk before anybody synced it")
    }

    /// The images of the end that do not answer 1.
    private static func losingFates(
        of recorded: RecordedWrites,
        _ question: String
    ) throws -> [DiskImage.Fate] {
        let seeds = (0..<40).map { DiskImage.Fate.drawn(seed: $0) }
        return try ([.lost, .kept] + seeds).filter { fate in
            try answer(to: question, of: recorded, cutAt: recorded.steps.count, fate) != 1
        }
    }

    /// What an image answers; `nil` where it has no such table.
    private static func answer(
        to question: String,
        of recorded: RecordedWrites,
        cutAt end: Int,
        _ fate: DiskImage.Fate
    ) throws -> Int64? {
        try withImage(of: recorded, cutAt: end, fate) { connection in
            try? connection.value(question)?.integer
        }
    }

    /// Opens what a disk may hold after a power cut, which must be sound.
    private static func withImage<Answer>(
        of recorded: RecordedWrites,
        cutAt end: Int,
        _ fate: DiskImage.Fate,
        _ body: (Connection) throws -> Answer
    ) throws -> Answer {
        try withStore(of: recorded, cutAt: end, fate) { path in
            let connection = try PlainDatabase.open(path)
            defer { try? connection.close() }
            #expect(try connection.integrity() == "ok")
            return try body(connection)
        }
    }

    /// Makes the messages' files as a disk may hold them after a power cut.
    private static func withStore<Answer>(
        of recorded: RecordedWrites,
        cutAt end: Int,
        _ fate: DiskImage.Fate,
        _ body: (_ path: String) throws -> Answer
    ) throws -> Answer {
        let folder = try TemporaryDirectory()
        try DiskImage(of: recorded, cutAt: end, fate: fate).write(to: folder.path)
        let names = try FileSystem.list(folder.path)
        let name = try #require(names.first { $0.hasSuffix(".db") && $0.hasPrefix("messages") })
        return try body(folder.file(name))
    }
}

/// Two processes that share the account "alice", and what they write to its messages.
private struct Recording {
    let first: MessageStore
    let second: MessageStore
    private let zone: FaultZone
    private let path: String
    private let initial = Monitor<[String: [UInt8]]>([:])

    init(_ test: TestWorkspace) async throws {
        zone = FaultZone(folder: test.root)
        let app = try await test.process("app", vfs: FaultZone.vfs)
        try await app.addAccount("alice")
        first = try MessageStore(try await app.activate("alice"))
        // The first write of a boot brings syncs of its own.
        try await first.session.database.write { try $0.execute("CREATE TABLE settled (n)") }
        let helper = try await test.process("helper", vfs: FaultZone.vfs)
        second = try MessageStore(try await helper.session("alice"))
        path = try SharedEntries.messagesPath(in: test.root)
    }

    /// Begins, at a moment at which everything is synced.
    func begin() throws -> FaultZone {
        let contents = try Dictionary(
            uniqueKeysWithValues: [path, path + "-wal"].map {
                ($0, try FileSystem.contents(of: $0))
            }
        )
        initial.withLock { $0 = contents }
        zone.beginRecording()
        return zone
    }

    func end() -> RecordedWrites { zone.endRecording(initial: initial.withLock { $0 }) }
}

import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperSimulation
import LockkeeperTesting
import Testing

/// Receipts that rest on another process's commit, and a power cut right behind them (I-6, 5.2).
///
///     A   commits, and does not sync: "committed"
///     B   is given the same, finds that it is there already, changes nothing and answers "durable"
///         -- the power goes
///
/// What B answered for was written by A. In every image that the disk may hold it must be there.
@Suite("Power cuts: what a process acknowledges is on the disk, whoever wrote it (I-6)")
struct PowerCutTests {
    private static let message = Event.message(
        MessageEvent(
            conversation: "c",
            id: "m1",
            sequence: 1,
            sender: "bob",
            sentAt: instant,
            body: "kept",
            version: 1
        )
    )

    private static var instant: Timestamp {
        do {
            return try Timestamp(millisecondsSince1970: 1_000)
        } catch {
            preconditionFailure("a second after 1970 lies within the format: \(error)")
        }
    }

    private static let page = SyncPage(stream: "inbox", after: nil, next: "k1")

    @Test(
        "a message that another process committed without a sync is there when B has answered durable"
    )
    func message() async throws {
        try await cut(
            first: { try await $0.ingest([Self.message], durability: .committed) },
            second: { store in
                let receipt = try await store.ingest([Self.message])
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
                try await $0.ingest([Self.message], closing: Self.page, durability: .committed)
            },
            second: { store in
                let receipt = try await store.ingest([Self.message], closing: Self.page)
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
                try await $0.ingest([Self.message], closing: Self.page, durability: .committed)
            },
            second: { store in
                let cursors = try await store.cursors()
                #expect(cursors == ["inbox": "k1"])
            },
            question: "SELECT count(*) FROM lk_cursor, lk_message WHERE value = 'k1'"
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
            let zone = FaultZone(folder: test.root)
            let app = try await test.process("app", vfs: FaultZone.vfs)
            try await app.addAccount("alice")
            let a = try MessageStore(try await app.activate("alice"))
            // The first write of a boot brings syncs of its own.
            try await a.session.database.write { try $0.execute("CREATE TABLE settled (n)") }
            let helper = try await test.process("helper", vfs: FaultZone.vfs)
            let b = try MessageStore(try await helper.session("alice"))
            let path = try SharedEntries.messagesPath(in: test.root)
            let initial = try Dictionary(
                uniqueKeysWithValues: [path, path + "-wal"].map {
                    ($0, try FileSystem.contents(of: $0))
                }
            )
            zone.beginRecording()
            _ = try await first(a)
            zone.mark(1)
            try await second(b)
            zone.mark(2)
            let recorded = zone.endRecording(initial: initial)
            try judge(recorded, question)
        }
    }

    private func judge(_ recorded: RecordedWrites, _ question: String) throws {
        let end = recorded.steps.count
        let seeds = (0..<40).map { DiskImage.Fate.drawn(seed: $0) }
        for fate in [.lost, .kept] + seeds {
            #expect(try answer(to: question, of: recorded, cutAt: end, fate) == 1, "\(fate)")
        }
        // Where B has not answered it may be lost; if it never is, these images prove nothing.
        let before = recorded.steps.firstIndex(of: .mark(1)) ?? 0
        let early = try answer(to: question, of: recorded, cutAt: before, .lost)
        #expect(early != 1, "A's commit is on the disk before anybody synced it")
    }

    /// What an image answers; `nil` where it has no such table.
    private func answer(
        to question: String,
        of recorded: RecordedWrites,
        cutAt end: Int,
        _ fate: DiskImage.Fate
    ) throws -> Int64? {
        let folder = "/tmp/lk-image-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
        try FileSystem.makeDirectory(folder, mode: 0o700)
        defer { try? FileSystem.removeTree(folder) }
        try DiskImage(of: recorded, cutAt: end, fate: fate).write(to: folder)
        let names = try FileSystem.list(folder)
        let name = try #require(names.first { $0.hasSuffix(".db") && $0.hasPrefix("messages") })
        let connection = try PlainDatabase.open("\(folder)/\(name)")
        defer { try? connection.close() }
        #expect(try connection.integrity() == "ok")
        return try? connection.value(question)?.integer
    }
}

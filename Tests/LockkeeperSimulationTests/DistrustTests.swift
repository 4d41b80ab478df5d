import Lockkeeper
import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperSimulation
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

@Suite("After a failed sync nobody acknowledges anything until the copy is published (5.2)")
struct DistrustTests {
    private struct Store {
        let test: TestWorkspace
        let zone: FaultZone
        let app: Workspace
        let alice: Session

        func process(_ name: String) async throws -> Workspace {
            try await test.process(name, vfs: FaultZone.vfs)
        }

        /// The names of the account's files.
        var files: [String] {
            get throws {
                try FileSystem.list("\(test.root)/accounts/alice").filter { $0.hasSuffix(".db") }
                    .sorted()
            }
        }
    }

    private func withStore(
        limits: Limits = Limits(),
        _ body: (Store) async throws -> Void
    ) async throws {
        try await TestWorkspace.with(schemas: [], limits: limits) { test in
            let zone = FaultZone(folder: test.root)
            let app = try await test.process("app", vfs: FaultZone.vfs)
            try await app.addAccount("alice")
            let alice = try await app.activate("alice")
            try await alice.database.write { try $0.execute("CREATE TABLE note (n INTEGER)") }
            try await body(Store(test: test, zone: zone, app: app, alice: alice))
        }
    }

    private func add(_ number: Int64, _ session: Session) async throws {
        try await session.database.write { transaction in
            try transaction.execute("INSERT INTO note VALUES (?1)", SQLValue(number))
        }
    }

    private func numbers(_ session: Session) async throws -> [Int64] {
        try await session.database.read { transaction in
            try transaction.query("SELECT n FROM note ORDER BY n") { $0.integer(0) }
        }
    }

    private func expectIOFailed(_ body: () async throws -> Void) async {
        let error = await #expect(throws: LockkeeperError.self) { try await body() }
        #expect(error?.code == .ioFailed, "\(error as Any)")
    }

    @Test("other processes fail as well, whose own syncs succeed; a new one copies and goes on")
    func everybody() async throws {
        try await withStore { store in
            try await add(1, store.alice)
            let helper = try await store.process("helper").session("alice")
            try await add(2, helper)
            store.zone.fail(.sync, of: .log, after: 0, times: 1, with: .ioError)
            await expectIOFailed { try await add(3, store.alice) }
            store.zone.heal(.sync, of: .log)
            await expectIOFailed { try await add(4, helper) }
            await expectIOFailed { try await add(5, store.alice) }
            let problem = try await store.app.status().accounts.first?.problem
            #expect(problem?.contains("a sync of this file has failed") == true)
            let findings = try await store.app.inspect("alice")
            #expect(findings.map(\.code).contains("sync-failed"))
            // Reads go on: what the kernel shows is there to be read.
            #expect(try await numbers(helper).starts(with: [1, 2]))
            #expect(try store.files == ["messages-1.db", "settings-1.db"])

            let newcomer = try await store.process("newcomer").session("alice")
            #expect(try store.files == ["messages-2.db", "settings-2.db"])
            #expect(newcomer.token.generation > helper.token.generation)
            #expect(try await numbers(newcomer).starts(with: [1, 2]))
            try await add(6, newcomer)
            for session in [helper, store.alice] {
                let error = await #expect(throws: LockkeeperError.self) {
                    try await add(7, session)
                }
                #expect(error?.code == .superseded)
            }
            let again = try await store.app.session("alice")
            try await add(8, again)
            #expect(try await numbers(again).suffix(2) == [6, 8])
            #expect(
                try FileSystem.list("\(store.test.root)/accounts/alice/damaged").contains(
                    "messages-1.db"
                )
            )
        }
    }

    @Test("a checkpoint whose sync of the database fails is no different")
    func checkpoint() async throws {
        var limits = Limits()
        limits.checkpointFrameCountWithoutHost = 10
        try await withStore(limits: limits) { store in
            store.zone.fail(.sync, of: .database, after: 0, times: nil, with: .ioError)
            var (number, failed) = (Int64(0), false)
            while !failed && number < 3_000 {
                number += 1
                do { try await add(number, store.alice) } catch let error as LockkeeperError {
                    #expect(error.code == .ioFailed)
                    failed = true
                }
            }
            #expect(failed, "\(store.zone.callCount(.sync, of: .database)) syncs of the database")
            store.zone.heal(.sync, of: .database)
            let again = try await store.process("newcomer").session("alice")
            #expect(again.token.generation > store.alice.token.generation)
            try await add(-1, again)
        }
    }

    @Test("while the disk does not take the copy, the account stays as it is and says so")
    func brokenDisk() async throws {
        try await withStore { store in
            try await add(1, store.alice)
            store.zone.fail(.sync, of: .log, after: 0, times: nil, with: .ioError)
            await expectIOFailed { try await add(2, store.alice) }
            await expectIOFailed { _ = try await store.process("new").session("alice") }
            #expect(try numbersOfFiles(store) == ["messages-1.db", "settings-1.db"])
            store.zone.heal(.sync, of: .log)
            let again = try await store.app.session("alice")
            try await add(3, again)
            #expect(try await numbers(again).first == 1)
        }
    }

    /// The current files: a copy that failed is a leftover until the next one moves it away.
    private func numbersOfFiles(_ store: Store) throws -> [String] {
        try store.files.filter { $0.contains("-1.db") }
    }

    @Test("an account whose files are not trusted can be signed out of, and in again")
    func switching() async throws {
        try await withStore { store in
            try await add(1, store.alice)
            store.zone.fail(.sync, of: .log, after: 0, times: 1, with: .ioError)
            await expectIOFailed { try await add(2, store.alice) }
            try await store.app.signOut("alice")
            let again = try await store.app.activate("alice")
            #expect(try await numbers(again).first == 1)
            try await add(3, again)
        }
    }

    // Linux tells a failed sync once. A process that is killed between the kernel's answer and its
    // look at it takes the answer along.
    @Test(
        "a sync that somebody died in is settled by the next one who opens, before it acknowledges",
        arguments: [true, false]
    )
    func orphan(isMarked: Bool) async throws {
        try await withStore { store in
            try await add(1, store.alice)
            await store.app.close()
            let path = "\(store.test.root)/accounts/alice/messages-1.db"
            let initial = try Dictionary(
                uniqueKeysWithValues: [path, path + "-wal"].map {
                    ($0, try FileSystem.contents(of: $0))
                }
            )
            store.zone.beginRecording()
            let victim = try await store.process("victim")
            try await add(2, victim.session("alice"))
            await victim.close()
            store.zone.mark(1)
            if isMarked { try leaveMark(in: store, slot: 9) }
            let next = try await store.process("next")
            try await add(3, next.session("alice"))
            await next.close()
            let recorded = failingSyncsBeforeTheMark(store.zone.endRecording(initial: initial))
            // Without the mark nobody knows of it: then this image shows that there is something to
            // settle.
            #expect(try (sum(in: recorded) == 1 + 2 + 3) == isMarked)
        }
    }

    /// What happened, had the victim's sync failed and had it died before it looked.
    private func failingSyncsBeforeTheMark(_ recorded: RecordedWrites) -> RecordedWrites {
        var recorded = recorded
        let mark = recorded.steps.firstIndex(of: .mark(1)) ?? 0
        for (index, step) in recorded.steps[..<mark].enumerated() {
            guard case .sync(let path, let count, _) = step else { continue }
            recorded.steps[index] = .sync(path, coveredCount: count, succeeded: false)
        }
        return recorded
    }

    /// The sum of the notes on a disk that lost all that it may lose.
    private func sum(in recorded: RecordedWrites) throws -> Int64? {
        let folder = try TemporaryDirectory()
        try DiskImage(of: recorded, cutAt: recorded.steps.count, fate: .lost)
            .write(to: folder.path)
        let connection = try PlainDatabase.open(folder.file("messages-1.db"))
        defer { try? connection.close() }
        return try connection.value("SELECT sum(n) FROM note")?.integer
    }

    private func leaveMark(in store: Store, slot: Int) throws {
        let file = try FileDescriptor(
            opening: "\(store.test.root)/accounts/alice/account.locks",
            .readWrite
        )
        try [UInt8(1)].withUnsafeBytes { try file.write($0, at: Int64(4096 + slot * 256 + 240)) }
    }
}

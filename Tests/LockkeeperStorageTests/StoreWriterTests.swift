import Glibc
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import LockkeeperTestSupport
import Testing

@Suite("A transaction checks the fence and leaves one row in the log, or leaves nothing (I-2, I-3)")
struct StoreWriterTests {
    private let store: TestStore

    init() throws { store = try TestStore() }

    @Test("a commit has the next number, names its rows and topics, and says what came before")
    func commit() throws {
        let writer = try store.writer(origin: "push-helper")
        for number in 1...3 as ClosedRange<Int64> {
            let outcome = try TestStore.insert(topic: [9, 0], with: writer)
            #expect(outcome.value == number)
            #expect(outcome.head == CommitNumber(number))
            let change = try #require(outcome.change)
            #expect(change.commits == CommitNumber(number)...CommitNumber(number))
            #expect(change.predecessor == CommitNumber(number - 1))
            let rows = RowRanges([number...number])
            #expect(change.tables == [TableChange(name: "item", rows: rows)])
            #expect(change.topics == [[9, 0]])
            #expect(change.origin == "push-helper" && change.generation == TestStore.first)
        }
        #expect(try store.count("lk_commit") == 3)
        try store.expectSound()
    }

    @Test("a transaction that changes nothing gives its value, no change and no row")
    func nothingChanged() throws {
        let writer = try store.writer()
        try TestStore.insert(with: writer)
        let outcome = try writer.transaction(
            token: TestStore.token,
            deadline: .never,
            isCancelled: { false },
            body: { connection, _ in
                try connection.execute("UPDATE item SET body = 1 WHERE id = 77")
                return 5
            }
        )
        #expect(outcome.value == 5 && outcome.change == nil)
        #expect(outcome.head == CommitNumber(1), "what makes it a duplicate must become durable")
        #expect(try store.count("lk_commit") == 1)
    }

    @Test(
        "a token that is not current is refused inside the transaction, which leaves nothing",
        arguments: [
            (2, .active, 1), (2, .retired, 1), (2, .retired, 2), (5, .active, 6),
        ] as [(Int64, AccountState, Int64)]
    )
    func superseded(current: Int64, state: AccountState, held: Int64) throws {
        let writer = try store.writer()
        try writer.advanceFence(to: Generation(current), state, deadline: .never)
        var hasRun = false
        let token = FencingToken(account: TestStore.alice, generation: Generation(held))
        let error = #expect(throws: StorageError.self) {
            try writer.transaction(token: token, deadline: .never, isCancelled: { false }) {
                _,
                _ in hasRun = true
            }
        }
        guard case .superseded(token, Generation(current), state) = error else {
            Issue.record("not superseded but \(String(describing: error))")
            return
        }
        #expect(!hasRun)
        #expect(try store.count("item") == 0)
        #expect(try store.count("lk_commit") == 0)
        #expect(writer.connection.isInAutocommit)
    }

    @Test("a fence only rises")
    func fenceRises() throws {
        let writer = try store.writer()
        try writer.advanceFence(to: Generation(4), .retired, deadline: .never)
        for generation in [Generation(4), Generation(3)] {
            #expect(throws: StorageError.self) {
                try writer.advanceFence(to: generation, .active, deadline: .never)
            }
        }
        let fence = try Fence.read(from: try store.foreign(), path: store.path)
        #expect(fence.generation == Generation(4) && fence.state == .retired)
    }

    // B01, B06: a stale snapshot stays stale, so the closure begins anew, whole.
    @Test("a stale snapshot in the middle of a batch runs the whole closure again")
    func restart() throws {
        let writer = try store.writer()
        var runCount = 0
        let outcome = try writer.transaction(
            token: TestStore.token,
            deadline: .never,
            isCancelled: { false },
            body: { connection, _ in
                runCount += 1
                for item in 0..<100 {
                    try connection.execute("INSERT INTO item(body) VALUES (1)")
                    if item == 60, runCount < 3 { throw Self.staleSnapshot }
                }
            }
        )
        #expect(runCount == 3)
        #expect(outcome.change?.tables.first?.rows == RowRanges([1...100]))
        #expect(try store.count("item") == 100)
        #expect(try store.count("lk_commit") == 1)
        try store.expectSound()
    }

    @Test("a snapshot that is stale each time ends as an error, with nothing written")
    func restartsEnd() throws {
        let writer = try store.writer()
        let error = #expect(throws: SQLiteError.self) {
            try writer.transaction(
                token: TestStore.token,
                deadline: .never,
                isCancelled: { false },
                body: { connection, _ in
                    try connection.execute("INSERT INTO item(body) VALUES (1)")
                    throw Self.staleSnapshot
                }
            )
        }
        #expect(error?.code == .busySnapshot)
        #expect(try store.count("item") == 0)
    }

    private static let staleSnapshot = SQLiteError(
        code: .busySnapshot,
        message: "stale",
        operation: .step
    )

    // B82
    @Test("a full disk leaves no row of the batch and no commit, and the same batch works later")
    func diskFull() throws {
        let writer = try store.writer()
        func batch() throws {
            _ = try writer.transaction(
                token: TestStore.token,
                deadline: .never,
                isCancelled: { false },
                body: { connection, _ in
                    for _ in 0..<100 {
                        try connection.execute("INSERT INTO item(body) VALUES (randomblob(3000))")
                    }
                }
            )
        }
        try TestStore.insert(with: writer)
        try writer.connection.execute("PRAGMA max_page_count = 40")
        let error = #expect(throws: SQLiteError.self) { try batch() }
        #expect(error?.code == .full)
        #expect(try store.count("item") == 1)
        #expect(try store.count("lk_commit") == 1)
        try writer.connection.execute("PRAGMA max_page_count = 100000")
        try batch()
        #expect(try store.count("item") == 101)
        #expect(try store.count("lk_commit") == 2)
        try store.expectSound()
    }

    @Test("cancelling counts until the commit begins")
    func cancel() throws {
        let writer = try store.writer()
        var isCancelled = false
        let error = #expect(throws: StorageError.self) {
            try writer.transaction(
                token: TestStore.token,
                deadline: .never,
                isCancelled: { isCancelled },
                body: { connection, _ in
                    try connection.execute("INSERT INTO item(body) VALUES (1)")
                    isCancelled = true
                }
            )
        }
        guard case .cancelled = error else {
            Issue.record("not cancelled but \(String(describing: error))")
            return
        }
        #expect(try store.count("item") == 0)
    }

    @Test("a closure cannot commit half of itself, and what it did is rolled back")
    func closureCommits() throws {
        let writer = try store.writer()
        let error = #expect(throws: SQLiteError.self) {
            try writer.transaction(
                token: TestStore.token,
                deadline: .never,
                isCancelled: { false },
                body: { connection, _ in
                    try connection.execute("INSERT INTO item(body) VALUES (1); COMMIT")
                }
            )
        }
        #expect(error?.refusal == .transactionControl)
        #expect(try store.count("item") == 0)
        try TestStore.insert(with: writer)
    }

    @Test(
        "a commit into files that were replaced or removed is an error and no silent success",
        arguments: ["", "-wal", "-shm"],
        [true, false]
    )
    func fileReplaced(suffix: String, anotherStands: Bool) throws {
        let writer = try store.writer()
        try TestStore.insert(with: writer)
        try writer.checkFiles()
        let path = store.path + suffix
        #expect(rename(path, path + ".moved") == 0)
        if anotherStands { close(open(path, O_CREAT | O_RDWR, 0o600)) }
        let error = #expect(throws: StorageError.self) {
            // SQLite itself is content. An index that was exchanged is looked for before it is
            // touched, because one that was cut would end the process (B31).
            try TestStore.insert(with: writer)
            #expect(suffix != "-shm")
            try writer.checkFiles()
        }
        guard case .fileReplaced(path) = error else {
            Issue.record("not replaced but \(String(describing: error))")
            return
        }
    }

    @Test("a foreign program's transaction is waited for until the deadline and no longer")
    func foreignWriter() async throws {
        try await onOwnThread { [store] in
            let writer = try store.writer()
            let foreign = try store.foreign()
            try foreign.begin(.immediate)
            let deadline = Deadline(after: .milliseconds(20), from: SystemClock().now())
            let error = #expect(throws: StorageError.self) {
                try writer.transaction(
                    token: TestStore.token,
                    deadline: deadline,
                    isCancelled: { false },
                    body: { _, _ in }
                )
            }
            #expect(error?.isBusy == true)
            #expect(SystemClock().now() >= deadline.instant)
            foreign.rollBack()
            try TestStore.insert(with: writer)
        }
    }

    @Test("a store is not opened for another account (I-13)")
    func wrongAccount() throws {
        let error = #expect(throws: StorageError.self) {
            try StoreWriter(
                path: store.path,
                account: "bob",
                origin: "test",
                environment: TestStore.environment(boot: 1),
                busyDeadline: .never
            )
        }
        guard case .wrongAccount(_, "bob", TestStore.alice) = error else {
            Issue.record("not the wrong account but \(String(describing: error))")
            return
        }
    }

    @Test("topics that cannot be written exactly, none, and too many all become any")
    func topics() throws {
        let writer = try store.writer()
        let cases: [([[UInt8]], [[UInt8]]?)] = [
            ([], nil), ([[1, 0, 2], [0]], [[0], [1, 0, 2]]), ([[0xff]], nil),
            ((0..<65).map { [UInt8($0)] }, nil),
        ]
        for (named, expected) in cases {
            let outcome = try writer.transaction(
                token: TestStore.token,
                deadline: .never,
                isCancelled: { false },
                body: { connection, topics in
                    try connection.execute("INSERT INTO item(body) VALUES (1)")
                    for topic in named { topics.insert(topic) }
                }
            )
            let after = Position(
                store: writer.store,
                commit: CommitNumber(outcome.head.rawValue - 1)
            )
            guard case .ranges(let ranges, _) = try store.reader().catchUp(after: after, limit: 9)
            else {
                Issue.record("a row of the log was not found")
                return
            }
            #expect(ranges.map(\.topics) == [expected])
        }
    }
}

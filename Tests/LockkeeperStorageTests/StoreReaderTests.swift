import LockkeeperDomain
import LockkeeperSQLite
import LockkeeperStorage
import Testing

@Suite("Catching up gives every commit after a position, or says that it cannot (I-7)")
struct StoreReaderTests {
    private static let jump: Int64 = 1 << 32
    private let store: TestStore

    /// A log of the commits 2, jump + 2 and jump + 3, with its floor at 1.
    init() throws {
        store = try TestStore()
        let writer = try store.writer(boot: 1)
        for _ in 1...2 { try TestStore.insert(with: writer) }
        try TestStore.insert(with: try store.writer(boot: 2))
        try store.foreign().execute(
            "DELETE FROM lk_commit WHERE number = 1; UPDATE lk_fence SET floor = 1"
        )
    }

    private func position(_ number: Int64) throws -> Position {
        Position(store: try #require(TestStore.identity), commit: CommitNumber(number))
    }

    @Test(
        "positions of the log and its floor are continued, each range naming its predecessor",
        arguments: [
            (1, [2, jump + 2, jump + 3]), (2, [jump + 2, jump + 3]), (jump + 2, [jump + 3]),
            (jump + 3, []),
        ] as [(Int64, [Int64])]
    )
    func continued(after number: Int64, expected: [Int64]) throws {
        let answer = try store.reader().catchUp(after: try position(number), limit: 100)
        guard case .ranges(let ranges, let head) = answer else {
            Issue.record("a resync was asked for")
            return
        }
        #expect(ranges.map(\.last.rawValue) == expected)
        #expect(ranges.map(\.predecessor.rawValue) == Array(([number] + expected).dropLast()))
        #expect(head == (try position(Self.jump + 3)))
        #expect(ranges.allSatisfy { !$0.isDurable })
    }

    // B65
    @Test(
        "positions before the floor, in a jump and behind the head get a resync",
        arguments: [0, 3, jump, jump + 1, jump + 4, .max] as [Int64]
    )
    func resync(after number: Int64) throws {
        let answer = try store.reader().catchUp(after: try position(number), limit: 100)
        let expected = StoreReader.CatchUp.resync(
            head: try position(Self.jump + 3),
            oldest: try position(1)
        )
        #expect(answer == expected)
    }

    @Test("a position of another store gets a resync although the number stands in this log")
    func otherStore() throws {
        let other = try #require(StoreIdentity(bytes: Array(repeating: 7, count: 16)))
        let position = Position(store: other, commit: CommitNumber(2))
        guard case .resync = try store.reader().catchUp(after: position, limit: 1) else {
            Issue.record("another store's position was continued")
            return
        }
    }

    @Test("pieces put together are the whole, and following ranges can be merged")
    func limited() throws {
        let reader = try store.reader()
        var at = try position(1)
        var whole: ChangeRange?
        for _ in 0..<3 {
            guard case .ranges(let ranges, _) = try reader.catchUp(after: at, limit: 1) else {
                Issue.record("a resync was asked for")
                return
            }
            #expect(ranges.count == 1)
            at = ranges[0].position
            if whole == nil { whole = ranges[0] } else { whole?.merge(ranges[0]) }
        }
        #expect(whole?.last == CommitNumber(Self.jump + 3))
        #expect(whole?.tables == [TableChange(name: "item", rows: RowRanges([2...3]))])
    }

    @Test("a row that cannot be read is an error that names it, and never left out")
    func malformed() throws {
        try store.foreign().execute("UPDATE lk_commit SET tables = '[{]' WHERE number = 2")
        let error = #expect(throws: StorageError.self) {
            try store.reader().catchUp(after: try position(1), limit: 100)
        }
        guard case .malformedCommit(CommitNumber(2)) = error else {
            Issue.record("not malformed but \(String(describing: error))")
            return
        }
    }

    @Test("a read sees one snapshot, under a token that is current in it (I-13)")
    func read() throws {
        let reader = try store.reader()
        let writer = try store.writer(boot: 2)
        let counts = try reader.read(token: TestStore.token, deadline: .never) { connection in
            let before = try connection.value("SELECT count(*) FROM item")
            try TestStore.insert(with: writer)
            return (before, try connection.value("SELECT count(*) FROM item"))
        }
        #expect(counts.0 == 3 && counts.1 == 3)
        let before = try reader.dataVersion()
        try writer.advanceFence(to: Generation(2), .retired, deadline: .never)
        #expect(try reader.dataVersion() != before)
        let error = #expect(throws: StorageError.self) {
            try reader.read(token: TestStore.token, deadline: .never) { _ in }
        }
        guard case .superseded = error else {
            Issue.record("not superseded but \(String(describing: error))")
            return
        }
        let head = try reader.head()
        #expect(head.position == (try position(Self.jump + 4)), "the log can still be read")
        #expect(head.generation == Generation(2) && head.state == .retired)
    }

    @Test("a reader cannot write, whatever its closure says")
    func readOnly() throws {
        #expect(throws: SQLiteError.self) {
            try store.reader().read(token: TestStore.token, deadline: .never) { connection in
                try connection.execute("DELETE FROM item")
            }
        }
    }
}

import LockkeeperDomain
import LockkeeperSQLite
import LockkeeperStorage
import Testing

@Suite("What a commit-log row says comes back as it was, or as more, never as less (I-7)")
struct CommitRowTests {
    private let store: TestStore

    init() throws { store = try TestStore(migrations: []) }

    @Test("tables of any name, rows of any size and topics of any bytes survive the log")
    func anything() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var generator = Generator(state: seed)
        let writer = try store.writer()
        for round in 0..<200 {
            let name = Self.names[round % Self.names.count]
            let row = Self.rows[Int.random(in: 0..<Self.rows.count, using: &generator)]
            let topic = (0..<Int.random(in: 1...8, using: &generator)).map { _ in
                Self.bytes[Int.random(in: 0..<Self.bytes.count, using: &generator)]
            }
            let quoted = "\"" + name.replacing("\"", with: "\"\"") + "\""
            let outcome = try writer.transaction(
                token: TestStore.token,
                deadline: .never,
                isCancelled: { false },
                body: { connection, topics in
                    try connection.execute(
                        "CREATE TABLE IF NOT EXISTS \(quoted)(id INTEGER PRIMARY KEY, a)"
                    )
                    _ = connection.takeChanges()
                    let insert = try connection.userStatement(
                        "INSERT INTO \(quoted) VALUES (?1, 1) ON CONFLICT DO UPDATE SET a = a + 1"
                    )
                    try insert.bind(1, row)
                    try insert.run()
                    topics.insert(topic)
                }
            )
            try expect(outcome, isIn: writer.store)
        }
        try store.expectSound(migrations: [])
    }

    private func expect(_ outcome: TransactionOutcome<Void>, isIn store: StoreIdentity) throws {
        let change = try #require(outcome.change)
        let after = Position(store: store, commit: change.predecessor)
        guard case .ranges(let ranges, _) = try self.store.reader().catchUp(after: after, limit: 1)
        else {
            Issue.record("the commit is not in the log")
            return
        }
        let range = try #require(ranges.first)
        #expect(range.tables.map(\.name) == change.tables.map(\.name))
        for (read, written) in zip(range.tables, change.tables) {
            let row = try #require(written.rows?.ranges.first).lowerBound
            // Beyond 2^53 other readers of JSON round, so that the row becomes "any".
            #expect(read.rows == (row.magnitude < 1 << 53 ? written.rows : nil))
        }
        #expect(range.topics == change.topics || range.topics == nil)
    }

    private static let names = [
        "item", "with \"quotes\"", "e\u{301}", "\u{e9}", "\u{1F600}", "tab\tand\nline", "a\\b",
    ]
    private static let rows: [Int64] = [0, 1, -5, .max, .min, 1 << 53, (1 << 53) - 1, 77]
    private static let bytes: [UInt8] = [0, 1, 0x22, 0x5c, 0x41, 0x7f, 0xff, 0xc3, 0xa9]
}

/// SplitMix64, so that a run can be repeated from its seed.
private struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}

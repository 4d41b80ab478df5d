import LockkeeperDomain
import Testing

@testable import LockkeeperNotifier

/// The lines on the socket: what is written is read back, and what is not of this protocol is
/// refused with its reason (I-9: no line is longer than the limit).
@Suite struct NotifierLineTests {
    @Test("ranges of every shape are read back as they were written")
    func rangesRoundTrip() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed=\(seed)")
        var generator = SplitMix(seed: seed)
        for _ in 0..<500 {
            let range = randomRange(using: &generator)
            let line = try #require(NotifierLine.encode(.range(range), byteCountMax: 65536))
            #expect(try decodeHub(line) == .range(range), "seed=\(seed)")
            let announced = try #require(
                NotifierLine.encode(.announce(range), byteCountMax: 65536)
            )
            #expect(try decodeClient(announced) == .announce(range), "seed=\(seed)")
        }
    }

    @Test("the other lines are read back as they were written")
    func linesRoundTrip() throws {
        let head = StoreHead.fixture()
        let change = GenerationChange(generation: Generation(8), state: .retired)
        for line: HubLine in [
            .head("alice", head), .resync("a\"\\\u{0}\u{1F6A2}", head),
            .generation("alice", change), .heartbeat(head.position), .heartbeat(nil),
            .error(code: "closing", reason: "the hub closes"),
        ] {
            let encoded = try #require(NotifierLine.encode(line, byteCountMax: 65536))
            #expect(try decodeHub(encoded) == line)
        }
        for request in [
            SubscriptionRequest(account: "alice", after: nil),
            SubscriptionRequest(account: "bob", after: head.position, excludedOrigin: "push"),
            SubscriptionRequest(account: "bob", kind: .settings, after: nil),
        ] {
            let encoded = try #require(
                NotifierLine.encode(.subscribe(request), byteCountMax: 65536)
            )
            #expect(try decodeClient(encoded) == .subscribe(request))
        }
    }

    @Test("a range of settings says so, one of messages need not, and an unknown kind is refused")
    func kinds() throws {
        let range = ChangeRange(
            account: "alice",
            kind: .settings,
            store: StoreHead.fixture().store,
            generation: Generation(1),
            predecessor: CommitNumber(0),
            commits: CommitNumber(1)...CommitNumber(1),
            tables: [],
            topics: [],
            origins: ["app"],
            isDurable: false
        )
        let line = try #require(NotifierLine.encode(.range(range), byteCountMax: 65536))
        #expect(try decodeHub(line) == .range(range))
        let text = String(decoding: line, as: UTF8.self)
        #expect(text.contains(#""kind":"settings""#))
        let strange = Array(text.replacing("settings", with: "drafts").utf8)
        #expect(throws: NotifierError.self) { try decodeHub(strange) }
    }

    @Test("a range is one line of the documented form")
    func documentedForm() throws {
        let range = ChangeRange.fixture(head: .fixture(), commits: 1...2)
        let line = try #require(NotifierLine.encode(.range(range), byteCountMax: 65536))
        let store = String(repeating: "01", count: 16)
        #expect(
            String(decoding: line, as: UTF8.self) == """
                {"account":"alice","generation":7,"position":"\(store):2","commits":[1,2],\
                "previous":0,"tables":[{"name":"lk_message","rows":[[1,2]]}],\
                "topics":["c1","c2"],"origins":["writer"],"durable":true,"merged":false}

                """
        )
    }

    @Test("a range too long for a line loses its topics first, then its rows, then its line")
    func shrinking() throws {
        let range = ChangeRange.fixture(head: .fixture(), commits: 1...60)
        let full = try #require(NotifierLine.encode(.range(range), byteCountMax: 65536))
        let withoutTopics = try shrunk(range, to: full.count - 1)
        #expect(withoutTopics.topics == nil && withoutTopics.tables == range.tables)
        var withoutRows: ChangeRange?
        for limit in stride(from: full.count, to: 200, by: -1) {
            guard NotifierLine.encode(.range(range), byteCountMax: limit) != nil else { break }
            withoutRows = try shrunk(range, to: limit)
        }
        #expect(withoutRows?.tables == [TableChange(name: "lk_message", rows: nil)])
        #expect(withoutRows?.last == range.last && withoutRows?.predecessor == range.predecessor)
        #expect(NotifierLine.encode(.range(range), byteCountMax: 100) == nil)
    }

    @Test("what JSON cannot say exactly becomes \"any\": wide row ids, topics that are no text")
    func anyInstead() throws {
        var range = ChangeRange.fixture(head: .fixture(), commits: 1...1)
        range.merge(
            ChangeRange(
                account: "alice",
                store: range.store,
                generation: range.generation,
                predecessor: range.last,
                commits: CommitNumber(2)...CommitNumber(2),
                tables: [TableChange(name: "lk_message", rows: RowRanges([.min ... -5]))],
                topics: [[0xFF]],
                origins: [],
                isDurable: false
            )
        )
        let line = try #require(NotifierLine.encode(.range(range), byteCountMax: 65536))
        guard case .range(let read) = try decodeHub(line) else {
            Issue.record("no range")
            return
        }
        #expect(read.topics == nil && read.tables.map(\.rows) == [nil])
    }

    @Test(
        "lines that are not of this protocol are refused",
        arguments: [
            "", "nonsense", "[]", "{}", "{\"subscribe\":7}", "{\"subscribe\":\"\"}",
            "{\"subscribe\":\"a\",\"subscribe\":\"b\"}", "{\"subscribe\":\"a\"} x",
            "{\"subscribe\":\"a\",\"after\":\"12\"}", "{\"subscribe\":\"a\",\"after\":12}",
            "{\"announce\":{}}", "{\"announce\":{\"announce\":{}}}",
            announcement(commits: "[3,2]"), announcement(commits: "[2]"),
            announcement(commits: "[2,3,4]"), announcement(previous: "3"),
            announcement(previous: "-1"), announcement(position: "2"),
            announcement(position: "\"01010101010101010101010101010101:\""),
            announcement(position: "\"01010101010101010101010101010101:+3\""),
            announcement(position: "\"01010101010101010101010101010101:9223372036854775808\""),
            announcement(position: "\"010101010101010101010101010101:3\""),
            announcement(position: "null"),
            announcement(tables: "[{\"rows\":null}]"),
            announcement(tables: "[{\"name\":\"t\",\"rows\":[[5,4]]}]"),
            announcement(tables: "null"),
        ]
    )
    func refused(line: String) {
        #expect(throws: NotifierError.self) { try decodeClient(Array((line + "\n").utf8)) }
    }

    @Test("the announcement that the refused ones are made from is accepted")
    func accepted() throws {
        _ = try decodeClient(Array((Self.announcement() + "\n").utf8))
    }

    @Test("keys of later versions are passed over")
    func unknownKeys() throws {
        let line = "{\"since\":[1,{}],\"subscribe\":\"alice\",\"after\":null}\n"
        let expected = SubscriptionRequest(account: "alice", after: nil)
        #expect(try decodeClient(Array(line.utf8)) == .subscribe(expected))
    }

    private static func announcement(
        commits: String = "[2,3]",
        previous: String = "1",
        position: String = "\"01010101010101010101010101010101:3\"",
        tables: String = "[{\"name\":\"t\",\"rows\":[[4,5]]}]"
    ) -> String {
        """
        {"announce":{"account":"alice","generation":7,"position":\(position),\
        "commits":\(commits),"previous":\(previous),"tables":\(tables),"topics":null,\
        "origins":["w"],"durable":true,"merged":false}}
        """
    }

    private func shrunk(_ range: ChangeRange, to limit: Int) throws -> ChangeRange {
        let line = try #require(NotifierLine.encode(.range(range), byteCountMax: limit))
        #expect(line.count <= limit)
        guard case .range(let read) = try decodeHub(line) else { throw Unexpected("no range") }
        return read
    }

    private func decodeHub(_ line: [UInt8]) throws -> HubLine {
        try line.dropLast().withUnsafeBytes(NotifierLine.decodeHubLine)
    }

    private func decodeClient(_ line: [UInt8]) throws -> ClientLine {
        try line.dropLast().withUnsafeBytes(NotifierLine.decodeClientLine)
    }

    private func randomRange(using generator: inout SplitMix) -> ChangeRange {
        let names = ["a", "\u{0}", "é", "e\u{301}", "\u{2028}\u{FEFF}", "\"\\\n", "🛶"]
        let previous = Int64.random(in: 0...(1 << 40), using: &generator)
        let first = previous + Int64.random(in: 1...(1 << 33), using: &generator)
        let last = first + Int64.random(in: 0...100, using: &generator)
        var rows = RowRanges()
        for _ in 0..<Int.random(in: 0...5, using: &generator) {
            rows.insert(Int64.random(in: -(1 << 52)...(1 << 52), using: &generator))
        }
        var head = StoreHead.fixture()
        head.store = .random(using: &generator)
        return ChangeRange(
            account: AccountID(unchecked: Array(names.shuffled(using: &generator).joined().utf8)),
            store: head.store,
            generation: Generation(Int64.random(in: 0...99, using: &generator)),
            predecessor: CommitNumber(previous),
            commits: CommitNumber(first)...CommitNumber(last),
            tables: [
                TableChange(name: names.shuffled(using: &generator)[0], rows: rows),
                TableChange(name: "t2", rows: nil),
            ],
            topics: Bool.random(using: &generator) ? nil : names.map { Array($0.utf8) },
            origins: names.shuffled(using: &generator),
            isDurable: Bool.random(using: &generator),
            isMerged: Bool.random(using: &generator)
        )
    }
}

/// Lines out of a stream, wherever it is cut (B108).
@Suite struct LineBufferTests {
    @Test("lines are the same wherever the stream is cut")
    func everyCut() throws {
        let stream = Array("one\n\ntwo\nthree\nrest".utf8)
        for cut in 0...stream.count {
            var buffer = LineBuffer(byteCountMax: 5)
            var lines: [String] = []
            for part in [stream[..<cut], stream[cut...]] {
                try Array(part).withUnsafeBytes { bytes in
                    try buffer.append(bytes) { lines.append(String(decoding: $0, as: UTF8.self)) }
                }
            }
            #expect(lines == ["one", "two", "three"])
            #expect(buffer.isInsideLine)
        }
    }

    @Test("a line past the limit is refused as soon as it is, with or without an end")
    func limit() {
        for text in ["123456\n", "123456"] {
            var buffer = LineBuffer(byteCountMax: 5)
            #expect(throws: LineBuffer.LimitError.self) {
                for byte in text.utf8 {
                    try [byte].withUnsafeBytes { bytes in try buffer.append(bytes) { _ in } }
                }
            }
        }
    }
}

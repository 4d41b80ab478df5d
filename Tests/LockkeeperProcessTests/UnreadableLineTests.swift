import LockkeeperDomain
import LockkeeperPlatform
import Testing

/// A line that cannot be read, and what must be said of it.
struct BadLine: Sendable, CustomTestStringConvertible {
    let situation: String
    let bytes: [UInt8]
    /// A part of what the error stream says of it.
    let sentence: String

    var testDescription: String { situation }

    init(_ situation: String, _ text: String, _ sentence: String) {
        self.init(situation, bytes: Array(text.utf8), sentence)
    }

    init(_ situation: String, bytes: [UInt8], _ sentence: String) {
        self.situation = situation
        self.bytes = bytes
        self.sentence = sentence
    }

    /// A message with one part of its line replaced.
    private static func message(_ part: String, _ replacement: String) -> String {
        let line =
            #"{"conversation":"c","id":"x","seq":9,"sender":"s","sent_at":"2026-01-01T00:00:00Z","#
            + #""body":"b"}"#
        precondition(line.contains(part))
        return line.replacing(part, with: replacement)
    }

    static let all: [BadLine] = [
        BadLine("not UTF-8", bytes: Array(#"{"type":""#.utf8) + [0xFF, 0x22, 0x7D], "UTF-8"),
        BadLine("not JSON", "hello", "line 2:"),
        BadLine("a half object", #"{"type":"message""#, "line 2:"),
        BadLine("a trailing comma", #"{"type":"x",}"#, "line 2:"),
        BadLine("an array", "[1]", "object"),
        BadLine(
            "nested too deep",
            #"{"type":"x","a":"# + String(repeating: "[", count: 40)
                + String(repeating: "]", count: 40) + "}",
            "deep"
        ),
        BadLine("a missing field", message(#""body":"b""#, #""bodi":"b""#), "body"),
        BadLine("a mistyped field", message(#""body":"b""#, #""body":7"#), "body"),
        BadLine("an integer out of range", message(#""seq":9"#, #""seq":9007199254740993"#), "seq"),
        BadLine("an integer with a fraction", message(#""seq":9"#, #""seq":9.0"#), "seq"),
        BadLine("a seq of 0", message(#""seq":9"#, #""seq":0"#), "seq"),
        BadLine("a negative seq", message(#""seq":9"#, #""seq":-4"#), "seq"),
        BadLine("an empty id", message(#""id":"x""#, #""id":"""#), "id"),
        BadLine(
            "an over-long id",
            message(#""id":"x""#, #""id":""# + String(repeating: "x", count: 513) + "\""),
            "id"
        ),
        BadLine("a lone surrogate", message(#""body":"b""#, #""body":"\ud800""#), "surrogate"),
        BadLine("a key that comes twice", #"{"type":"x","type":"x"}"#, "key"),
        BadLine(
            "a body over the limit",
            message(
                #""body":"b""#,
                #""body":""# + String(repeating: "b", count: 1_048_577) + "\""
            ),
            "body"
        ),
        BadLine("a time that is none", message("2026-01-01T00:00:00Z", "yesterday"), "sent_at"),
    ]
}

/// What helpers meet on the wire. Shown: nothing that a server sent is dropped (I-5, I-9), and one
/// bad line stops nothing.
@Suite("Lines that cannot be read")
struct UnreadableLineTests {
    private static let good =
        #"{"conversation":"c","id":"a","seq":1,"sender":"s","#
        + #""sent_at":"2026-01-01T00:00:00Z","body":"first"}"#
    private static let last =
        #"{"conversation":"c","id":"b","seq":2,"sender":"s","#
        + #""sent_at":"2026-01-01T00:00:00Z","body":"last"}"#

    private func input(_ line: [UInt8]) -> [UInt8] {
        Array((Self.good + "\n").utf8) + line + Array(("\n" + Self.last + "\n").utf8)
    }

    @Test(
        "a bad line is named with number and reason, kept with its bytes, and passed over",
        arguments: BadLine.all
    )
    func badLine(line: BadLine) async throws {
        let workspace = try await TestWorkspace()
        let result = try await workspace.run(["ingest"], input: input(line.bytes))
        #expect(result.status == .exited(65), "\(result.errorText)")
        let named = result.errors.filter { $0.hasPrefix("line 2: ") }
        #expect(named.count == 1 && named[0].contains(line.sentence), "\(result.errorText)")
        let summary = try result.summary
        #expect(summary.int("inserted") == 2 && summary.int("quarantined") == 1)
        #expect(summary.int("unreadable") == 1 && summary.int("refused") == 0)

        let list = try await workspace.run(["quarantine", "list", "--json"])
        let item = try PrintedObject(try #require(list.lines.first))
        #expect(list.lines.count == 1 && item.string("reason") == "unreadable")
        #expect(item.int("bytes") == line.bytes.count)
        let number = try #require(item.int("number"))
        let shown = try await workspace.run(["quarantine", "show", "\(number)", "--json"])
        let content = try PrintedObject(try #require(shown.lines.first)).string("content_hex")
        #expect(content == line.bytes.hexadecimal)
        try await workspace.expectSound()
    }

    @Test("of a line over 8 MiB the digest, the length and the first MiB are kept")
    func overlong() async throws {
        let workspace = try await TestWorkspace()
        let byteCount = 8 * 1024 * 1024 + 1
        let line = [UInt8](repeating: UInt8(ascii: "x"), count: byteCount)
        let result = try await workspace.run(["ingest"], input: input(line))
        #expect(result.status == .exited(65))
        #expect(result.errorText.contains("line 2: a line has at most 8388608 bytes"))
        #expect(try result.summary.int("inserted") == 2)
        let shown = try await workspace.run(["quarantine", "show", "1", "--json"])
        let item = try PrintedObject(try #require(shown.lines.first))
        #expect(item.int("bytes") == byteCount)
        #expect(item.string("content_hex")?.count == 2 * 1024 * 1024)
        // `head -c 8388609 /dev/zero | tr '\0' x | sha256sum`
        #expect(
            item.string("sha256")
                == "942d6013edf5b8bf6c141eadd970afb4d1dec9f2d6d92dbe93f4be90748037ed"
        )
    }

    @Test("the same bad line again is counted, not kept twice")
    func again() async throws {
        let workspace = try await TestWorkspace()
        for _ in 1...2 { _ = try await workspace.ingest("hello\nhello\n") }
        let list = try await workspace.run(["quarantine", "list", "--json"])
        #expect(list.lines.count == 1)
        #expect(try PrintedObject(list.lines[0]).int("count") == 4)
    }

    @Test("an event of an unknown type is kept as later and is no error")
    func later() async throws {
        let workspace = try await TestWorkspace()
        let result = try await workspace.ingest(#"{"type":"poll","question":"?"}"# + "\n")
        #expect(result.status == .exited(0))
        #expect(try result.summary.int("quarantined") == 1)
        let list = try await workspace.run(["quarantine", "list", "--json"])
        #expect(try PrintedObject(list.lines[0]).string("reason") == "later")
        let export = try await workspace.run(["export"])
        #expect(export.lines == [#"{"type":"poll","question":"?"}"#])
    }

    @Test("carriage returns, a byte-order mark, empty lines and a missing last end are accepted")
    func lineEnds() async throws {
        let workspace = try await TestWorkspace()
        let text = "\u{FEFF}\(Self.good)\r\n\r\n\n\(Self.last)"
        let result = try await workspace.ingest(text)
        #expect(result.status == .exited(0), "\(result.errorText)")
        #expect(try result.summary.int("inserted") == 2)
        // Empty lines are passed over, and counted all the same: numbers are those of the file.
        let bad = try await workspace.ingest("\r\n\nhello\n")
        #expect(bad.errorText.contains("line 3: "))
    }

    @Test("with --json a bad line is an object with its field")
    func json() async throws {
        let workspace = try await TestWorkspace()
        let line = try #require(BadLine.all.first { $0.situation == "a seq of 0" })
        let result = try await workspace.run(["ingest", "--json"], input: line.bytes)
        let object = try PrintedObject(
            try #require(result.errors.first { $0.contains("unreadable") })
        ).object("unreadable")
        #expect(object.int("line") == 1 && object.string("field") == "seq")
        #expect(object.string("code") == "out-of-range")
    }
}

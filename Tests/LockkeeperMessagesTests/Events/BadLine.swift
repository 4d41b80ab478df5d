import LockkeeperDomain
import LockkeeperMessages
import Testing

/// A line that is no event, and what is wrong with it.
struct BadLine: Sendable, CustomTestStringConvertible {
    let bytes: [UInt8]
    let code: EventError.Code
    let field: String?

    var testDescription: String {
        let text = String(decoding: bytes.prefix(120), as: UTF8.self)
        return "\(String(reflecting: text)): \(code.rawValue) \(field ?? "")"
    }

    init(_ line: String, _ code: EventError.Code, _ field: String? = nil) {
        self.init(Array(line.utf8), code, field)
    }

    init(_ bytes: [UInt8], _ code: EventError.Code, _ field: String? = nil) {
        self.bytes = bytes
        self.code = code
        self.field = field
    }

    /// A valid message's line in which some values are others, or missing.
    static func message(_ changes: KeyValuePairs<String, String?>) -> String {
        var members: [(String, String?)] = [
            ("conversation", #""c""#), ("id", #""m""#), ("seq", "1"), ("sender", #""p""#),
            ("sent_at", #""2004-11-15T01:50:00Z""#), ("body", #""text""#),
        ]
        for (key, value) in changes {
            members.removeAll { $0.0 == key }
            members.append((key, value))
        }
        return "{"
            + members.compactMap { key, value in value.map { "\"\(key)\":\($0)" } }
            .joined(separator: ",") + "}"
    }

    private static func edit(_ rest: String) -> String {
        #"{"type":"edit","conversation":"c","id":"m""# + rest + "}"
    }

    private static func reaction(_ rest: String) -> String {
        #"{"type":"reaction","conversation":"c","id":"m","by":"p""# + rest + "}"
    }

    private static let deep =
        String(repeating: "[", count: 32) + String(repeating: "]", count: 32)

    static let all: [BadLine] = lines + messages + others

    private static let lines: [BadLine] = [
        BadLine([0xFF, 0xFE, 0x7B], .notUTF8),
        BadLine(Array(#"{"type":""#.utf8) + [0xC3] + Array(#""}"#.utf8), .notUTF8),
        BadLine(" ", .notJSON),
        BadLine("hello", .notJSON),
        BadLine("{", .notJSON),
        BadLine(#"{"type":"message",}"#, .notJSON),
        BadLine(message([:]) + message([:]), .notJSON),
        BadLine(message(["body": "\"a\u{1}\""]), .notJSON),
        BadLine(message(["body": #""\q""#]), .notJSON),
        BadLine(message(["seq": "01"]), .notJSON),
        BadLine(message(["seq": "NaN"]), .notJSON),
        BadLine("[]", .notObject),
        BadLine("1", .notObject),
        BadLine("null", .notObject),
        BadLine(message(["x": deep]), .tooDeep),
        BadLine(message(["body": #""\ud83d""#]), .loneSurrogate),
        BadLine(message(["x": #"["\udc00"]"#]), .loneSurrogate),
        BadLine(#"{"type":"poll","a":1,"a":1}"#, .duplicateKey),
        BadLine(message(["x": #"{"a":1,"\u0061":1}"#]), .duplicateKey),
        BadLine(#"{"type":1}"#, .mistyped, "type"),
        BadLine(#"{"type":null}"#, .mistyped, "type"),
        BadLine("{}", .missing, "conversation"),
    ]

    private static let messages: [BadLine] = [
        BadLine(message(["conversation": nil]), .missing, "conversation"),
        BadLine(message(["id": nil]), .missing, "id"),
        BadLine(message(["sender": nil]), .missing, "sender"),
        BadLine(message(["sent_at": nil]), .missing, "sent_at"),
        BadLine(message(["body": nil]), .missing, "body"),
        BadLine(message(["seq": nil]), .missing, "seq"),
        BadLine(message(["seq": nil, "version": "2"]), .missing, "seq"),
        BadLine(message(["conversation": "1"]), .mistyped, "conversation"),
        BadLine(message(["id": "null"]), .mistyped, "id"),
        BadLine(message(["body": "[]"]), .mistyped, "body"),
        BadLine(message(["sent_at": "1100483400"]), .mistyped, "sent_at"),
        BadLine(message(["seq": #""1""#]), .mistyped, "seq"),
        BadLine(message(["seq": "1.0"]), .mistyped, "seq"),
        BadLine(message(["seq": "1e3"]), .mistyped, "seq"),
        BadLine(message(["counts": "1"]), .mistyped, "counts"),
        BadLine(message(["incoming": #""true""#]), .mistyped, "incoming"),
        BadLine(message(["kind": "null"]), .mistyped, "kind"),
        BadLine(message(["client_id": "7"]), .mistyped, "client_id"),
        BadLine(message(["mentions": #""p""#]), .mistyped, "mentions"),
        BadLine(message(["mentions": #"["p",1]"#]), .mistyped, "mentions"),
        BadLine(message(["attachments": "{}"]), .mistyped, "attachments"),
        BadLine(message(["attachments": "[1]"]), .mistyped, "attachments"),
        BadLine(message(["attachments": #"[{"id":1}]"#]), .mistyped, "attachments"),
        BadLine(message(["attachments": #"[{"id":"a"},{"url":"u"}]"#]), .missing, "attachments"),
        BadLine(message(["attachments": #"[{"id":""}]"#]), .emptyIdentifier, "attachments"),
        BadLine(message(["seq": "0"]), .outOfRange, "seq"),
        BadLine(message(["seq": "-1"]), .outOfRange, "seq"),
        BadLine(message(["seq": "0", "version": "0"]), .outOfRange, "seq"),
        BadLine(message(["seq": "9007199254740992"]), .outOfRange, "seq"),
        BadLine(message(["version": "-1"]), .outOfRange, "version"),
        BadLine(message(["version": "18446744073709551617"]), .outOfRange, "version"),
        BadLine(message(["conversation": #""""#]), .emptyIdentifier, "conversation"),
        BadLine(message(["mentions": #"["p",""]"#]), .emptyIdentifier, "mentions"),
        BadLine(message(["reply_to": #""""#]), .emptyIdentifier, "reply_to"),
        BadLine(
            message(["id": "\"" + String(repeating: "é", count: 257) + "\""]),
            .identifierTooLong,
            "id"
        ),
        BadLine(message(["sent_at": #""yesterday""#]), .invalidTimestamp, "sent_at"),
        BadLine(message(["sent_at": #""2004-02-30T00:00:00Z""#]), .invalidTimestamp, "sent_at"),
        BadLine(message(["expires_at": #""\u0032004""#]), .invalidTimestamp, "expires_at"),
        BadLine(
            message(["body": "\"" + String(repeating: "x", count: 1024 * 1024 + 1) + "\""]),
            .bodyTooLong,
            "body"
        ),
        BadLine([UInt8](repeating: 0x20, count: 8 * 1024 * 1024 + 1), .lineTooLong),
    ]

    private static let others: [BadLine] = [
        BadLine(edit(""), .missing, "version"),
        BadLine(edit(#","version":1"#), .outOfRange, "version"),
        BadLine(edit(#","version":2,"body":null"#), .mistyped, "body"),
        BadLine(edit(#","version":2,"by":"""#), .emptyIdentifier, "by"),
        BadLine(edit(#","version":2,"edited_at":"x""#), .invalidTimestamp, "edited_at"),
        BadLine(#"{"type":"recall","conversation":"c","id":"m"}"#, .missing, "version"),
        BadLine(
            #"{"type":"recall","conversation":"c","id":"m","version":1,"seq":0}"#,
            .outOfRange,
            "seq"
        ),
        BadLine(#"{"type":"read","conversation":"c"}"#, .missing, "id"),
        BadLine(#"{"type":"read","conversation":"c","id":""}"#, .emptyIdentifier, "id"),
        BadLine(#"{"type":"read","conversation":"c","seq":-1}"#, .outOfRange, "seq"),
        BadLine(
            #"{"type":"read","conversation":"c","seq":1,"kind":"seen"}"#,
            .invalidValue,
            "kind"
        ),
        BadLine(#"{"type":"page","stream":"s","next":"n"}"#, .missing, "after"),
        BadLine(#"{"type":"page","stream":"s","after":null}"#, .missing, "next"),
        BadLine(#"{"type":"page","stream":"s","after":"","next":"n"}"#, .emptyIdentifier, "after"),
        BadLine(
            #"{"type":"page","stream":"s","after":null,"next":"n","done":"no"}"#,
            .mistyped,
            "done"
        ),
        BadLine(#"{"type":"page","after":null,"next":"n"}"#, .missing, "stream"),
        BadLine(#"{"type":"delete","conversation":"c"}"#, .missing, "id"),
        BadLine(#"{"type":"delete","conversation":"c","id":"m","seq":0}"#, .outOfRange, "seq"),
        BadLine(reaction(#","version":1"#), .missing, "emoji"),
        BadLine(reaction(#","version":1,"emoji":"""#), .emptyIdentifier, "emoji"),
        BadLine(
            reaction(#","version":1,"emoji":"\#(String(repeating: "x", count: 513))""#),
            .identifierTooLong,
            "emoji"
        ),
        BadLine(reaction(#","emoji":"x""#), .missing, "version"),
        BadLine(reaction(#","version":1,"emoji":"x","slot":1"#), .mistyped, "slot"),
        BadLine(reaction(#","version":1,"emoji":"x","removed":1"#), .mistyped, "removed"),
        BadLine(#"{"type":"conversation","conversation":"c"}"#, .missing, "version"),
        BadLine(
            #"{"type":"conversation","conversation":"c","version":1,"muted":"no"}"#,
            .mistyped,
            "muted"
        ),
        BadLine(#"{"type":"member","conversation":"c","version":1}"#, .missing, "who"),
        BadLine(#"{"type":"clear","conversation":"c","seq":0}"#, .outOfRange, "seq"),
        BadLine(#"{"type":"history","conversation":"c","from":0,"to":2}"#, .outOfRange, "from"),
        BadLine(#"{"type":"history","conversation":"c","from":3,"to":2}"#, .outOfRange, "to"),
        BadLine(#"{"type":"reset","stream":"s"}"#, .missing, "expected"),
    ]
}

import LockkeeperDomain
import LockkeeperMessages

/// Draws valid events whose texts are as awkward as texts can be.
struct EventSource {
    private var generator: SplitMix64

    init(seed: UInt64) { generator = SplitMix64(seed: seed) }

    private static let pieces = [
        "\0", "\u{1}", "\u{1F}", "\u{7F}", "\u{8}\u{C}\n\r\t", "\"", "\\", "\\u0000", "/", "é",
        "e\u{301}", "😀", "👩‍👩‍👧‍👦", "\u{2028}", "\u{2029}", "\u{202E}שלום",
        "\u{FEFF}", "漢字", "\u{FFFF}",
        "\u{10FFFF}", "\u{200D}", " ", "plain text of some length", "'; DROP TABLE", "{\"a\":1}",
    ]

    mutating func event() throws -> Event {
        switch Int.random(in: 0..<18, using: &generator) {
        case 10: .delete(try delete())
        case 11: .reaction(try reaction())
        case 12: .conversation(try conversation())
        case 13: .member(try member())
        case 14: .clear(ClearEvent(conversation: try id(), sequence: integer(from: 1)))
        case 15: .history(try history())
        case 16: .reset(ResetEvent(stream: try id(), expected: try id()))
        case 0: .edit(try edit())
        case 1: .recall(try recall())
        case 2: .read(try read())
        case 3: .page(try page())
        case 4: .later(try later())
        default: .message(try message())
        }
    }

    private mutating func message() throws -> MessageEvent {
        let version = integer(from: 0)
        return MessageEvent(
            conversation: try id(),
            id: try id(),
            sequence: version == 0 ? maybe { $0.integer(from: 1) } : integer(from: 1),
            sender: try id(),
            sentAt: try timestamp(),
            body: text(),
            version: version,
            kind: maybe { $0.text() },
            counts: maybe { $0.bool() },
            isIncoming: maybe { $0.bool() },
            serverAt: try maybe { try $0.timestamp() },
            clientID: try maybe { try $0.id() },
            replyTo: try maybe { try $0.id() },
            mentions: try maybe { try $0.ids() },
            mentionsMe: maybe { $0.bool() },
            attachments: try maybe { try $0.attachments() },
            expiresAt: try maybe { try $0.timestamp() },
            extra: try maybe { try $0.extra() }
        )
    }

    private mutating func edit() throws -> EditEvent {
        EditEvent(
            conversation: try id(),
            id: try id(),
            version: integer(from: 2),
            editor: try maybe { try $0.id() },
            editedAt: try maybe { try $0.timestamp() },
            body: maybe { $0.text() },
            mentions: try maybe { try $0.ids() },
            mentionsMe: maybe { $0.bool() },
            attachments: try maybe { try $0.attachments() },
            expiresAt: try maybe { try $0.timestamp() },
            extra: try maybe { try $0.extra() }
        )
    }

    private mutating func recall() throws -> RecallEvent {
        RecallEvent(
            conversation: try id(),
            id: try id(),
            version: integer(from: 0),
            recaller: try maybe { try $0.id() },
            sequence: maybe { $0.integer(from: 1) },
            sender: try maybe { try $0.id() },
            sentAt: try maybe { try $0.timestamp() },
            isIncoming: maybe { $0.bool() },
            extra: try maybe { try $0.extra() }
        )
    }

    private mutating func read() throws -> ReadEvent {
        ReadEvent(
            conversation: try id(),
            target: bool() ? .sequence(integer(from: 0)) : .message(try id()),
            reader: try maybe { try $0.id() },
            kind: bool() ? .read : .delivered
        )
    }

    private mutating func delete() throws -> DeleteEvent {
        let sequence = maybe { $0.integer(from: 1) }
        return DeleteEvent(
            conversation: try id(),
            id: try id(),
            sequence: sequence,
            version: sequence == nil ? 0 : integer(from: 0)
        )
    }

    private mutating func reaction() throws -> ReactionEvent {
        ReactionEvent(
            conversation: try id(),
            id: try id(),
            reactor: try id(),
            emoji: text() + "e",
            slot: try maybe { try $0.id() },
            version: integer(from: 0),
            removed: bool(),
            extra: try maybe { try $0.extra() }
        )
    }

    private mutating func conversation() throws -> ConversationEvent {
        ConversationEvent(
            conversation: try id(),
            version: integer(from: 0),
            title: maybe { $0.text() },
            kind: maybe { $0.text() },
            muted: maybe { $0.bool() },
            pinned: maybe { $0.bool() },
            archived: maybe { $0.bool() },
            markedUnread: maybe { $0.bool() },
            parent: try maybe { try $0.id() },
            extra: try maybe { try $0.extra() }
        )
    }

    private mutating func member() throws -> MemberEvent {
        MemberEvent(
            conversation: try id(),
            person: try id(),
            version: integer(from: 0),
            role: maybe { $0.text() },
            removed: bool(),
            extra: try maybe { try $0.extra() }
        )
    }

    private mutating func history() throws -> HistoryEvent {
        let from = integer(from: 1)
        return HistoryEvent(
            conversation: try id(),
            from: from,
            to: from == JSONScanner.integerMax ? from : integer(from: from)
        )
    }

    private mutating func page() throws -> SyncPage {
        SyncPage(stream: try id(), after: try maybe { try $0.id() }, next: try id(), done: bool())
    }

    private mutating func later() throws -> LaterEvent {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key(text() + "x")
        writer.raw(value(depth: 3))
        writer.key("type")
        writer.string("poll")
        writer.endObject()
        return LaterEvent(type: "poll", line: writer.bytes)
    }

    private mutating func attachments() throws -> Attachments {
        var writer = JSONWriter()
        writer.beginArray()
        for _ in 0..<Int.random(in: 0...3, using: &generator) {
            writer.beginObject()
            writer.key("url \(text())")
            writer.raw(value(depth: 3))
            writer.key("id")
            let id: AttachmentID = try id()
            writer.string(utf8: id.bytes)
            writer.endObject()
        }
        writer.endArray()
        return try Attachments(String(decoding: writer.bytes, as: UTF8.self))
    }

    private mutating func extra() throws -> ExtraFields {
        var writer = JSONWriter()
        writer.beginObject()
        for number in 0..<Int.random(in: 1...20, using: &generator) {
            // The number keeps keys apart; it stands last, so that sorting has work to do.
            writer.key("\(text())\(number)")
            writer.raw(value(depth: 3))
        }
        writer.endObject()
        return try ExtraFields(String(decoding: writer.bytes, as: UTF8.self))
    }

    private mutating func value(depth: Int) -> [UInt8] {
        var writer = JSONWriter()
        switch Int.random(in: 0..<(depth > 0 ? 7 : 5), using: &generator) {
        case 0: writer.string(text())
        case 1: writer.integer(Int64.random(in: .min ... .max, using: &generator))
        case 2: writer.double(Double(bitPattern: generator.next()))
        case 3: writer.bool(bool())
        case 4: writer.null()
        case 5:
            writer.beginArray()
            for _ in 0..<Int.random(in: 0...3, using: &generator) {
                writer.raw(value(depth: depth - 1))
            }
            writer.endArray()
        default:
            writer.beginObject()
            for number in 0..<Int.random(in: 0...3, using: &generator) {
                writer.key("\(text())\(number)")
                writer.raw(value(depth: depth - 1))
            }
            writer.endObject()
        }
        return writer.bytes
    }

    private mutating func text() -> String {
        var text = ""
        for _ in 0..<Int.random(in: 0...6, using: &generator) {
            text += Self.pieces.randomElement(using: &generator) ?? ""
        }
        return text
    }

    private mutating func id<ID: ByteIdentifier>() throws -> ID { try ID(text() + "i") }

    private mutating func ids<ID: ByteIdentifier>() throws -> [ID] {
        var ids: [ID] = []
        for _ in 0..<Int.random(in: 0...3, using: &generator) { ids.append(try id()) }
        return ids
    }

    private mutating func integer(from least: Int64) -> Int64 {
        let largest = JSONScanner.integerMax
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: return least
        case 1: return largest
        case 2: return Int64.random(in: least...largest, using: &generator)
        default: return Int64.random(in: least...min(least + 3, largest), using: &generator)
        }
    }

    private mutating func timestamp() throws -> Timestamp {
        let range =
            Timestamp.earliest.millisecondsSince1970...Timestamp.latest.millisecondsSince1970
        let count = Int64.random(in: range, using: &generator)
        let whole = count / 1000 * 1000
        return try Timestamp(millisecondsSince1970: bool() ? count : whole)
    }

    private mutating func bool() -> Bool { Bool.random(using: &generator) }

    private mutating func maybe<Value>(
        _ draw: (inout EventSource) throws -> Value
    ) rethrows -> Value? {
        bool() ? try draw(&self) : nil
    }
}

/// A small generator that a seed determines (S. Vigna, "SplitMix64").
struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

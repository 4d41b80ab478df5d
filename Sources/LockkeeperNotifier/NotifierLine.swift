package import LockkeeperDomain

// The lines of the notifier's socket: one JSON object per line, at most 64 KiB with its newline.
// A key that a reader does not know is passed over, so that later versions can add some; what a
// line is follows from its keys. A position is "STORE:N", 32 hexadecimal digits and a number.
//
// From client to hub:
//
//     {"subscribe":ACCOUNT,"kind":KIND,"after":POSITION or null,"without":ORIGIN or null}
//     {"announce":RANGE}
//     {"release":"hub"}
//
// KIND is "settings", or "messages", which is meant where it is missing: which of the account's files.
// "after" is where the client stands; without it the client starts at the head that the answer
// names. Ranges that only ORIGIN wrote are not sent; the next one then continues from before them.
// "release" is a host's: a helper's hub ends if a host waits for HUB; any other passes it over.
//
// From hub to client, to "subscribe" first the head, then what the client asked for:
//
//     {"account":ACCOUNT,"store":STORE,"generation":G,"state":STATE,"head":N,"oldest":N}
//     RANGE
//     {"resync":ACCOUNT,"store":STORE,"generation":G,"state":STATE,"head":N,"oldest":N}
//     {"account":ACCOUNT,"generation":G,"state":STATE}
//     {"heartbeat":POSITION or null}
//     {"error":CODE,"reason":SENTENCE}
//
// "resync" says that the log does not reach back to where the client stands: it reads a snapshot
// and stands at "head" then. The line with a generation and nothing to read says that the right to
// write has changed hands; no range follows it until the client subscribes again. A heartbeat names
// the position up to which the client has been told everything, null while the hub is behind with
// it. STATE is "active" or "retired". After an error the hub closes.
//
// RANGE, where rows or topics null means any:
//
//     {"account":ACCOUNT,"kind":KIND,"generation":G,"position":POSITION,"commits":[FIRST,LAST],
//      "previous":N,
//      "tables":[{"name":NAME,"rows":[[A,B],…] or null},…],"topics":[TOPIC,…] or null,
//      "origins":[NAME,…],"durable":BOOL,"merged":BOOL}

/// What a client asks for when it subscribes.
package struct SubscriptionRequest: Sendable, Hashable {
    /// The account whose commits are wanted.
    package var account: AccountID
    /// Which of the account's files is meant.
    package var kind: StoreKind
    /// Where the client stands; `nil` where it will read a snapshot after the hub's answer.
    package var after: Position?
    /// The process whose own commits are not wanted.
    package var excludedOrigin: String?

    /// A request.
    package init(
        account: AccountID,
        kind: StoreKind = .messages,
        after: Position?,
        excludedOrigin: String? = nil
    ) {
        self.account = account
        self.kind = kind
        self.after = after
        self.excludedOrigin = excludedOrigin
    }

    /// The stream that is wanted.
    var stream: StreamName { StreamName(account, kind) }
}

/// A line from a client.
enum ClientLine: Sendable, Hashable {
    case subscribe(SubscriptionRequest)
    case announce(ChangeRange)
    case release
    /// Asks for the numbers of the hub's process.
    case askMetrics
}

/// A line from the hub.
package enum HubLine: Sendable, Hashable {
    /// The answer to a subscription.
    case head(AccountID, StoreHead)
    /// Commits.
    case range(ChangeRange)
    /// The log does not reach back: start from a snapshot.
    case resync(AccountID, StoreHead)
    /// The right to write the account has changed hands; nothing of it follows.
    case generation(AccountID, GenerationChange)
    /// The hub lives, and everything up to the position was told.
    case heartbeat(Position?)
    /// The hub closes, and says why.
    case error(code: String, reason: String)
}

/// Encodes lines. Decoding stands beside it in an extension of the same name.
package enum NotifierLine {
    /// The largest magnitude that every reader of JSON holds exactly.
    private static let exactIntegerMax: Int64 = 1 << 53 - 1

    /// The code of the error with which a hub that ends says good-bye.
    static let closingCode = "closing"
    /// The code of the error that says that an account cannot be read now.
    static let unavailableCode = "unavailable"
    /// The codes after which another attempt may soon succeed.
    package static let passingCodes: Set<String> = [closingCode, unavailableCode]

    /// Encodes the line by which a host asks for the hub.
    static func encodeRelease() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("release")
        writer.string("hub")
        writer.endObject()
        writer.endLine()
        return writer.bytes
    }

    /// Encodes the line by which somebody asks for something that is answered once.
    static func encodeAsk(_ what: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("ask")
        writer.string(what)
        writer.endObject()
        writer.endLine()
        return writer.bytes
    }

    /// Encodes a client's line with its newline; `nil` when it cannot be brought below the limit.
    static func encode(_ line: ClientLine, byteCountMax: Int) -> [UInt8]? {
        switch line {
        case .subscribe(let request):
            var writer = JSONWriter()
            writer.beginObject()
            writer.key("subscribe")
            writer.string(utf8: request.account.bytes)
            write(request.kind, into: &writer)
            writer.key("after")
            write(request.after, into: &writer)
            if let origin = request.excludedOrigin {
                writer.key("without")
                writer.string(origin)
            }
            writer.endObject()
            writer.endLine()
            return writer.bytes.count <= byteCountMax ? writer.bytes : nil
        case .announce(let range):
            return encodeShrinking(byteCountMax) { writer, detail in
                writer.beginObject()
                writer.key("announce")
                write(range, detail, into: &writer)
                writer.endObject()
            }
        case .release: return encodeRelease()
        case .askMetrics: return encodeAsk("metrics")
        }
    }

    /// Encodes a hub's line with its newline; `nil` when a range cannot be brought below the limit.
    /// The other lines are far below it: an account id has at most 512 bytes.
    static func encode(_ line: HubLine, byteCountMax: Int) -> [UInt8]? {
        if case .range(let range) = line {
            return encodeShrinking(byteCountMax) { writer, detail in
                write(range, detail, into: &writer)
            }
        }
        return encodeFixed(line)
    }

    /// Writes a range as an object, with everything that it says.
    package static func write(_ range: ChangeRange, into writer: inout JSONWriter) {
        write(range, .full, into: &writer)
    }

    /// Encodes a line that is no range.
    static func encodeFixed(_ line: HubLine) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        switch line {
        case .range: preconditionFailure("a range has no fixed size")
        case .head(let account, let head):
            writer.key("account")
            writer.string(utf8: account.bytes)
            write(head, into: &writer)
        case .resync(let account, let head):
            writer.key("resync")
            writer.string(utf8: account.bytes)
            write(head, into: &writer)
        case .generation(let account, let change):
            writer.key("account")
            writer.string(utf8: account.bytes)
            write(change, into: &writer)
        case .heartbeat(let position):
            writer.key("heartbeat")
            write(position, into: &writer)
        case .error(let code, let reason):
            writer.key("error")
            writer.string(code)
            writer.key("reason")
            writer.string(reason)
        }
        writer.endObject()
        writer.endLine()
        return writer.bytes
    }

    /// How much of a range is written. Less is still true: it covers more.
    private enum Detail: CaseIterable {
        case full, withoutTopics, withoutTopicsAndRows
    }

    private static func encodeShrinking(
        _ byteCountMax: Int,
        _ write: (inout JSONWriter, Detail) -> Void
    ) -> [UInt8]? {
        for detail in Detail.allCases {
            // One allocation for a usual range; it is encoded after every commit.
            var bytes: [UInt8] = []
            bytes.reserveCapacity(512)
            var writer = JSONWriter(continuing: bytes)
            bytes = []
            write(&writer, detail)
            writer.endLine()
            if writer.bytes.count <= byteCountMax { return writer.bytes }
        }
        return nil
    }

    /// Messages are what is meant where nothing is said: most lines are theirs.
    private static func write(_ kind: StoreKind, into writer: inout JSONWriter) {
        guard kind != .messages else { return }
        writer.key("kind")
        writer.string(kind.rawValue)
    }

    private static func write(_ position: Position?, into writer: inout JSONWriter) {
        if let position { writer.string(position.description) } else { writer.null() }
    }

    private static func write(_ change: GenerationChange, into writer: inout JSONWriter) {
        writer.key("generation")
        writer.integer(change.generation.rawValue)
        writer.key("state")
        writer.string(change.state.rawValue)
    }

    private static func write(_ head: StoreHead, into writer: inout JSONWriter) {
        writer.key("store")
        writer.string(head.store.description)
        write(head.change, into: &writer)
        writer.key("head")
        writer.integer(head.head.rawValue)
        writer.key("oldest")
        writer.integer(head.oldest.rawValue)
    }

    private static func write(
        _ range: ChangeRange,
        _ detail: Detail,
        into writer: inout JSONWriter
    ) {
        writer.beginObject()
        writer.key("account")
        writer.string(utf8: range.account.bytes)
        write(range.kind, into: &writer)
        writer.key("generation")
        writer.integer(range.generation.rawValue)
        writer.key("position")
        writer.string(range.position.description)
        writer.key("commits")
        writePair(range.first.rawValue, range.last.rawValue, into: &writer)
        writer.key("previous")
        writer.integer(range.predecessor.rawValue)
        writer.key("tables")
        writer.beginArray()
        for table in range.tables { write(table, detail, into: &writer) }
        writer.endArray()
        writer.key("topics")
        write(topics: detail == .full ? range.topics : nil, into: &writer)
        writer.key("origins")
        writer.beginArray()
        for origin in range.origins { writer.string(origin) }
        writer.endArray()
        writer.key("durable")
        writer.bool(range.isDurable)
        writer.key("merged")
        writer.bool(range.isMerged)
        writer.endObject()
    }

    private static func write(
        _ table: TableChange,
        _ detail: Detail,
        into writer: inout JSONWriter
    ) {
        writer.beginObject()
        writer.key("name")
        writer.string(table.name)
        writer.key("rows")
        // An app may use any 64-bit row id, and not every reader of JSON holds those exactly.
        if detail != .withoutTopicsAndRows, let rows = table.rows, rows.ranges.allSatisfy(isExact) {
            writer.beginArray()
            for range in rows.ranges {
                writePair(range.lowerBound, range.upperBound, into: &writer)
            }
            writer.endArray()
        } else {
            writer.null()
        }
        writer.endObject()
    }

    /// A topic that is no text cannot stand in JSON: then any may be meant.
    private static func write(topics: [[UInt8]]?, into writer: inout JSONWriter) {
        guard let topics, topics.allSatisfy({ $0.withUnsafeBytes(isUTF8) }) else {
            return writer.null()
        }
        writer.beginArray()
        for topic in topics { writer.string(utf8: topic) }
        writer.endArray()
    }

    private static func writePair(_ first: Int64, _ last: Int64, into writer: inout JSONWriter) {
        writer.beginArray()
        writer.integer(first)
        writer.integer(last)
        writer.endArray()
    }

    private static func isExact(_ rows: ClosedRange<Int64>) -> Bool {
        rows.lowerBound >= -exactIntegerMax && rows.upperBound <= exactIntegerMax
    }
}

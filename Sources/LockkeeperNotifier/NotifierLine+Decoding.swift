import LockkeeperDomain

// Decoding of the lines that are described where they are encoded.
extension NotifierLine {
    /// Decodes a client's line.
    ///
    /// - Throws: ``NotifierError/invalidLine(reason:)``.
    static func decodeClientLine(
        _ line: UnsafeRawBufferPointer
    ) throws(NotifierError) -> ClientLine {
        let fields = try Fields(line)
        if let announced = fields.announced.first { return .announce(try announced.range()) }
        if fields.release == "hub" { return .release }
        if fields.ask == "metrics" { return .askMetrics }
        guard let subscribed = fields.subscribe else {
            throw .invalidLine(reason: "it holds neither \"subscribe\" nor \"announce\"")
        }
        return .subscribe(
            SubscriptionRequest(
                account: try accountID(subscribed),
                kind: try fields.storeKind(),
                after: try fields.after.position(),
                excludedOrigin: fields.without
            )
        )
    }

    /// Decodes a hub's line.
    ///
    /// - Throws: ``NotifierError/invalidLine(reason:)``.
    package static func decodeHubLine(
        _ line: UnsafeRawBufferPointer
    ) throws(NotifierError) -> HubLine {
        let fields = try Fields(line)
        if fields.isHeartbeat { return .heartbeat(try fields.heartbeat.position()) }
        if let code = fields.error { return .error(code: code, reason: fields.reason ?? "") }
        if let resync = fields.resync { return .resync(try accountID(resync), try fields.head()) }
        if fields.commits != nil { return .range(try fields.range()) }
        let account = try accountID(try require(fields.account, "account"))
        if fields.store.isPresent { return .head(account, try fields.head()) }
        return .generation(account, try fields.change())
    }
}

/// Everything that an object of this protocol may hold, before it is known what it is.
private struct Fields {
    var subscribe: [UInt8]?
    var after = Parsed<Position>.absent
    var without: String?
    var release: String?
    /// The range of an announcement: none or one, as an array because a struct cannot hold itself.
    var announced: [Fields] = []
    var account: [UInt8]?
    var kind: String?
    var store = Parsed<StoreIdentity>.absent
    var generation: Int64?
    var state: String?
    var headNumber: Int64?
    var oldest: Int64?
    var position = Parsed<Position>.absent
    var commits: ClosedRange<Int64>?
    var previous: Int64?
    var tables: [TableChange]?
    var topics: [[UInt8]]?
    var origins: [String]?
    var ask: String?
    var isDurable = false
    var isMerged = false
    var resync: [UInt8]?
    var isHeartbeat = false
    var heartbeat = Parsed<Position>.absent
    var error: String?
    var reason: String?

    init(_ line: UnsafeRawBufferPointer) throws(NotifierError) {
        do {
            var scanner = JSONScanner(line)
            try self.init(&scanner, mayAnnounce: true)
            try scanner.finish()
        } catch {
            throw .invalidLine(reason: error.description)
        }
    }

    private init(_ scanner: inout JSONScanner, mayAnnounce: Bool) throws(JSONError) {
        try scanner.beginObject()
        while let key = try scanner.nextKey() {
            switch try scanner.string(key.slice) {
            case "announce" where mayAnnounce:
                announced = [try Fields(&scanner, mayAnnounce: false)]
            case "commits": commits = try readPair(&scanner)
            case "tables": tables = try readTables(&scanner)
            case "topics": topics = try readTopics(&scanner)
            case "origins": origins = try readOrigins(&scanner)
            case let name: try readScalar(name, &scanner)
            }
        }
    }

    private mutating func readScalar(
        _ name: String,
        _ scanner: inout JSONScanner
    ) throws(JSONError) {
        switch name {
        case "subscribe": subscribe = try scanner.readStringBytes()
        case "after": after = try readParsed(&scanner, Position.init(utf8:))
        case "without": without = try readOptionalString(&scanner)
        case "release": release = try scanner.readString()
        case "ask": ask = try scanner.readString()
        case "account": account = try scanner.readStringBytes()
        case "kind": kind = try scanner.readString()
        case "store": store = try readParsed(&scanner, StoreIdentity.init(utf8:))
        case "generation": generation = try scanner.readInteger()
        case "state": state = try scanner.readString()
        case "head": headNumber = try scanner.readInteger()
        case "oldest": oldest = try scanner.readInteger()
        case "position": position = try readParsed(&scanner, Position.init(utf8:))
        case "previous": previous = try scanner.readInteger()
        case "durable": isDurable = try scanner.readBool()
        case "merged": isMerged = try scanner.readBool()
        case "resync": resync = try scanner.readStringBytes()
        case "heartbeat":
            isHeartbeat = true
            heartbeat = try readParsed(&scanner, Position.init(utf8:))
        case "error": error = try scanner.readString()
        case "reason": reason = try scanner.readString()
        default: _ = try scanner.nextValue()
        }
    }

    func storeKind() throws(NotifierError) -> StoreKind {
        guard let kind else { return .messages }
        guard let known = StoreKind(rawValue: kind) else {
            throw .invalidLine(reason: "\"kind\" is neither \"messages\" nor \"settings\"")
        }
        return known
    }

    func head() throws(NotifierError) -> StoreHead {
        let store = try require(
            try store.get(orSaying: "\"store\" is not 32 hexadecimal digits"),
            "store"
        )
        let change = try change()
        return StoreHead(
            store: store,
            generation: change.generation,
            state: change.state,
            head: try commitNumber(headNumber, "head"),
            oldest: try commitNumber(oldest, "oldest")
        )
    }

    func change() throws(NotifierError) -> GenerationChange {
        guard let state = AccountState(rawValue: try require(state, "state")) else {
            throw .invalidLine(reason: "\"state\" is neither \"active\" nor \"retired\"")
        }
        return GenerationChange(
            generation: Generation(try require(generation, "generation")),
            state: state
        )
    }

    func range() throws(NotifierError) -> ChangeRange {
        let position = try require(try position.position(), "position")
        let commits = try require(commits, "commits")
        let previous = try require(previous, "previous")
        guard previous >= 0, previous < commits.lowerBound,
            commits.upperBound == position.commit.rawValue
        else {
            throw .invalidLine(reason: "\"previous\", \"commits\" and \"position\" do not agree")
        }
        return ChangeRange(
            account: try accountID(try require(account, "account")),
            kind: try storeKind(),
            store: position.store,
            generation: Generation(try require(generation, "generation")),
            predecessor: CommitNumber(previous),
            commits: CommitNumber(commits.lowerBound)...CommitNumber(commits.upperBound),
            tables: try require(tables, "tables"),
            topics: topics,
            origins: try require(origins, "origins"),
            isDurable: isDurable,
            isMerged: isMerged
        )
    }
}

private func require<Value>(_ value: Value?, _ name: String) throws(NotifierError) -> Value {
    guard let value else { throw .invalidLine(reason: "\"\(name)\" is missing") }
    return value
}

private func commitNumber(_ value: Int64?, _ name: String) throws(NotifierError) -> CommitNumber {
    let number = try require(value, name)
    guard number >= 0 else { throw .invalidLine(reason: "\"\(name)\" is negative") }
    return CommitNumber(number)
}

private func accountID(_ bytes: [UInt8]) throws(NotifierError) -> AccountID {
    do {
        return try AccountID(bytes: bytes)
    } catch {
        throw .invalidLine(reason: error.description)
    }
}

/// What came of a string that is read where it stands, without a copy of it. What is wrong with it is
/// said by whoever needs it.
private enum Parsed<Value> {
    /// There was no such key, or null.
    case absent
    case malformed
    case value(Value)

    var isPresent: Bool {
        if case .absent = self { false } else { true }
    }

    func get(orSaying reason: String) throws(NotifierError) -> Value? {
        switch self {
        case .absent: return nil
        case .malformed: throw .invalidLine(reason: reason)
        case .value(let value): return value
        }
    }
}

extension Parsed<Position> {
    func position() throws(NotifierError) -> Position? {
        try get(orSaying: "a position is written STORE:N")
    }
}

private func readParsed<Value>(
    _ scanner: inout JSONScanner,
    _ parse: (UnsafeRawBufferPointer) -> Value?
) throws(JSONError) -> Parsed<Value> {
    if try scanner.readNull() { return .absent }
    let slice = try scanner.nextValue()
    let value: Value?
    if let text = scanner.plainText(slice) {
        value = parse(text)
    } else {
        value = try scanner.stringBytes(slice).withUnsafeBytes(parse)
    }
    return value.map(Parsed.value) ?? .malformed
}

private func readOptionalString(_ scanner: inout JSONScanner) throws(JSONError) -> String? {
    try scanner.readNull() ? nil : try scanner.readString()
}

/// Two integers in ascending order.
private func readPair(_ scanner: inout JSONScanner) throws(JSONError) -> ClosedRange<Int64> {
    let offset = scanner.position
    try scanner.beginArray()
    var values: [Int64] = []
    while try scanner.nextElement() { values.append(try scanner.readInteger()) }
    guard values.count == 2, values[0] <= values[1] else {
        throw JSONError(.mistyped(expected: .array), at: offset)
    }
    return values[0]...values[1]
}

private func readTables(_ scanner: inout JSONScanner) throws(JSONError) -> [TableChange] {
    var tables: [TableChange] = []
    try scanner.beginArray()
    while try scanner.nextElement() {
        var name: String?
        var rows: RowRanges?
        let offset = scanner.position
        try scanner.beginObject()
        while let key = try scanner.nextKey() {
            switch try scanner.string(key.slice) {
            case "name": name = try scanner.readString()
            case "rows": rows = try readRows(&scanner)
            default: _ = try scanner.nextValue()
            }
        }
        guard let name else { throw JSONError(.mistyped(expected: .object), at: offset) }
        tables.append(TableChange(name: name, rows: rows))
    }
    return tables
}

private func readRows(_ scanner: inout JSONScanner) throws(JSONError) -> RowRanges? {
    if try scanner.readNull() { return nil }
    var rows = RowRanges()
    try scanner.beginArray()
    while try scanner.nextElement() { rows.insert(try readPair(&scanner)) }
    return rows
}

private func readTopics(_ scanner: inout JSONScanner) throws(JSONError) -> [[UInt8]]? {
    if try scanner.readNull() { return nil }
    var topics: [[UInt8]] = []
    try scanner.beginArray()
    while try scanner.nextElement() { topics.append(try scanner.readStringBytes()) }
    return topics
}

private func readOrigins(_ scanner: inout JSONScanner) throws(JSONError) -> [String] {
    var origins: [String] = []
    try scanner.beginArray()
    while try scanner.nextElement() { origins.append(try scanner.readString()) }
    return origins
}

import LockkeeperDomain

/// The registry's `contract` column: one JSON object.
///
/// | field | value |
/// |---|---|
/// | `redelivers` | boolean |
/// | `resumes_from_cursor` | boolean |
/// | `retention` | "keeps" or "drops" |
/// | `keeps_for_ms` | integer or null |
/// | `scope` | "device" or "account" |
/// | `unknown_cursor` | "refuses", "restarts" or "skips" |
/// | `refuses_doubles` | boolean |
/// | `order` | "unique" or "ties" |
/// | `authority` | "server", "author" or "author-of-edits" |
/// | `streams` | array of objects with the first six fields and `stream`, the stream's id in hexadecimal |
///
/// Version rule: a field that is missing has its default, one that is not known is skipped, a value
/// that is not known is an error.
enum ContractCodec {
    static func encode(_ contract: ServerContract) -> [UInt8] {
        var writer = JSONWriter()
        write(contract, into: &writer)
        return writer.bytes
    }

    /// Writes the object as a value.
    static func write(_ contract: ServerContract, into writer: inout JSONWriter) {
        writer.beginObject()
        writeMembers(of: contract.delivery, into: &writer)
        writer.key("refuses_doubles")
        writer.bool(contract.refusesDoubles)
        writer.key("order")
        writer.string(contract.order.rawValue)
        writer.key("authority")
        writer.string(contract.authority.rawValue)
        writer.key("streams")
        writer.beginArray()
        for (stream, contract) in contract.streams.sorted(by: { $0.key < $1.key }) {
            writer.beginObject()
            writer.key("stream")
            writer.string(stream.bytes.hexadecimal)
            writeMembers(of: contract, into: &writer)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }

    private static func writeMembers(of contract: StreamContract, into writer: inout JSONWriter) {
        writer.key("redelivers")
        writer.bool(contract.redelivers)
        writer.key("resumes_from_cursor")
        writer.bool(contract.resumesFromCursor)
        writer.key("retention")
        writer.string(contract.retention.rawValue)
        writer.key("keeps_for_ms")
        if let keepsFor = contract.keepsFor {
            writer.integer(keepsFor.wholeNanoseconds / 1_000_000)
        } else {
            writer.null()
        }
        writer.key("scope")
        writer.string(contract.scope.rawValue)
        writer.key("unknown_cursor")
        writer.string(contract.unknownCursor.rawValue)
    }

    /// `nil` for what cannot be read.
    static func decode(_ bytes: [UInt8]) -> ServerContract? {
        bytes.withUnsafeBytes { bytes in
            var scanner = JSONScanner(bytes)
            guard let contract = try? read(&scanner), (try? scanner.finish()) != nil else {
                return nil
            }
            return contract
        }
    }

    /// Reads the object as a value.
    static func read(_ scanner: inout JSONScanner) throws(JSONError) -> ServerContract {
        var contract = ServerContract()
        try scanner.beginObject()
        while let key = try scanner.nextKey() {
            if try readMember(key, of: &contract.delivery, &scanner) { continue }
            if scanner.matches(key, "refuses_doubles") {
                contract.refusesDoubles = try scanner.readBool()
            } else if scanner.matches(key, "order") {
                contract.order = try choice(&scanner)
            } else if scanner.matches(key, "authority") {
                contract.authority = try choice(&scanner)
            } else if scanner.matches(key, "streams") {
                try scanner.beginArray()
                while try scanner.nextElement() {
                    let (stream, delivery) = try readStream(&scanner)
                    contract.streams[stream] = delivery
                }
            } else {
                _ = try scanner.nextValue()
            }
        }
        return contract
    }

    private static func readStream(
        _ scanner: inout JSONScanner
    ) throws(JSONError) -> (StreamID, StreamContract) {
        let start = scanner.position
        var id: StreamID?
        var contract = StreamContract()
        try scanner.beginObject()
        while let key = try scanner.nextKey() {
            if try readMember(key, of: &contract, &scanner) { continue }
            if scanner.matches(key, "stream") {
                let bytes = [UInt8](hexadecimal: try scanner.readString()) ?? []
                id = try? StreamID(bytes: bytes)
            } else {
                _ = try scanner.nextValue()
            }
        }
        guard let id else { throw JSONError(.mistyped(expected: .string), at: start) }
        return (id, contract)
    }

    /// Reads a member of a stream's contract.
    ///
    /// - Returns: whether it is one.
    private static func readMember(
        _ key: JSONKey,
        of contract: inout StreamContract,
        _ scanner: inout JSONScanner
    ) throws(JSONError) -> Bool {
        if scanner.matches(key, "redelivers") {
            contract.redelivers = try scanner.readBool()
        } else if scanner.matches(key, "resumes_from_cursor") {
            contract.resumesFromCursor = try scanner.readBool()
        } else if scanner.matches(key, "retention") {
            contract.retention = try choice(&scanner)
        } else if scanner.matches(key, "keeps_for_ms") {
            contract.keepsFor =
                try scanner.readNull() ? nil : .milliseconds(try scanner.readInteger())
        } else if scanner.matches(key, "scope") {
            contract.scope = try choice(&scanner)
        } else if scanner.matches(key, "unknown_cursor") {
            contract.unknownCursor = try choice(&scanner)
        } else {
            return false
        }
        return true
    }

    private static func choice<Choice: RawRepresentable<String>>(
        _ scanner: inout JSONScanner
    ) throws(JSONError) -> Choice {
        let start = scanner.position
        guard let choice = Choice(rawValue: try scanner.readString()) else {
            throw JSONError(.mistyped(expected: .string), at: start)
        }
        return choice
    }
}

import LockkeeperDomain

/// The registry's `contract` column: one JSON object.
///
/// | field | value |
/// |---|---|
/// | `redelivers` | boolean |
/// | `resumes_from_cursor` | boolean |
/// | `retention` | "keeps" or "drops" |
/// | `refuses_doubles` | boolean |
/// | `order` | "unique" or "ties" |
/// | `authority` | "server" or "author" |
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
        writer.key("redelivers")
        writer.bool(contract.redelivers)
        writer.key("resumes_from_cursor")
        writer.bool(contract.resumesFromCursor)
        writer.key("retention")
        writer.string(contract.retention.rawValue)
        writer.key("refuses_doubles")
        writer.bool(contract.refusesDoubles)
        writer.key("order")
        writer.string(contract.order.rawValue)
        writer.key("authority")
        writer.string(contract.authority.rawValue)
        writer.endObject()
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
            if scanner.matches(key, "redelivers") {
                contract.redelivers = try scanner.readBool()
            } else if scanner.matches(key, "resumes_from_cursor") {
                contract.resumesFromCursor = try scanner.readBool()
            } else if scanner.matches(key, "retention") {
                contract.retention = try choice(&scanner)
            } else if scanner.matches(key, "refuses_doubles") {
                contract.refusesDoubles = try scanner.readBool()
            } else if scanner.matches(key, "order") {
                contract.order = try choice(&scanner)
            } else if scanner.matches(key, "authority") {
                contract.authority = try choice(&scanner)
            } else {
                _ = try scanner.nextValue()
            }
        }
        return contract
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

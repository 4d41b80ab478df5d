import LockkeeperDomain

/// The two JSON columns of a commit-log row. Both are columns of readable text, so that anyone can
/// look at the log with SQLite's own shell.
///
/// `tables`: an array with one object per table, in the order of their names.
///
/// | field | value | meaning |
/// |---|---|---|
/// | `name` | string | the table |
/// | `rows` | array of `[first, last]`, or null | rows that may have changed; null means any |
///
/// `topics`: an array of strings in the order of their bytes, or SQL NULL for any.
///
/// Version rule: a reader skips fields that it does not know; a change that an older reader would
/// misunderstand is a migration.
enum CommitRowCodec {
    /// Writes the tables. Row ids beyond what every reader of JSON keeps exactly become "any".
    static func encode(tables: [TableChange]) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginArray()
        for table in tables {
            writer.beginObject()
            writer.key("name")
            writer.string(table.name)
            writer.key("rows")
            if let ranges = table.rows?.ranges, ranges.allSatisfy(isExact) {
                writer.beginArray()
                for range in ranges {
                    writer.beginArray()
                    writer.integer(range.lowerBound)
                    writer.integer(range.upperBound)
                    writer.endArray()
                }
                writer.endArray()
            } else {
                writer.null()
            }
            writer.endObject()
        }
        writer.endArray()
        return writer.bytes
    }

    /// Writes the topics; `nil` for any. A topic that is not UTF-8 cannot be written exactly, and
    /// another name would hide the change from whoever waits for it.
    static func encode(topics: [[UInt8]]?) -> [UInt8]? {
        guard let topics, topics.allSatisfy({ $0.withUnsafeBytes { isUTF8($0) } }) else {
            return nil
        }
        var writer = JSONWriter()
        writer.beginArray()
        for topic in topics { writer.string(utf8: topic) }
        writer.endArray()
        return writer.bytes
    }

    /// Reads the tables.
    static func decodeTables(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> [TableChange] {
        var scanner = JSONScanner(bytes)
        var tables: [TableChange] = []
        try scanner.beginArray()
        while try scanner.nextElement() { tables.append(try decodeTable(&scanner)) }
        try scanner.finish()
        return tables
    }

    private static func decodeTable(
        _ scanner: inout JSONScanner
    ) throws(JSONError) -> TableChange {
        var name = ""
        var rows: RowRanges?
        try scanner.beginObject()
        while let key = try scanner.nextKey() {
            if scanner.matches(key, "name") {
                name = try scanner.readString()
            } else if scanner.matches(key, "rows") {
                rows = try decodeRows(&scanner)
            } else {
                _ = try scanner.nextValue()
            }
        }
        return TableChange(name: name, rows: rows)
    }

    private static func decodeRows(_ scanner: inout JSONScanner) throws(JSONError) -> RowRanges? {
        if try scanner.readNull() { return nil }
        var rows = RowRanges()
        try scanner.beginArray()
        while try scanner.nextElement() {
            let start = scanner.position
            try scanner.beginArray()
            var bounds: [Int64] = []
            while try scanner.nextElement() { bounds.append(try scanner.readInteger()) }
            guard bounds.count == 2, bounds[0] <= bounds[1] else {
                throw JSONError(.unexpectedByte, at: start)
            }
            rows.insert(bounds[0]...bounds[1])
        }
        return rows
    }

    /// Reads the topics.
    static func decodeTopics(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> [[UInt8]] {
        var scanner = JSONScanner(bytes)
        var topics: [[UInt8]] = []
        try scanner.beginArray()
        while try scanner.nextElement() { topics.append(try scanner.readStringBytes()) }
        try scanner.finish()
        return topics
    }

    private static func isExact(_ range: ClosedRange<Int64>) -> Bool {
        range.lowerBound >= -JSONScanner.integerMax && range.upperBound <= JSONScanner.integerMax
    }
}

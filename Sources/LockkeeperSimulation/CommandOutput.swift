import LockkeeperDomain

/// A line that `lockkeeper` printed, as far as a run of several processes needs it.
package enum CommandOutput: Sendable, Hashable {
    /// A host serves.
    case ready
    /// A batch was stored.
    case receipt(ReceiptLine)
    /// An `ingest` has ended.
    case summary(refusedCount: Int)
    /// A `tail` saw commits.
    case range(ClosedRange<Int64>)
    /// Something else.
    case other

    /// A receipt of `ingest`.
    package struct ReceiptLine: Sendable, Hashable {
        /// The commit; `nil` where nothing changed.
        package var commit: Int64?
        /// The first and last line of the input that it is for.
        package var lines: ClosedRange<Int>
        /// Messages that are shown and were not.
        package var inserted = 0
        /// Events that changed something else.
        package var updated = 0
        /// Events that said nothing new, or something that was overtaken.
        package var repeated = 0
        /// Events whose bytes were put aside.
        package var quarantined = 0
        /// How long the batch stood in line for admission.
        package var waited: Duration = .zero

        /// Events in all.
        package var eventCount: Int { inserted + updated + repeated + quarantined }
    }

    /// Reads a line.
    ///
    /// - Throws: `JSONError` when it is no JSON object, or a field of a known line is mistyped.
    package init(_ line: [UInt8]) throws {
        self = try line.withUnsafeBytes { bytes in
            var scanner = JSONScanner(bytes)
            var fields = Fields()
            try scanner.beginObject()
            while let key = try scanner.nextKey() { try fields.read(key, from: &scanner) }
            try scanner.finish()
            return fields.output
        }
    }

    /// The fields of one line, of whatever kind it turns out to be.
    private struct Fields {
        var output: CommandOutput { special ?? receiptOutput ?? .other }

        private var special: CommandOutput?
        private var lines: ClosedRange<Int>?
        private var receipt = ReceiptLine(commit: nil, lines: 0...0)

        private var receiptOutput: CommandOutput? {
            guard let lines else { return nil }
            var receipt = receipt
            receipt.lines = lines
            return .receipt(receipt)
        }

        mutating func read(_ key: JSONKey, from scanner: inout JSONScanner) throws {
            switch true {
            case scanner.matches(key, "ready"):
                special = .ready
                _ = try scanner.nextValue()
            case scanner.matches(key, "summary"):
                special = .summary(refusedCount: try Self.refusedCount(&scanner))
            case scanner.matches(key, "commits"):
                special = .range(try Self.pair(&scanner))
            case scanner.matches(key, "lines"):
                let pair = try Self.pair(&scanner)
                lines = Int(pair.lowerBound)...Int(pair.upperBound)
            case scanner.matches(key, "commit"):
                if try !scanner.readNull() { receipt.commit = try scanner.readInteger() }
            default: try readCount(key, from: &scanner)
            }
        }

        private mutating func readCount(
            _ key: JSONKey,
            from scanner: inout JSONScanner
        ) throws {
            switch true {
            case scanner.matches(key, "inserted"):
                receipt.inserted = Int(try scanner.readInteger())
            case scanner.matches(key, "updated"):
                receipt.updated = Int(try scanner.readInteger())
            case scanner.matches(key, "duplicate"), scanner.matches(key, "stale"):
                receipt.repeated += Int(try scanner.readInteger())
            case scanner.matches(key, "quarantined"):
                receipt.quarantined = Int(try scanner.readInteger())
            case scanner.matches(key, "waited_ms"):
                let text = String(
                    decoding: scanner.rawBytes(try scanner.nextValue()),
                    as: UTF8.self
                )
                receipt.waited = .microseconds(Int64((Double(text) ?? 0) * 1000))
            default: _ = try scanner.nextValue()
            }
        }

        private static func refusedCount(_ scanner: inout JSONScanner) throws -> Int {
            var count = 0
            try scanner.beginObject()
            while let key = try scanner.nextKey() {
                if scanner.matches(key, "refused") {
                    count = Int(try scanner.readInteger())
                } else {
                    _ = try scanner.nextValue()
                }
            }
            return count
        }

        private static func pair(_ scanner: inout JSONScanner) throws -> ClosedRange<Int64> {
            var numbers: [Int64] = []
            try scanner.beginArray()
            while try scanner.nextElement() { numbers.append(try scanner.readInteger()) }
            guard numbers.count == 2, numbers[0] <= numbers[1] else {
                throw SimulationError.unreadableOutput(
                    process: "lockkeeper",
                    line: "a pair of numbers was expected"
                )
            }
            return numbers[0]...numbers[1]
        }
    }
}

/// Cuts a stream of bytes into lines; what has no end yet waits for the rest.
///
/// Bounded: a line that grows past the limit is an error, however slowly it grows (B108).
struct LineBuffer {
    private let byteCountMax: Int
    private var partial: [UInt8] = []

    /// What came of some bytes.
    enum LimitError: Error { case lineTooLong }

    init(byteCountMax: Int) { self.byteCountMax = byteCountMax }

    /// Whether a line has begun and not ended.
    var isInsideLine: Bool { !partial.isEmpty }

    /// Takes bytes and calls `body` for each line that they complete, without its newline. Lines
    /// that are empty are skipped: a person at the other end may press return.
    ///
    /// - Throws: `LimitError` when a line is too long; those before it were given.
    mutating func append(
        _ bytes: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(LimitError) {
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = rest[..<end]
            rest = rest[(end + 1)...]
            guard partial.count + line.count <= byteCountMax else { throw .lineTooLong }
            if partial.isEmpty {
                // The usual case: the line arrived whole and is read where it lies.
                if !line.isEmpty { body(UnsafeRawBufferPointer(rebasing: line)) }
            } else {
                partial.append(contentsOf: line)
                partial.withUnsafeBytes(body)
                partial.removeAll(keepingCapacity: true)
            }
        }
        guard partial.count + rest.count <= byteCountMax else { throw .lineTooLong }
        partial.append(contentsOf: rest)
    }
}

import LockkeeperDomain
import LockkeeperMessages
import Testing

@Suite struct EventLineReaderTests {
    /// What a reader handed out, with the parts of an over-long line joined.
    enum Found: Equatable {
        case line(Int, String)
        case overlong(Int, whole: String, prefix: String, byteCount: Int)
    }

    @Test("Lines are numbered and freed of line ends and mark, however the stream is split")
    func splitsAnywhere() {
        let stream = "\u{FEFF}one\r\n\n\r\ntwo\r\r\n\u{FEFF}three\nfour"
        let expected: [Found] = [
            .line(1, "one"), .line(4, "two\r"), .line(5, "\u{FEFF}three"), .line(6, "four"),
        ]
        expectAlways(expected, of: stream, limits: Limits())
    }

    @Test(
        "A stream without a last line end, with one, and an empty one end alike",
        arguments: [
            ("", []), ("\n\n", []), ("\u{FEFF}", []), ("\u{FEFF}\r\n", []), ("a", ["a"]),
            ("a\n", ["a"]), ("a\r\n", ["a"]), ("a\r", ["a"]), ("\u{FEFF}a\n\n", ["a"]),
        ]
    )
    func endsAlike(stream: String, lines: [String]) {
        expectAlways(lines.map { .line(1, $0) }, of: stream, limits: Limits())
    }

    @Test("A line over the bound is given in parts with its length, and the next one is read")
    func reportsOverlongLines() {
        var limits = Limits()
        limits.lineByteCountMax = 8
        limits.quarantinedByteCountMax = 5
        let stream = "12345678\r\n123456789\n1234567890123456789012345\r\nok\n123456789"
        let long = "1234567890123456789012345\r"
        let expected: [Found] = [
            .line(1, "12345678"),
            .overlong(2, whole: "123456789", prefix: "12345", byteCount: 9),
            .overlong(3, whole: long, prefix: "12345", byteCount: 26),
            .line(4, "ok"),
            .overlong(5, whole: "123456789", prefix: "12345", byteCount: 9),
        ]
        expectAlways(expected, of: stream, limits: limits)
        // The mark counts for neither the bound nor the line.
        expectAlways(
            [.line(1, "12345678"), .line(2, "x")],
            of: "\u{FEFF}12345678\r\nx",
            limits: limits
        )
        expectAlways(
            [.overlong(1, whole: "123456789012", prefix: "12345", byteCount: 12)],
            of: "\u{FEFF}123456789012",
            limits: limits
        )
    }

    @Test("A line of any length is kept no further than the bound")
    func staysFlat() {
        var limits = Limits()
        limits.lineByteCountMax = 1000
        limits.quarantinedByteCountMax = 100
        var reader = EventLineReader(limits: limits)
        let chunk = [UInt8](repeating: 0x78, count: 64 * 1024)
        var partBytes = 0
        for _ in 0..<1000 {
            chunk.withUnsafeBytes { chunk in
                reader.feed(chunk) { piece in
                    if case .overlongPart(_, let bytes) = piece { partBytes += bytes.count }
                }
            }
            #expect(reader.bufferedByteCount <= 1004)
        }
        #expect(partBytes == 1000 * chunk.count)
    }

    @Test("What the taker throws comes out of the reader")
    func passesErrorsOn() {
        var reader = EventLineReader()
        let stream = Array("a\nb\n".utf8)
        let error = EventError(.notJSON, reason: "no")
        #expect(throws: error) {
            try stream.withUnsafeBufferPointer { stream throws(EventError) in
                try reader.feed(UnsafeRawBufferPointer(stream)) { _ throws(EventError) in
                    throw error
                }
            }
        }
    }

    /// Feeds a stream in chunks of every size, and cut in two at every place.
    private func expectAlways(_ expected: [Found], of stream: String, limits: Limits) {
        let bytes = Array(stream.utf8)
        for size in 1...max(1, bytes.count) {
            let chunks = stride(from: 0, to: bytes.count, by: size).map {
                Array(bytes[$0..<min($0 + size, bytes.count)])
            }
            #expect(read(chunks, limits) == expected, "chunks of \(size)")
            let halves = [Array(bytes.prefix(size)), [], Array(bytes.dropFirst(size))]
            #expect(read(halves, limits) == expected, "cut at \(size)")
        }
    }

    private func read(_ chunks: [[UInt8]], _ limits: Limits) -> [Found] {
        var found: [Found] = []
        var whole: [UInt8] = []
        var reader = EventLineReader(limits: limits)
        func take(_ piece: EventLineReader.Piece) {
            switch piece {
            case .line(let number, let bytes):
                found.append(.line(number, String(decoding: bytes, as: UTF8.self)))
            case .overlongPart(_, let bytes):
                whole += bytes
            case .overlongEnd(let number, let prefix, let byteCount):
                found.append(
                    .overlong(
                        number,
                        whole: String(decoding: whole, as: UTF8.self),
                        prefix: String(decoding: prefix, as: UTF8.self),
                        byteCount: byteCount
                    )
                )
                whole = []
            }
        }
        for chunk in chunks {
            chunk.withUnsafeBytes { reader.feed($0, take: take) }
        }
        reader.finish(take: take)
        return found
    }
}

import LockkeeperCrypto
package import LockkeeperDomain

/// Makes decoded lines of a stream of bytes, with flat memory.
///
/// It joins the ``EventLineReader``, which cuts the stream, with the ``EventDecoder``, which reads
/// one line, and computes the digest of lines that are too long to be kept.
package struct LineDecoder {
    private var reader: EventLineReader
    fileprivate var lines: Lines

    /// What is made of the pieces that the reader cuts.
    fileprivate struct Lines {
        var decoder: EventDecoder
        let lineByteCountMax: Int
        // The digest of the over-long line that is being read.
        var digest: SHA256?
    }

    /// A decoder at the start of a stream.
    package init(limits: Limits = Limits()) {
        reader = EventLineReader(limits: limits)
        lines = Lines(
            decoder: EventDecoder(limits: limits),
            lineByteCountMax: limits.lineByteCountMax
        )
    }

    /// Takes the next bytes and hands out the lines that they complete, each with its number and,
    /// where it is no event, with the reason. Once `take` has thrown, the decoder is of no more use.
    package mutating func feed<Failure: Error>(
        _ bytes: UnsafeRawBufferPointer,
        take: (Int, DecodedLine, EventError?) throws(Failure) -> Void
    ) throws(Failure) {
        try reader.feed(bytes) { (piece) throws(Failure) in try lines.decode(piece, take: take) }
    }

    /// Says that the stream has ended, and hands out a last line that has no end.
    package mutating func finish<Failure: Error>(
        take: (Int, DecodedLine, EventError?) throws(Failure) -> Void
    ) throws(Failure) {
        try reader.finish { (piece) throws(Failure) in try lines.decode(piece, take: take) }
    }
}

extension LineDecoder.Lines {
    fileprivate mutating func decode<Failure: Error>(
        _ piece: EventLineReader.Piece,
        take: (Int, DecodedLine, EventError?) throws(Failure) -> Void
    ) throws(Failure) {
        switch piece {
        case .line(let number, let bytes):
            let (line, error) = decode(bytes)
            try take(number, line, error)
        case .overlongPart(_, let bytes):
            if digest == nil { digest = SHA256() }
            digest?.update(bytes)
        case .overlongEnd(let number, let prefix, let byteCount):
            guard let digest = self.digest.take() else {
                preconditionFailure("an over-long line has had its parts before its end")
            }
            let error = EventError(
                .lineTooLong,
                reason: "a line has at most \(lineByteCountMax) bytes, this one has \(byteCount)"
            )
            let line = UnreadableLine(
                prefix: prefix,
                byteCount: byteCount,
                digest: digest.finalize(),
                error
            )
            try take(number, DecodedLine(line), error)
        }
    }

    private mutating func decode(
        _ bytes: UnsafeRawBufferPointer
    ) -> (line: DecodedLine, error: EventError?) {
        do throws(EventError) {
            return (DecodedLine(try decoder.decode(line: bytes), byteCount: bytes.count), nil)
        } catch {
            return (DecodedLine(UnreadableLine(bytes, error)), error)
        }
    }
}

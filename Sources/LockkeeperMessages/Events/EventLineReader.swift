internal import Glibc
public import LockkeeperDomain

/// Cuts a stream of bytes into event lines, with flat memory.
///
/// Lines end at byte 10. A carriage return before it and a byte-order mark at the very start of the
/// stream are cut off, a missing last line end is no matter, empty lines, also of spaces, are counted and passed
/// over. A line longer than the bound is handed out in pieces and kept only up to
/// ``Limits/quarantinedByteCountMax``.
///
/// States: *collecting* (`pending` holds the start of a line, whole) and *overlong* (`pending`
/// holds the first bytes of a line that is too long to be kept).
/// - collecting → overlong: `collect` when no end can make the line short enough any more,
///   `handOut` when the end has come and the line is too long.
/// - overlong → collecting: `endLine`, which reports the line.
public struct EventLineReader {
    /// The number of the line that comes next, from 1.
    public private(set) var lineNumber = 1

    private let byteCountMax: Int
    private let keptByteCountMax: Int
    private var pending: [UInt8] = []
    private var isOverlong = false
    private var overlongByteCount = 0

    /// Bytes that are kept for a line whose end has not come: at most a line and four bytes more.
    package var bufferedByteCount: Int { pending.count }

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    // A buffer that one long line made is not kept for all the short ones behind it.
    private static let keptCapacity = 256 * 1024

    /// What was found. The bytes are borrowed until the callback returns.
    public enum Piece {
        /// A line without its end.
        case line(number: Int, bytes: UnsafeRawBufferPointer)
        /// The next bytes of a line that is too long, for whoever computes its digest.
        case overlongPart(number: Int, bytes: UnsafeRawBufferPointer)
        /// The end of a line that is too long: its first bytes, and how many it had.
        case overlongEnd(number: Int, prefix: UnsafeRawBufferPointer, byteCount: Int)
    }

    /// A reader at the start of a stream.
    public init(limits: Limits = Limits()) {
        byteCountMax = limits.lineByteCountMax
        keptByteCountMax = min(limits.quarantinedByteCountMax, limits.lineByteCountMax)
    }

    /// Takes the next bytes of the stream and hands out what they complete. Once `take` has thrown,
    /// the reader is of no more use.
    public mutating func feed<Failure: Error>(
        _ chunk: UnsafeRawBufferPointer,
        take: (Piece) throws(Failure) -> Void
    ) throws(Failure) {
        var rest = chunk
        while let end = lineEnd(in: rest) {
            try endLine(UnsafeRawBufferPointer(rebasing: rest[..<end]), take: take)
            rest = UnsafeRawBufferPointer(rebasing: rest[(end + 1)...])
        }
        try collect(rest, take: take)
    }

    /// Says that the stream has ended, and hands out a last line that has no end.
    public mutating func finish<Failure: Error>(
        take: (Piece) throws(Failure) -> Void
    ) throws(Failure) {
        let isStarted = isOverlong || !pending.isEmpty
        if isStarted { try endLine(UnsafeRawBufferPointer(start: nil, count: 0), take: take) }
    }

    /// Keeps the next bytes of a line whose end has not come.
    private mutating func collect<Failure: Error>(
        _ bytes: UnsafeRawBufferPointer,
        take: (Piece) throws(Failure) -> Void
    ) throws(Failure) {
        var rest = bytes
        if !isOverlong {
            // A byte-order mark and a carriage return do not count: they may still be cut off.
            let room = byteCountMax + Self.byteOrderMark.count + 1 - pending.count
            pending += rest.prefix(room)
            if rest.count <= room { return }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(room))
            let start = pending
            try start.withUnsafeBufferPointer { start throws(Failure) in
                try beginOverlong(UnsafeRawBufferPointer(start), take: take)
            }
        }
        try continueOverlong(rest, take: take)
    }

    /// Ends a line whose last bytes are these.
    private mutating func endLine<Failure: Error>(
        _ bytes: UnsafeRawBufferPointer,
        take: (Piece) throws(Failure) -> Void
    ) throws(Failure) {
        if isOverlong || !pending.isEmpty {
            try collect(bytes, take: take)
            if !isOverlong {
                let line = pending
                try line.withUnsafeBufferPointer { line throws(Failure) in
                    try handOut(UnsafeRawBufferPointer(line), take: take)
                }
            }
        } else {
            // The common case: the whole line lies in the chunk and is not copied.
            try handOut(bytes, take: take)
        }
        if isOverlong {
            let (number, byteCount) = (lineNumber, overlongByteCount)
            try pending.withUnsafeBufferPointer { prefix throws(Failure) in
                let prefix = UnsafeRawBufferPointer(prefix)
                try take(.overlongEnd(number: number, prefix: prefix, byteCount: byteCount))
            }
        }
        pending.removeAll(keepingCapacity: pending.capacity <= Self.keptCapacity)
        isOverlong = false
        overlongByteCount = 0
        lineNumber += 1
    }

    /// Hands out a line, or turns to *overlong* with it.
    private mutating func handOut<Failure: Error>(
        _ bytes: UnsafeRawBufferPointer,
        take: (Piece) throws(Failure) -> Void
    ) throws(Failure) {
        var line = withoutByteOrderMark(bytes)
        if line.last == UInt8(ascii: "\r") {
            line = UnsafeRawBufferPointer(rebasing: line.dropLast())
        }
        if line.count > byteCountMax {
            // With its carriage return, as where the end came too late to know it for one.
            try beginOverlong(bytes, take: take)
        } else if !line.allSatisfy(Self.isSpace) {
            try take(.line(number: lineNumber, bytes: line))
        }
    }

    private mutating func beginOverlong<Failure: Error>(
        _ start: UnsafeRawBufferPointer,
        take: (Piece) throws(Failure) -> Void
    ) throws(Failure) {
        pending = []
        isOverlong = true
        try continueOverlong(withoutByteOrderMark(start), take: take)
    }

    private mutating func continueOverlong<Failure: Error>(
        _ bytes: UnsafeRawBufferPointer,
        take: (Piece) throws(Failure) -> Void
    ) throws(Failure) {
        guard !bytes.isEmpty else { return }
        pending += bytes.prefix(keptByteCountMax - pending.count)
        overlongByteCount += bytes.count
        try take(.overlongPart(number: lineNumber, bytes: bytes))
    }

    /// The bytes that begin a line, without the mark where the line is the stream's first.
    private func withoutByteOrderMark(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard lineNumber == 1, bytes.starts(with: Self.byteOrderMark) else { return bytes }
        return UnsafeRawBufferPointer(rebasing: bytes.dropFirst(Self.byteOrderMark.count))
    }

    /// A line of nothing but spaces and tabs is an empty one. Any other is left at its first byte.
    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private func lineEnd(in bytes: UnsafeRawBufferPointer) -> Int? {
        guard let start = bytes.baseAddress, let end = memchr(start, 10, bytes.count) else {
            return nil
        }
        return UnsafeRawPointer(end) - start
    }
}

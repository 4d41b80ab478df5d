import LockkeeperPlatform
import LockkeeperSQLite

/// What a log holds of pages (sqlite.org/fileformat2.html, section 4).
///
/// SQLite takes the frames up to the last commit before the first one whose checksum or salts do not
/// hold, and none where the header's does not. A frame's checksum begins with that of the one before it,
/// which stands there, so that frames behind a damaged one can still be told from rubbish. Where it is that
/// statement which is damaged, the next frame's checksum goes on from the one that should stand there, and
/// proves that the page is as it was written.
///
/// Commits behind such a place need not be lost ones: a process that died between its commit's last frame
/// and the log's index leaves frames that the next one overwrites in part, and a power cut leaves what
/// had not come to the disk in order. Which it was is told by the numbers of the commits
/// (``newestCommitBehind``).
struct LogFrames {
    /// Where the newest content of each page stands in the file, as SQLite takes it.
    private(set) var offsets: [Int: Int64] = [:]
    /// Where newer content stands, behind the place at which SQLite's reading ends.
    private(set) var offsetsBehind: [Int: Int64] = [:]
    /// The largest number of a commit that stands in frames behind that place; `nil` where none does.
    private(set) var newestCommitBehind: Int64?

    private static let frameByteCount = LogChecksum.frameHeaderByteCount + RawPages.byteCount

    /// Reads a log; empty where there is none. Other processes may write it meanwhile; what is found then
    /// must be looked at again.
    init(of path: String) throws(SystemCallError) {
        guard try FileSystem.status(path) != nil else { return }
        let file = try FileDescriptor(opening: path)
        let header = try file.readToEnd(limit: LogChecksum.headerByteCount)
        guard header.count == LogChecksum.headerByteCount else { return }
        var chain = Chain(header)
        var reading = Reading()
        var offset = Int64(header.count)
        while case let frame = try file.readToEnd(limit: Self.frameByteCount),
            frame.count == Self.frameByteCount
        {
            let verdict = chain.take(frame)
            if verdict == .soundWithPrevious, let held = reading.held {
                take(held.frame, at: held.offset, &reading, isWhole: chain.isWhole)
            }
            reading.held = nil
            if verdict == .broken {
                reading.held = (frame, offset)
            } else {
                take(frame, at: offset, &reading, isWhole: chain.isWhole)
            }
            offset += Int64(frame.count)
        }
        if newestCommitBehind == nil { offsetsBehind = [:] }
    }

    /// How far a log is read.
    private struct Reading {
        /// Where the pages stand of the transaction that is not at its end.
        var transaction: [Int: Int64] = [:]
        /// The largest number of a commit that was read behind the damaged place.
        var newest: Int64?
        /// A frame whose checksum does not hold; the next one may prove that it alone is damaged.
        var held: (frame: [UInt8], offset: Int64)?
    }

    /// Takes a frame that is as it was written.
    private mutating func take(
        _ frame: [UInt8],
        at offset: Int64,
        _ reading: inout Reading,
        isWhole: Bool
    ) {
        let number = Int(bigEndian(frame[...], 0))
        reading.transaction[number] = offset + Int64(LogChecksum.frameHeaderByteCount)
        if !isWhole {
            let page = Array(frame[LogChecksum.frameHeaderByteCount...])
            let newest = [reading.newest, RawPages.newestCommit(page)]
            reading.newest = newest.compactMap(\.self).max()
        }
        // The last frame of a commit states how many pages the database has then.
        let size = Int(bigEndian(frame[...], 4))
        guard size > 0 else { return }
        if isWhole {
            offsets.merge(reading.transaction) { _, new in new }
        } else {
            let pages = reading.transaction.filter { 1...size ~= $0.key }
            offsetsBehind.merge(pages) { _, new in new }
            newestCommitBehind = reading.newest
        }
        reading.transaction = [:]
    }

    /// Whether frames of the log may stand behind those that its index names. Reads a few headers.
    ///
    /// - Parameter frameCount: how many the index names.
    static func mayHaveMore(
        than frameCount: Int,
        in path: String
    ) throws(SystemCallError) -> Bool {
        guard let size = try FileSystem.status(path)?.size else { return false }
        let file = try FileDescriptor(opening: path)
        let header = try file.bytes(at: 0, count: LogChecksum.headerByteCount)
        guard header.count == LogChecksum.headerByteCount else { return false }
        if !Chain(header).isWhole { return size > Int64(header.count) }
        for number in frameCount..<(frameCount + lookedAtMax) {
            let offset = Int64(header.count) + Int64(number) * Int64(frameByteCount)
            let frame = try file.bytes(at: offset, count: LogChecksum.frameHeaderByteCount)
            guard frame.count == LogChecksum.frameHeaderByteCount else { return false }
            if frame[8..<16] == header[16..<24] { return true }
        }
        return false
    }

    /// More frames than one write of a disk damages: what is behind them is found by a check.
    private static let lookedAtMax = 64
}

/// The chain of checksums, and what holds of it behind a break.
private struct Chain {
    /// Whether it has held from the header on.
    private(set) var isWhole: Bool
    private let isBigEndian: Bool
    /// Whether the next frame's checksum begins with one that is not known.
    private var isUnanchored: Bool
    /// What every frame of this log carries; where the header is damaged, not known before two frames
    /// agree.
    private var salts: ArraySlice<UInt8>?
    /// The checksum of the one before, as it stands there.
    private var last: (UInt32, UInt32)
    /// What should stand there, where something else does.
    private var computed: (UInt32, UInt32)?

    /// What is known of a frame.
    enum Verdict {
        /// It is one of this log, as it was written.
        case sound
        /// It is, and so is the page of the one before, whose checksum alone is damaged.
        case soundWithPrevious
        /// It is not.
        case broken
    }

    init(_ header: [UInt8]) {
        let magic = bigEndian(header[...], 0)
        var sum: (UInt32, UInt32) = (0, 0)
        // The machine's own order, where the header does not say.
        isBigEndian = magic == 0x377f_0683 || magic != 0x377f_0682 && 1.bigEndian == 1
        header.withUnsafeBytes { LogChecksum.add($0, 0..<24, magic & 1 == 1, &sum) }
        last = (bigEndian(header[...], 24), bigEndian(header[...], 28))
        isWhole =
            magic & ~1 == 0x377f_0682 && bigEndian(header[...], 8) == RawPages.byteCount
            && sum == last
        isUnanchored = !isWhole
        if isWhole { salts = header[16..<24] }
    }

    /// Looks at the next frame.
    mutating func take(_ frame: [UInt8]) -> Verdict {
        let own = frame[8..<16]
        let stated = (bigEndian(frame[...], 16), bigEndian(frame[...], 20))
        let sum = sum(of: frame, after: last)
        let fits = (salts ?? own).elementsEqual(own)
        let goesOn = computed.map { self.sum(of: frame, after: $0) == stated } ?? false
        last = stated
        computed = nil
        // The header may be all that is damaged.
        defer { isUnanchored = false }
        if fits, sum == stated || goesOn {
            salts = own
            return sum == stated ? .sound : .soundWithPrevious
        }
        isWhole = false
        if isUnanchored { return .sound }
        if fits { computed = sum }
        return .broken
    }

    private func sum(of frame: [UInt8], after last: (UInt32, UInt32)) -> (UInt32, UInt32) {
        var sum = last
        frame.withUnsafeBytes {
            LogChecksum.add($0, 0..<8, isBigEndian, &sum)
            LogChecksum.add($0, LogChecksum.frameHeaderByteCount..<frame.count, isBigEndian, &sum)
        }
        return sum
    }
}

/// A number of four bytes, the largest first.
func bigEndian(_ bytes: ArraySlice<UInt8>, _ index: Int) -> UInt32 {
    bytes[index..<index + 4].reduce(0) { $0 << 8 | UInt32($1) }
}

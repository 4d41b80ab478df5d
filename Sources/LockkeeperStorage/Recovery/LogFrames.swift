import LockkeeperPlatform

/// What a log holds of pages, as SQLite takes it: the frames up to the last commit before the first one
/// whose checksum or salts do not hold (sqlite.org/fileformat2.html, section 4).
struct LogFrames {
    /// Where the newest content of each page stands in the file.
    private(set) var offsets: [Int: Int64] = [:]
    /// Whether a commit stands behind the place at which reading ends: it was damaged.
    private(set) var isCutShort = false

    private static let headerByteCount = 32
    private static let frameHeaderByteCount = 24

    private struct Sum {
        var first: UInt32 = 0
        var second: UInt32 = 0

        mutating func add(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool) {
            var index = bytes.startIndex
            while index + 8 <= bytes.endIndex {
                let one = word(bytes, index, isBigEndian)
                let two = word(bytes, index + 4, isBigEndian)
                first = first &+ one &+ second
                second = second &+ two &+ first
                index += 8
            }
        }

        private func word(_ bytes: ArraySlice<UInt8>, _ index: Int, _ isBigEndian: Bool) -> UInt32 {
            let word = bigEndian(bytes, index)
            return isBigEndian ? word : word.byteSwapped
        }
    }

    /// Reads a log; empty where there is none.
    init(of path: String) throws(SystemCallError) {
        guard try FileSystem.status(path) != nil else { return }
        let file = try FileDescriptor(opening: path)
        let header = ArraySlice(try file.readToEnd(limit: Self.headerByteCount))
        guard header.count == Self.headerByteCount else { return }
        let magic = bigEndian(header, 0)
        guard magic & ~1 == 0x377f_0682, bigEndian(header, 8) == RawPages.byteCount else { return }
        let isBigEndian = magic & 1 == 1
        var sum = Sum()
        sum.add(header[..<24], isBigEndian: isBigEndian)
        guard sum.first == bigEndian(header, 24), sum.second == bigEndian(header, 28) else {
            return
        }
        var pending: [Int: Int64] = [:]
        var offset = Int64(Self.headerByteCount)
        var isSound = true
        while true {
            let frame = ArraySlice(
                try file.readToEnd(limit: Self.frameHeaderByteCount + RawPages.byteCount)
            )
            guard frame.count == Self.frameHeaderByteCount + RawPages.byteCount else { return }
            let isOfThisLog = frame[8..<16] == header[16..<24]
            if isSound {
                sum.add(frame[..<8], isBigEndian: isBigEndian)
                sum.add(frame[24...], isBigEndian: isBigEndian)
                isSound =
                    isOfThisLog && sum.first == bigEndian(frame, 16)
                    && sum.second == bigEndian(frame, 20)
            }
            let isCommit = bigEndian(frame, 4) != 0
            if isSound {
                pending[Int(bigEndian(frame, 0))] = offset + Int64(Self.frameHeaderByteCount)
                if isCommit {
                    offsets.merge(pending) { _, new in new }
                    pending = [:]
                }
            } else if isOfThisLog, isCommit {
                isCutShort = true
                return
            }
            offset += Int64(frame.count)
        }
    }
}

/// A number of four bytes, the largest first.
func bigEndian(_ bytes: ArraySlice<UInt8>, _ index: Int) -> UInt32 {
    bytes[index..<index + 4].reduce(0) { $0 << 8 | UInt32($1) }
}

import LockkeeperPlatform

/// The pages of a damaged set, read beside SQLite: to find pages with rows that no tree leads to any
/// more, because a page above them is gone (sqlite.org/fileformat2.html, section 1.6).
///
/// What stands on such a page is read by SQLite itself; here it is only found. A page that a table gave
/// back is none: it was overwritten with zeros (`secure_delete`), so that no deleted row comes back.
struct RawPages {
    static let byteCount = 4096

    /// A page with rows of a table.
    struct Leaf {
        let number: Int64
        /// Its first and last row id.
        let rows: ClosedRange<Int64>
        /// How many columns its rows have.
        let columnCount: Int
    }

    private let files: Files
    private let frames: LogFrames
    private let pageCount: Int

    private final class Files {
        let database: FileDescriptor
        /// Where there is none, nothing is read of it.
        let log: FileDescriptor

        init(_ path: String) throws(SystemCallError) {
            database = try FileDescriptor(opening: path)
            let logPath = StoreFiles(path).log
            let hasLog = try FileSystem.status(logPath) != nil
            log = try FileDescriptor(opening: hasLog ? logPath : path)
        }
    }

    /// Opens a set that nobody else has open.
    init(of path: String) throws(SystemCallError) {
        files = try Files(path)
        frames = try LogFrames(of: StoreFiles(path).log)
        let size = Int(try FileSystem.status(path)?.size ?? 0)
        pageCount = max(size / Self.byteCount, frames.offsets.keys.max() ?? 0)
    }

    /// The pages with rows that no tree leads to.
    ///
    /// - Parameter roots: the first pages of all trees of the schema.
    func orphans(roots: [Int64]) throws(SystemCallError) -> [Leaf] {
        var reached: Set<Int> = []
        for root in roots + [1] { try reach(Int(clamping: root), into: &reached) }
        var leaves: [Leaf] = []
        for number in 1...max(1, pageCount) where !reached.contains(number) {
            if let page = try page(number), let leaf = Self.leaf(page, number) {
                leaves.append(leaf)
            }
        }
        return leaves
    }

    /// Whether a page can be the first one of a tree: it is of the right kind, and the rows below have no
    /// more columns than the table. A page that makes no sense may have been anything.
    ///
    /// - Parameters:
    ///   - isOfTable: whether its rows are found by row ids.
    ///   - columnCountMax: the columns of the table; `nil` where they are not known.
    func mayBeginTree(
        at root: Int64,
        ofTable isOfTable: Bool,
        columnCountMax: Int?
    ) throws(SystemCallError) -> Bool {
        var number = Int(clamping: root)
        for _ in 0..<Self.depthMax {
            guard 1...max(1, pageCount) ~= number, let page = try page(number) else { return false }
            let kind = page[number == 1 ? 100 : 0]
            guard [2, 5, 10, 13].contains(kind) else { return true }
            if [5, 13].contains(kind) != isOfTable { return false }
            if kind == 13, let leaf = Self.leaf(page, number), let columnCountMax {
                return leaf.columnCount <= columnCountMax
            }
            guard kind == 5, let child = Self.children(page, number).first else { return true }
            number = child
        }
        return false
    }

    /// SQLite's own bound.
    private static let depthMax = 20

    // MARK: - Trees

    private func reach(_ root: Int, into reached: inout Set<Int>) throws(SystemCallError) {
        var open = [root]
        while let number = open.popLast() {
            guard number > 0, number <= pageCount, reached.insert(number).inserted,
                let page = try page(number)
            else { continue }
            open += Self.children(page, number)
        }
    }

    /// The pages below a page; none below one with rows, and below one that makes no sense.
    private static func children(_ page: [UInt8], _ number: Int) -> [Int] {
        let header = number == 1 ? 100 : 0
        // 2: above entries of an index, 5: above rows.
        guard [2, 5].contains(page[header]) else { return [] }
        let cells = cellOffsets(page, header, pointersAt: 12)
        guard let cells, cells.allSatisfy({ $0 + 4 <= byteCount }) else { return [] }
        return (cells + [header + 8]).map { Int(bigEndian(page[...], $0)) }
    }

    private static func cellOffsets(
        _ page: [UInt8],
        _ header: Int,
        pointersAt start: Int
    ) -> [Int]? {
        let count = Int(page[header + 3]) << 8 | Int(page[header + 4])
        guard header + start + 2 * count <= byteCount else { return nil }
        return (0..<count).map { index in
            let pointer = header + start + 2 * index
            return Int(page[pointer]) << 8 | Int(page[pointer + 1])
        }
    }

    // MARK: - Rows

    private static func leaf(_ page: [UInt8], _ number: Int) -> Leaf? {
        let header = number == 1 ? 100 : 0
        guard page[header] == 13, let cells = cellOffsets(page, header, pointersAt: 8),
            !cells.isEmpty
        else { return nil }
        var rows: [Int64] = []
        var columnCount = 0
        for cell in cells {
            var index = cell
            guard varint(page, &index) != nil, let row = varint(page, &index),
                let count = types(page, index)?.count, rows.last.map({ $0 < row }) ?? true
            else { return nil }
            rows.append(row)
            columnCount = max(columnCount, count)
        }
        return Leaf(
            number: Int64(number),
            rows: rows[0]...rows[rows.count - 1],
            columnCount: columnCount
        )
    }

    /// The largest number of a commit on a page, where it is one of the commit log: its rows are told
    /// from others' by the types of their columns.
    static func newestCommit(_ page: [UInt8]) -> Int64? {
        guard let leaf = leaf(page, 2), leaf.columnCount == 8,
            let cells = cellOffsets(page, 0, pointersAt: 8), var index = cells.last,
            varint(page, &index) != nil, varint(page, &index) != nil,
            let types = types(page, index), types.count == 8
        else { return nil }
        let isText = { (type: Int64) in type >= 13 && type % 2 == 1 }
        let isInteger = { (type: Int64) in 1...6 ~= type || 8...9 ~= type }
        // The number is the row id, and stands for itself; a boot's name is a blob of 16 bytes.
        guard types[0] == 0, isInteger(types[1]), isText(types[2]), isInteger(types[3]),
            [0, 44].contains(types[4]), isInteger(types[5]), isText(types[6]),
            types[7] == 0 || isText(types[7])
        else { return nil }
        return leaf.rows.upperBound
    }

    /// The types of a record's columns, by the list at its beginning.
    private static func types(_ page: [UInt8], _ start: Int) -> [Int64]? {
        var index = start
        guard let size = varint(page, &index), size > 0, size <= byteCount else { return nil }
        let end = start + Int(size)
        var types: [Int64] = []
        while index < end {
            guard let type = varint(page, &index) else { return nil }
            types.append(type)
        }
        return index == end ? types : nil
    }

    private static func varint(_ page: [UInt8], _ index: inout Int) -> Int64? {
        var value: UInt64 = 0
        for position in 0..<9 {
            guard index >= 0, index < page.count else { return nil }
            let byte = page[index]
            index += 1
            if position == 8 { return Int64(bitPattern: value << 8 | UInt64(byte)) }
            value = value << 7 | UInt64(byte & 0x7f)
            if byte < 0x80 { return Int64(bitPattern: value) }
        }
        return nil
    }

    private func page(_ number: Int) throws(SystemCallError) -> [UInt8]? {
        var bytes: [UInt8] = []
        if let offset = frames.offsets[number] {
            bytes = try files.log.bytes(at: offset, count: Self.byteCount)
        } else {
            let offset = Int64(number - 1) * Int64(Self.byteCount)
            bytes = try files.database.bytes(at: offset, count: Self.byteCount)
        }
        return bytes.count == Self.byteCount ? bytes : nil
    }
}

extension FileDescriptor {
    /// Reads at an offset; fewer bytes where the file ends.
    borrowing func bytes(
        at offset: Int64,
        count: Int
    ) throws(SystemCallError) -> [UInt8] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
        defer { buffer.deallocate() }
        return Array(buffer[..<(try read(into: buffer, at: offset))])
    }
}

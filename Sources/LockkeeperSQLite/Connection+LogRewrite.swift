import CLockkeeperSQLite

/// Writing the log's bytes once more, through SQLite's own handle.
///
/// After a sync that nobody knows the result of, the kernel may hold pages of the log that are not on
/// the disk and that it takes for written: no later sync writes them. Writing the same bytes again
/// makes them new to the kernel, and the sync that follows covers them.
///
/// The format is SQLite's (sqlite.org/fileformat2.html, section 4, and sqlite.org/walformat.html,
/// section 2.3), in its versions 3007000 of the log and of the index.
extension Connection {
    /// Reads every frame of the log, writes it again as it was read, and syncs. The caller is inside
    /// a write transaction in which nothing was written, so that nobody else writes the log.
    ///
    /// - Returns: whether the log is what its index says: every checksum holds up to the last
    ///   commit. Where it is not, nothing was written: pages were lost already.
    /// - Throws: ``SQLiteError`` when reading, writing or syncing fails.
    package func rewriteLog() throws(SQLiteError) -> Bool {
        try core.requireUsable(.rewriteLog)
        let database = try filePointer(SQLITE_FCNTL_FILE_POINTER)
        let log = try filePointer(SQLITE_FCNTL_JOURNAL_POINTER)
        let index = try LogIndex(of: database, failing: logFailure)
        guard index.frameCount > 0 else { return true }
        let bytes = UnsafeMutableRawBufferPointer.allocate(
            byteCount: index.logByteCount,
            alignment: 8
        )
        defer { bytes.deallocate() }
        let start = bytes.baseAddress
        try transfer(bytes.count) { offset, count in
            log.methods.xRead(log.file, start?.advanced(by: offset), count, Int64(offset))
        }
        guard index.isLastFrame(of: UnsafeRawBufferPointer(bytes)) else { return false }
        try transfer(bytes.count) { offset, count in
            log.methods.xWrite(log.file, start?.advanced(by: offset), count, Int64(offset))
        }
        let code = log.methods.xSync(log.file, SQLITE_SYNC_NORMAL)
        guard code == SQLITE_OK else { throw logFailure(code) }
        return true
    }

    /// How many frames the log has, by its index: what stands behind them in the file is not read. The
    /// connection must have read once.
    ///
    /// - Throws: ``SQLiteError`` where the index cannot be mapped.
    package func indexedFrameCount() throws(SQLiteError) -> Int {
        try core.requireUsable(.rewriteLog)
        let database = try filePointer(SQLITE_FCNTL_FILE_POINTER)
        return try LogIndex(of: database, failing: logFailure).frameCount
    }

    /// Moves bytes in pieces as SQLite itself does, at most a page's: the VFS for Unix writes no piece
    /// of 128 KiB or more whole (`seekAndWriteFd` in os_unix.c).
    private func transfer(
        _ byteCount: Int,
        _ move: (_ offset: Int, _ count: Int32) -> Int32
    ) throws(SQLiteError) {
        let pieceMax = 65_536
        for offset in stride(from: 0, to: byteCount, by: pieceMax) {
            let code = move(offset, Int32(min(pieceMax, byteCount - offset)))
            guard code == SQLITE_OK else { throw logFailure(code) }
        }
    }

    private struct OpenFile {
        let file: UnsafeMutablePointer<sqlite3_file>
        let methods: sqlite3_io_methods
    }

    private func filePointer(_ control: Int32) throws(SQLiteError) -> OpenFile {
        var file: UnsafeMutablePointer<sqlite3_file>?
        let code = sqlite3_file_control(core.database, "main", control, &file)
        guard code == SQLITE_OK else { throw logFailure(code) }
        guard let file, let methods = file.pointee.pMethods else {
            throw logFailure(SQLITE_NOTFOUND)
        }
        return OpenFile(file: file, methods: methods.pointee)
    }

    /// The method table does not set the handle's error message.
    private func logFailure(_ code: Int32) -> SQLiteError {
        SQLiteError(
            code: ResultCode(rawValue: code),
            message: String(cString: sqlite3_errstr(code)),
            operation: .rewriteLog
        )
    }

    /// What the head of the log's index says.
    ///
    ///     offset  width  content, in the machine's order of bytes
    ///       14      2    page size; 1 for 65536
    ///       16      4    number of the last frame
    ///       24      8    checksum of the last frame
    private struct LogIndex {
        let pageByteCount: Int
        let frameCount: Int
        let checksum: (UInt32, UInt32)

        private static let regionByteCount: Int32 = 32768

        init(
            of database: OpenFile,
            failing failure: (Int32) -> SQLiteError
        ) throws(SQLiteError) {
            var region: UnsafeMutableRawPointer?
            let code = database.methods.xShmMap(
                database.file,
                0,
                Self.regionByteCount,
                0,
                &region
            )
            guard code == SQLITE_OK, let region else { throw failure(code) }
            let page = Int(region.load(fromByteOffset: 14, as: UInt16.self))
            pageByteCount = page == 1 ? 65536 : page
            frameCount = Int(region.load(fromByteOffset: 16, as: UInt32.self))
            checksum = (
                region.load(fromByteOffset: 24, as: UInt32.self),
                region.load(fromByteOffset: 28, as: UInt32.self)
            )
        }

        var logByteCount: Int {
            LogChecksum.headerByteCount
                + frameCount * (LogChecksum.frameHeaderByteCount + pageByteCount)
        }

        /// Whether the checksums of a log lead to the frame that the index calls the last one.
        func isLastFrame(of log: UnsafeRawBufferPointer) -> Bool {
            guard let found = LogChecksum.ofLastFrame(log, pageByteCount: pageByteCount) else {
                return false
            }
            return found == checksum
        }
    }
}

/// The chain of checksums that runs through the log: each frame's covers all before it.
package enum LogChecksum {
    /// Bytes of the log's own header.
    package static let headerByteCount = 32
    /// Bytes of a frame before its page.
    package static let frameHeaderByteCount = 24

    /// The checksum of the last frame; `nil` where a frame's own is not what it should be.
    static func ofLastFrame(
        _ log: UnsafeRawBufferPointer,
        pageByteCount: Int
    ) -> (UInt32, UInt32)? {
        guard log.count >= headerByteCount else { return nil }
        let magic = bigEndian(log, 0)
        // The lowest bit says in which order of bytes the checksums were made.
        guard magic & ~1 == 0x377f_0682 else { return nil }
        let isBigEndian = magic & 1 == 1
        var sum: (UInt32, UInt32) = (0, 0)
        add(log, 0..<24, isBigEndian, &sum)
        guard sum == (bigEndian(log, 24), bigEndian(log, 28)) else { return nil }
        var offset = headerByteCount
        while offset < log.count {
            let page = offset + frameHeaderByteCount
            add(log, offset..<(offset + 8), isBigEndian, &sum)
            add(log, page..<(page + pageByteCount), isBigEndian, &sum)
            guard sum == (bigEndian(log, offset + 16), bigEndian(log, offset + 20)),
                bigEndian(log, offset + 8) == bigEndian(log, 16),
                bigEndian(log, offset + 12) == bigEndian(log, 20)
            else { return nil }
            offset = page + pageByteCount
        }
        return sum
    }

    /// Carries a checksum over some bytes, a multiple of eight.
    ///
    /// - Parameter isBigEndian: the order of bytes that the log's header names.
    package static func add(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>,
        _ isBigEndian: Bool,
        _ sum: inout (UInt32, UInt32)
    ) {
        for offset in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
            let first = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
            let second = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
            sum.0 &+=
                (isBigEndian ? UInt32(bigEndian: first) : UInt32(littleEndian: first)) &+ sum.1
            sum.1 &+=
                (isBigEndian ? UInt32(bigEndian: second) : UInt32(littleEndian: second)) &+ sum.0
        }
    }

    private static func bigEndian(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
        UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
}

import CLockkeeperPlatform
import Glibc

/// An open file that is closed when this value's life ends.
///
/// Always opened with `O_CLOEXEC`: no program that is started from here inherits it.
package struct FileDescriptor: ~Copyable, Sendable {
    /// The number, for calls that borrow it. Closing it elsewhere is a programmer's error.
    package let raw: Int32

    /// Whether a terminal stands behind it.
    package var isTerminal: Bool { isatty(raw) == 1 }

    /// How a file is opened.
    package struct OpenOptions: OptionSet, Sendable {
        /// The bits as the C library has them.
        package let rawValue: Int32
        /// Wraps bits.
        package init(rawValue: Int32) { self.rawValue = rawValue }

        /// For writing alone.
        package static let writeOnly = OpenOptions(rawValue: O_WRONLY)
        /// For reading and writing; without this and ``writeOnly``, for reading alone.
        package static let readWrite = OpenOptions(rawValue: O_RDWR)
        /// Made where it is missing.
        package static let create = OpenOptions(rawValue: O_CREAT)
        /// Refused where something of that name is there already; with ``create``.
        package static let exclusive = OpenOptions(rawValue: O_EXCL)
        /// Emptied.
        package static let truncate = OpenOptions(rawValue: O_TRUNC)
        /// Every write goes to the end.
        package static let append = OpenOptions(rawValue: O_APPEND)
        /// Refused where the last component is a symbolic link.
        package static let noFollow = OpenOptions(rawValue: O_NOFOLLOW)
        /// Refused where it is no directory.
        package static let directory = OpenOptions(rawValue: O_DIRECTORY)
        /// Reads and writes never wait.
        package static let nonBlocking = OpenOptions(rawValue: O_NONBLOCK)
    }

    /// Takes over an open descriptor.
    package init(owning raw: Int32) {
        precondition(raw >= 0, "a descriptor is not negative")
        self.raw = raw
    }

    /// Opens a file.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package init(
        opening path: String,
        _ options: OpenOptions = [],
        mode: UInt32 = 0o600
    ) throws(SystemCallError) {
        raw = try system(.open, path: path) { lk_open(path, options.rawValue | O_CLOEXEC, mode) }
    }

    /// Closes. An error of `close` says nothing that a sync before it would not have said, and the
    /// descriptor is gone in any case.
    deinit { _ = Glibc.close(raw) }

    /// Whether it was opened for reading. Standard input may be a descriptor that is not: who started
    /// the program decides.
    package var isReadable: Bool {
        get throws(SystemCallError) {
            try system(.fcntl) { fcntl(raw, F_GETFL) } & O_ACCMODE != O_WRONLY
        }
    }

    /// Reads up to the buffer's size from where the file stands; 0 at the end.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package borrowing func read(
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(SystemCallError) -> Int {
        let raw = raw
        return try system(.read) { Glibc.read(raw, buffer.baseAddress, buffer.count) }
    }

    /// Reads everything up to the end, or up to `limit` bytes; what lies behind them is read next.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package borrowing func readToEnd(
        limit: Int = .max
    ) throws(SystemCallError) -> [UInt8] {
        var content: [UInt8] = []
        let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: 16_384, alignment: 16)
        defer { chunk.deallocate() }
        while content.count < limit {
            let wanted = chunk[..<min(chunk.count, limit - content.count)]
            let count = try read(into: UnsafeMutableRawBufferPointer(rebasing: wanted))
            if count == 0 { break }
            content.append(contentsOf: wanted[..<count])
        }
        return content
    }

    /// Writes all the bytes where the file stands, in as many calls as it takes.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses; a part may have been written.
    package borrowing func write(
        _ bytes: UnsafeRawBufferPointer
    ) throws(SystemCallError) {
        let raw = raw
        var rest = bytes
        while !rest.isEmpty {
            let count = try system(.write) { Glibc.write(raw, rest.baseAddress, rest.count) }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    /// Writes all the bytes where the file stands.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses; a part may have been written.
    package borrowing func write(_ bytes: [UInt8]) throws(SystemCallError) {
        try withRawBytes(of: bytes) { (buffer) throws(SystemCallError) in try write(buffer) }
    }

    /// Reads at an offset until the buffer is full or the file ends; returns the number of bytes.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package borrowing func read(
        into buffer: UnsafeMutableRawBufferPointer,
        at offset: Int64
    ) throws(SystemCallError) -> Int {
        try readFully(raw, into: buffer, at: offset)
    }

    /// Writes all the bytes at an offset.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses; a part may have been written.
    package borrowing func write(
        _ bytes: UnsafeRawBufferPointer,
        at offset: Int64
    ) throws(SystemCallError) {
        try writeFully(raw, bytes, at: offset)
    }

    /// Writes all the bytes at an offset.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package borrowing func write(_ bytes: [UInt8], at offset: Int64) throws(SystemCallError) {
        let raw = raw
        try withRawBytes(of: bytes) { (buffer) throws(SystemCallError) in
            try writeFully(raw, buffer, at: offset)
        }
    }

    /// Waits until content and size are on the device.
    ///
    /// - Throws: ``SystemCallError`` when the device fails. The content must then count as lost:
    ///   a second sync would succeed without having written it.
    package borrowing func sync() throws(SystemCallError) {
        let raw = raw
        _ = try system(.fsync) { fsync(raw) }
    }

    /// Takes so many bytes of the disk for the file, from its start; its size is at least that then.
    ///
    /// - Throws: ``SystemCallError`` when there is no space, or the kernel refuses.
    package borrowing func allocate(_ byteCount: Int64) throws(SystemCallError) {
        let raw = raw
        _ = try system(.fallocate) {
            // The one call here that returns its error.
            let code = posix_fallocate(raw, 0, off_t(byteCount))
            if code == 0 { return Int32(0) }
            errno = code
            return -1
        }
    }

    /// Sets the size in bytes.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package borrowing func truncate(to size: Int64) throws(SystemCallError) {
        let raw = raw
        _ = try system(.ftruncate) { ftruncate(raw, off_t(size)) }
    }

    /// What the kernel says about the open file.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package borrowing func status() throws(SystemCallError) -> FileStatus {
        try statusOfDescriptor(raw)
    }
}

/// `fstat` of a descriptor that somebody else owns.
func statusOfDescriptor(_ raw: Int32) throws(SystemCallError) -> FileStatus {
    var status = stat()
    _ = try system(.fstat) { fstat(raw, &status) }
    return FileStatus(status)
}

/// `pread` until the buffer is full or the file ends.
func readFully(
    _ raw: Int32,
    into buffer: UnsafeMutableRawBufferPointer,
    at offset: Int64
) throws(SystemCallError) -> Int {
    var done = 0
    while done < buffer.count {
        let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
        let position = off_t(offset) + off_t(done)
        let count = try system(.pread) { pread(raw, rest.baseAddress, rest.count, position) }
        if count == 0 { break }
        done += count
    }
    return done
}

/// `pwrite` until every byte is written.
func writeFully(
    _ raw: Int32,
    _ bytes: UnsafeRawBufferPointer,
    at offset: Int64
) throws(SystemCallError) {
    var done = 0
    while done < bytes.count {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
        let position = off_t(offset) + off_t(done)
        done += try system(.pwrite) { pwrite(raw, rest.baseAddress, rest.count, position) }
    }
}

/// `withUnsafeBytes` with a typed error, which the standard library's does not have.
@inline(__always)
func withRawBytes<Result>(
    of bytes: [UInt8],
    _ body: (UnsafeRawBufferPointer) throws(SystemCallError) -> Result
) throws(SystemCallError) -> Result {
    let outcome = bytes.withUnsafeBytes { buffer -> Swift.Result<Result, SystemCallError> in
        do throws(SystemCallError) {
            return .success(try body(buffer))
        } catch {
            return .failure(error)
        }
    }
    return try outcome.get()
}

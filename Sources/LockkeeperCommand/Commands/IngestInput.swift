import LockkeeperDomain
import LockkeeperPlatform

/// Where `ingest` reads its lines from: a file, a pipe, a terminal.
///
/// A helper waits for its server for hours. What ends the run meanwhile, a switch of accounts for
/// example, must end that wait too: the descriptor is polled together with a wake event.
struct IngestInput: ~Copyable {
    private let descriptor: FileDescriptor
    private let interruption: WakeEvent
    private let buffer: UnsafeMutableRawBufferPointer
    private var poll = Poll()
    /// Bytes that were read.
    private(set) var byteCount = 0
    /// How many there are, where it is a file; `nil` for what has no end that could be known.
    let size: Int?

    /// What came.
    enum Chunk {
        /// The next bytes, valid until the next chunk is asked for.
        case bytes(UnsafeRawBufferPointer)
        /// There are no more.
        case end
        /// Somebody signalled the wake event.
        case interrupted
    }

    /// As much as a pipe holds: a larger read would find no more.
    private static let chunkByteCount = 64 * 1024

    /// Opens an input; `nil` is standard input.
    ///
    /// - Parameter interruption: ends a wait once it was signalled.
    /// - Throws: ``SystemCallError`` when the file cannot be opened, or standard input not be read:
    ///   a program that was started without one was told nothing.
    init(path: String?, interruption: WakeEvent) throws(SystemCallError) {
        // Before anything is set: what holds a descriptor cannot be given up half made.
        let status = if let path { try FileSystem.status(path) } else { nil as FileStatus? }
        // The kernel opens a folder, and refuses only to read it.
        if status?.kind == .directory {
            throw SystemCallError(call: .open, errno: .isDirectory, path: path)
        }
        descriptor = try Self.open(path)
        size = status?.kind == .regular ? status.map { Int($0.size) } : nil
        self.interruption = interruption
        buffer = .allocate(byteCount: Self.chunkByteCount, alignment: 16)
        poll.add(descriptor.raw, .readable)
        poll.add(interruption.raw, .readable)
    }

    deinit { buffer.deallocate() }

    private static func open(_ path: String?) throws(SystemCallError) -> FileDescriptor {
        guard let path else { return try StandardInput.open() }
        return try FileDescriptor(opening: path)
    }

    /// Waits for the next bytes. Blocks the thread.
    ///
    /// - Throws: ``SystemCallError`` when they cannot be read.
    mutating func next() throws(SystemCallError) -> Chunk {
        _ = try poll.wait(until: .never)
        if !poll.ready(at: 1).isEmpty { return .interrupted }
        let count = try descriptor.read(into: buffer)
        byteCount += count
        return count == 0 ? .end : .bytes(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
}

/// A lock on bytes of a file, as the kernel lists it: in `/proc/locks` those of everybody, in
/// `/proc/<pid>/fdinfo/<n>` behind "lock:" those of one description.
///
///     1: POSIX  ADVISORY  READ 30787 fe:00:16449734 128 128
///     lock:	1: OFDLCK  ADVISORY  WRITE -1 fe:00:1835 1073741844 1073741844
///
/// It is for sentences about who holds what; nothing is decided by it.
package struct KernelLock: Sendable, Hashable {
    /// To what a lock belongs.
    package enum Kind: Sendable, Hashable {
        /// A process; any of its descriptors that is closed takes the lock away.
        case process
        /// An open file description; the kernel names no process.
        case openFileDescription
        /// Anything else: a whole-file lock, a lease.
        case other
    }

    /// To what the lock belongs.
    package let kind: Kind
    /// Whether it keeps everybody else out.
    package let isExclusive: Bool
    /// The process that holds it; -1 for an open file description's.
    package let pid: Int32
    /// The file. On file systems that show other device numbers to `stat` it matches none.
    package let file: FileIdentity
    /// The first and the last byte; the last is the largest integer up to the end of the file.
    package let bytes: ClosedRange<Int64>

    /// All locks that are held in the system, as far as this process may see them.
    ///
    /// - Throws: ``SystemCallError`` when `/proc` cannot be read.
    package static func all() throws(SystemCallError) -> [KernelLock] {
        list(in: try FileSystem.contents(of: "/proc/locks"))
    }

    /// The locks in a text of the kernel's. Other lines, and locks that are waited for, are left
    /// out.
    package static func list(in text: [UInt8]) -> [KernelLock] {
        text.split(separator: UInt8(ascii: "\n")).compactMap { KernelLock($0) }
    }

    /// Whether the lock is on a byte.
    package func covers(_ byte: Int64) -> Bool { bytes.contains(byte) }

    private init?(_ line: ArraySlice<UInt8>) {
        var fields = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            .map { String(decoding: $0, as: UTF8.self) }
        if fields.first == "lock:" { fields.removeFirst() }
        // number, kind, advisory, mode, pid, device and inode, first byte, last byte
        guard fields.count == 8, let pid = Int32(fields[4]), let file = Self.file(fields[5]),
            let start = Int64(fields[6])
        else { return nil }
        let end = Int64(fields[7]) ?? .max
        guard start <= end else { return nil }
        kind =
            switch fields[1] {
            case "POSIX": .process
            case "OFDLCK": .openFileDescription
            default: .other
            }
        isExclusive = fields[3] == "WRITE"
        self.pid = pid
        self.file = file
        bytes = start...end
    }

    /// "fe:00:1835": the device's two numbers in hexadecimal, the inode in decimal.
    private static func file(_ field: String) -> FileIdentity? {
        let parts = field.split(separator: ":")
        guard parts.count == 3, let major = UInt64(parts[0], radix: 16),
            let minor = UInt64(parts[1], radix: 16), let inode = UInt64(parts[2])
        else { return nil }
        // As the C library's makedev(3) puts them together.
        let device =
            (major & 0xffff_f000) << 32 | (major & 0xfff) << 8
            | (minor & 0xffff_ff00) << 12 | (minor & 0xff)
        return FileIdentity(device: device, inode: inode)
    }
}

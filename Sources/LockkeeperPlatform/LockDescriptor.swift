import CLockkeeperPlatform
import Glibc

/// How a byte is locked.
package enum LockMode: Sendable, Hashable {
    /// Any number of holders, none of them exclusive.
    case shared
    /// One holder.
    case exclusive

    fileprivate var type: Int16 { self == .shared ? Int16(F_RDLCK) : Int16(F_WRLCK) }
}

/// One open file description on a lock file, and the locks that it holds on bytes of it.
///
/// POSIX record locks belong to the process: closing *any* descriptor of the file drops them all,
/// and two threads of one process do not exclude each other. Open-file-description locks belong to
/// the description: what one value of this type holds excludes every other value, in this process
/// too, and ends when it is closed or the process dies.
///
/// Rules
/// 1. A byte is locked once per description; locking it again changes its mode.
/// 2. A wait has no timeout, and a handled signal sends the waiter to the end of the line: `lock`
///    is called only on a thread that blocks all signals (``WorkerThread``), or all but the one by
///    which ``lock(_:_:unless:)`` is abandoned.
/// 3. The descriptor lives until every call on it has returned. A description that is closed under
///    a waiting lock later reports success without a lock; the type is not copyable so that this
///    cannot be written.
/// 4. A lock file is never deleted or renamed: a waiter would lock the old inode while a newcomer
///    makes a new one (B34). ``isStill(at:)`` tells when somebody else did.
/// 5. After a fork the child's descriptors are closed and every call in the child throws `EPERM`
///    (I-12, B22).
package struct LockDescriptor: ~Copyable, Sendable {
    private let raw: Int32
    private let mark: ForkMark
    /// Which file is locked.
    package let identity: FileIdentity

    /// The description as a program that is started may get it (``ChildProcess``): what it holds is
    /// then held until this process and that program have both let go, or have died. Valid while the
    /// descriptor is.
    package struct Inheritance: Sendable {
        let raw: Int32
    }

    /// What a program that is started may get.
    package var inheritance: Inheritance { Inheritance(raw: raw) }

    /// Opens a lock file, made with mode 0600 where it is missing. A symbolic link is refused.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses, or with `EMFILE` when the process
    ///   has 1 024 lock descriptors open.
    package init(opening path: String) throws(SystemCallError) {
        let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC
        let mark = ForkMark.current
        let raw = try system(.open, path: path) { lk_lock_descriptor_open(path, flags, 0o600) }
        do throws(SystemCallError) {
            identity = try statusOfDescriptor(raw).identity
        } catch {
            _ = lk_lock_descriptor_close(raw)
            throw error
        }
        self.raw = raw
        self.mark = mark
    }

    /// Closes, which releases every lock. In a forked child the fork handler has closed it, and the
    /// number may be somebody else's by now.
    deinit {
        if mark.isCurrent { _ = lk_lock_descriptor_close(raw) }
    }

    /// Locks a byte if nobody stands in the way.
    ///
    /// - Returns: Whether the byte is locked.
    /// - Throws: ``SystemCallError`` when the kernel refuses for another reason.
    package borrowing func tryLock(
        _ byte: Int64,
        _ mode: LockMode
    ) throws(SystemCallError) -> Bool {
        do throws(SystemCallError) {
            try set(mode.type, byte, waits: 0)
            return true
        } catch {
            // POSIX lets a conflicting lock be reported as either of the two.
            if error.errno == .wouldBlock || error.errno == .permissionDenied { return false }
            throw error
        }
    }

    /// Locks a byte, waiting as long as it takes.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package borrowing func lock(_ byte: Int64, _ mode: LockMode) throws(SystemCallError) {
        try set(mode.type, byte, waits: 1)
    }

    /// Locks a byte, waiting until it is granted or given up. The thread was started as
    /// interruptible; who wants the wait to end makes `isAbandoned` true and then interrupts the
    /// thread until it has answered. An interruption without that sends the waiter to the end of
    /// the line.
    ///
    /// - Returns: Whether the byte is locked. A grant that came first is a grant: then
    ///   `isAbandoned` may say yes as well.
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package borrowing func lock(
        _ byte: Int64,
        _ mode: LockMode,
        unless isAbandoned: () -> Bool
    ) throws(SystemCallError) -> Bool {
        try refuseInChild()
        let raw = raw
        while !isAbandoned() {
            let result = try systemOnce(.fcntl) { lk_ofd_set_lock(raw, mode.type, byte, 1) }
            if result != nil { return true }
        }
        return false
    }

    /// Releases a byte; does nothing where it is not locked.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package borrowing func unlock(_ byte: Int64) throws(SystemCallError) {
        try set(Int16(F_UNLCK), byte, waits: 0)
    }

    /// Whether a lock of another description stands in the way of locking a byte. An answer of the
    /// past by the time it is read.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package borrowing func isHeldElsewhere(
        _ byte: Int64,
        against mode: LockMode = .exclusive
    ) throws(SystemCallError) -> Bool {
        try refuseInChild()
        let raw = raw
        return try system(.fcntl) { lk_ofd_get_lock(raw, mode.type, byte) } == 1
    }

    /// Fills a buffer from an offset of the file; what lies behind its end reads as zeros, so that
    /// a truncated file does no harm.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package borrowing func read(
        into buffer: UnsafeMutableRawBufferPointer,
        at offset: Int64
    ) throws(SystemCallError) {
        try refuseInChild()
        let count = try readFully(raw, into: buffer, at: offset)
        UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).initializeMemory(
            as: UInt8.self,
            repeating: 0
        )
    }

    /// Writes bytes at an offset of the file.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package borrowing func write(
        _ bytes: UnsafeRawBufferPointer,
        at offset: Int64
    ) throws(SystemCallError) {
        try refuseInChild()
        try writeFully(raw, bytes, at: offset)
    }

    /// A number of bytes from an offset of the file; zeros where it has none.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package borrowing func read(
        count: Int,
        at offset: Int64
    ) throws(SystemCallError) -> [UInt8] {
        try refuseInChild()
        var bytes = [UInt8](repeating: 0, count: count)
        var failure: SystemCallError?
        let raw = raw
        bytes.withUnsafeMutableBytes { buffer in
            do throws(SystemCallError) {
                _ = try readFully(raw, into: buffer, at: offset)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Writes bytes at an offset of the file.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package borrowing func write(
        _ bytes: [UInt8],
        at offset: Int64
    ) throws(SystemCallError) {
        try refuseInChild()
        let raw = raw
        try withRawBytes(of: bytes) { (buffer) throws(SystemCallError) in
            try writeFully(raw, buffer, at: offset)
        }
    }

    /// How many names the file has; 0 where it was removed. Cheaper than ``isStill(at:)``, which
    /// also sees a file that was moved away.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package borrowing func linkCount() throws(SystemCallError) -> UInt64 {
        try refuseInChild()
        return try statusOfDescriptor(raw).linkCount
    }

    /// Whether the path still names the file that is open here.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package borrowing func isStill(at path: String) throws(SystemCallError) -> Bool {
        try FileSystem.status(path, followingLinks: false)?.identity == identity
    }

    private borrowing func set(
        _ type: Int16,
        _ byte: Int64,
        waits: Int32
    ) throws(SystemCallError) {
        try refuseInChild()
        let raw = raw
        _ = try system(.fcntl) { lk_ofd_set_lock(raw, type, byte, waits) }
    }

    private borrowing func refuseInChild() throws(SystemCallError) {
        if !mark.isCurrent { throw SystemCallError(call: .fcntl, errno: .notPermitted) }
    }
}

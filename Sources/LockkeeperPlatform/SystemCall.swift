/// The system calls that this room makes, by the names that the manual knows them by.
///
/// Each site names its call, so that an error says which one failed and a test can make exactly
/// one of them fail.
package enum SystemCall: String, Sendable, Hashable, CaseIterable {
    case accept, bind, chmod, close, connect, eventfd, fallocate, fcntl, fdatasync, fstat, fsync
    case ftruncate, getsockname, getsockopt, inotifyAddWatch, inotifyInit, ioctl, kill, listen,
        lstat,
        mkdir, open,
        opendir, pipe,
        poll, posixSpawn, pread
    case link, pthreadCreate, pwrite, read, readdir, realpath, receive, rename, renameat2, rmdir
    case send, socket
    case socketpair, stat, statfs, statvfs, unlink, waitid, write
}

/// A system call that failed, with the kernel's reason.
///
/// - Note: `EINTR` never gets here, because the calls are repeated; `EBADF` and `EFAULT` never get
///   here either, because they are programmer errors and trap.
package struct SystemCallError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The call.
    package let call: SystemCall
    /// The reason.
    package let errno: Errno
    /// The path that the call was given, where it was given one.
    package let path: String?

    /// An error of a call.
    package init(call: SystemCall, errno: Errno, path: String? = nil) {
        self.call = call
        self.errno = errno
        self.path = path
    }

    /// For people: "open /var/lib/chat/workspace.locks: EACCES: Permission denied".
    package var description: String {
        path.map { "\(call.rawValue) \($0): \(errno)" } ?? "\(call.rawValue): \(errno)"
    }
}

/// Makes a system call: repeats it while signals interrupt it, traps where the failure can only be
/// a programmer's error, and throws otherwise. Every call of this room passes here.
///
/// - Parameters:
///   - call: The name for errors and faults.
///   - path: The path that errors name.
///   - body: The call itself; a result of -1 says that `errno` has the reason.
/// - Throws: ``SystemCallError`` when the call fails or a fault is installed for it.
@inline(__always)
func system<Result: FixedWidthInteger & SignedInteger>(
    _ call: SystemCall,
    path: @autoclosure () -> String? = nil,
    _ body: () -> Result
) throws(SystemCallError) -> Result {
    while true {
        if let result = try systemOnce(call, path: path(), body) { return result }
    }
}

/// Makes a system call as ``system(_:path:_:)`` does, but once: `nil` says that a signal came
/// first.
@inline(__always)
func systemOnce<Result: FixedWidthInteger & SignedInteger>(
    _ call: SystemCall,
    path: @autoclosure () -> String? = nil,
    _ body: () -> Result
) throws(SystemCallError) -> Result? {
    var failure = SystemFault.fault(for: call, path: path)
    if failure == nil {
        let result = body()
        if result != -1 { return result }
        failure = .ofLastCall
    }
    guard let failure, failure != .interrupted else { return nil }
    throw SystemCallError(judging: failure, of: call, path: path())
}

extension SystemCallError {
    /// Traps where the reason can only be a programmer's error: such a process would go on to read
    /// and write what does not belong to it.
    init(judging errno: Errno, of call: SystemCall, path: String?) {
        precondition(
            errno != .badDescriptor && errno != .badAddress,
            "\(call.rawValue) failed with \(errno): the program is wrong"
        )
        self.init(call: call, errno: errno, path: path)
    }
}

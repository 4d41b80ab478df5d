import Glibc

/// The kernel's reason for refusing a system call.
package struct Errno: RawRepresentable, Sendable, Hashable {
    /// The number as the C library gives it.
    package let rawValue: Int32

    /// Wraps a number.
    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// The number that the calling thread's last failed call left behind.
    static var ofLastCall: Errno { Errno(rawValue: errno) }
}

extension Errno {
    /// Not permitted. The corresponding C error is `EPERM`.
    package static let notPermitted = Errno(rawValue: EPERM)
    /// No such file or directory. The corresponding C error is `ENOENT`.
    package static let noSuchFile = Errno(rawValue: ENOENT)
    /// No such process. The corresponding C error is `ESRCH`.
    package static let noSuchProcess = Errno(rawValue: ESRCH)
    /// A signal came first. The corresponding C error is `EINTR`.
    package static let interrupted = Errno(rawValue: EINTR)
    /// The device failed; what was written may not be on it. The corresponding C error is `EIO`.
    package static let inputOutput = Errno(rawValue: EIO)
    /// Not an open descriptor. The corresponding C error is `EBADF`.
    package static let badDescriptor = Errno(rawValue: EBADF)
    /// Try again: the call would have waited. The corresponding C error is `EAGAIN`.
    package static let wouldBlock = Errno(rawValue: EAGAIN)
    /// Out of memory. The corresponding C error is `ENOMEM`.
    package static let noMemory = Errno(rawValue: ENOMEM)
    /// The file's permissions refuse it. The corresponding C error is `EACCES`.
    package static let permissionDenied = Errno(rawValue: EACCES)
    /// An address outside of the process. The corresponding C error is `EFAULT`.
    package static let badAddress = Errno(rawValue: EFAULT)
    /// Something of that name is there. The corresponding C error is `EEXIST`.
    package static let fileExists = Errno(rawValue: EEXIST)
    /// A folder where a file is wanted. The corresponding C error is `EISDIR`.
    package static let isDirectory = Errno(rawValue: EISDIR)
    /// Not a directory. The corresponding C error is `ENOTDIR`.
    package static let notDirectory = Errno(rawValue: ENOTDIR)
    /// An argument that the call does not take. The corresponding C error is `EINVAL`.
    package static let invalidArgument = Errno(rawValue: EINVAL)
    /// The process has too many open files. The corresponding C error is `EMFILE`.
    package static let tooManyOpenFiles = Errno(rawValue: EMFILE)
    /// The disk is full. The corresponding C error is `ENOSPC`.
    package static let noSpace = Errno(rawValue: ENOSPC)
    /// The file system takes no writes. The corresponding C error is `EROFS`.
    package static let readOnlyFileSystem = Errno(rawValue: EROFS)
    /// Nobody reads the other end. The corresponding C error is `EPIPE`.
    package static let brokenPipe = Errno(rawValue: EPIPE)
    /// The file system knows no such locks. The corresponding C error is `ENOLCK`.
    package static let noLocks = Errno(rawValue: ENOLCK)
    /// A symbolic link where none is followed. The corresponding C error is `ELOOP`.
    package static let symbolicLink = Errno(rawValue: ELOOP)
    /// The path is too long. The corresponding C error is `ENAMETOOLONG`.
    package static let nameTooLong = Errno(rawValue: ENAMETOOLONG)
    /// The directory has entries. The corresponding C error is `ENOTEMPTY`.
    package static let notEmpty = Errno(rawValue: ENOTEMPTY)
    /// Another socket is bound there. The corresponding C error is `EADDRINUSE`.
    package static let addressInUse = Errno(rawValue: EADDRINUSE)
    /// The peer closed the connection. The corresponding C error is `ECONNRESET`.
    package static let connectionReset = Errno(rawValue: ECONNRESET)
    /// The peer went away before it was accepted. The corresponding C error is `ECONNABORTED`.
    package static let connectionAborted = Errno(rawValue: ECONNABORTED)
    /// Nobody listens. The corresponding C error is `ECONNREFUSED`.
    package static let connectionRefused = Errno(rawValue: ECONNREFUSED)
    /// The user's quota is used up. The corresponding C error is `EDQUOT`.
    package static let quotaExceeded = Errno(rawValue: EDQUOT)
    /// The call is not known here. The corresponding C error is `ENOSYS`.
    package static let notImplemented = Errno(rawValue: ENOSYS)
}

extension Errno: CustomStringConvertible {
    /// The symbol and the C library's text: "ENOSPC: No space left on device".
    package var description: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            // A buffer that is never filled to its end stays terminated.
            buffer.initialize(repeating: 0)
            guard let text = buffer.baseAddress, strerror_r(rawValue, text, 255) == 0 else {
                return symbol
            }
            return "\(symbol): \(String(cString: text))"
        }
    }

    private var symbol: String { Self.symbols[rawValue] ?? "errno \(rawValue)" }

    private static let symbols: [Int32: String] = [
        EPERM: "EPERM", ENOENT: "ENOENT", ESRCH: "ESRCH", EINTR: "EINTR", EIO: "EIO",
        EBADF: "EBADF", ECHILD: "ECHILD", EAGAIN: "EAGAIN", ENOMEM: "ENOMEM", EACCES: "EACCES",
        EFAULT: "EFAULT", EBUSY: "EBUSY", EEXIST: "EEXIST", EXDEV: "EXDEV", ENODEV: "ENODEV",
        ENOTDIR: "ENOTDIR", EISDIR: "EISDIR", EINVAL: "EINVAL", ENFILE: "ENFILE",
        EMFILE: "EMFILE", EFBIG: "EFBIG", ENOSPC: "ENOSPC", ESPIPE: "ESPIPE", EROFS: "EROFS",
        EMLINK: "EMLINK", EPIPE: "EPIPE", EDEADLK: "EDEADLK", ENAMETOOLONG: "ENAMETOOLONG",
        ENOLCK: "ENOLCK", ENOSYS: "ENOSYS", ENOTEMPTY: "ENOTEMPTY", ELOOP: "ELOOP",
        ENOTSOCK: "ENOTSOCK", EOPNOTSUPP: "EOPNOTSUPP", EADDRINUSE: "EADDRINUSE",
        ECONNABORTED: "ECONNABORTED", ECONNRESET: "ECONNRESET", ENOTCONN: "ENOTCONN",
        ETIMEDOUT: "ETIMEDOUT", ECONNREFUSED: "ECONNREFUSED", ESTALE: "ESTALE",
        EDQUOT: "EDQUOT",
    ]
}

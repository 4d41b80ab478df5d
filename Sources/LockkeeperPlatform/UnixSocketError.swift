/// Why a Unix socket could not be opened or used.
package enum UnixSocketError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Thrown when a socket's path has more bytes than the kernel takes (B101).
    case pathTooLong(path: String, byteCount: Int)
    /// Thrown when something that is no leftover socket is in the way of a listener. It was left
    /// alone.
    case pathTaken(path: String)
    /// Thrown when the kernel refuses a call.
    case system(SystemCallError)

    /// The largest number of bytes in a socket's path: `sun_path` has 108 with its NUL.
    package static let pathByteCountMax = 107

    /// The problem and what to do about it, as a sentence.
    package var description: String {
        switch self {
        case .pathTooLong(let path, let byteCount):
            "a socket's path has at most \(Self.pathByteCountMax) bytes, '\(path)' has "
                + "\(byteCount): use a shorter root"
        case .pathTaken(let path):
            "'\(path)' is needed for a socket, but something else is there: move it away"
        case .system(let error): error.description
        }
    }
}

package import LockkeeperPlatform

/// Why the notifier's socket cannot be used. None of them loses data: whoever does not hear of a
/// commit finds it in the log.
package enum NotifierError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Thrown by hub and clients when the socket cannot be opened: nobody listens, the path is too
    /// long, or something else is in its place.
    case socket(UnixSocketError)
    /// Thrown when the kernel refuses a call on a socket that was open.
    case system(SystemCallError)
    /// Thrown by clients when another user listens at the path.
    case foreignHub(userID: UInt32)
    /// Thrown when a line is not what this protocol has; carries what is wrong with it.
    case invalidLine(reason: String)
    /// Thrown when a line has more bytes than the limit before its end.
    case lineTooLong(byteCountMax: Int)

    /// The problem as a sentence.
    package var description: String {
        switch self {
        case .socket(let error): error.description
        case .system(let error): error.description
        case .foreignHub(let userID):
            "the notifier's socket is served by user \(userID): only one's own hub is believed"
        case .invalidLine(let reason): "a line of the notifier cannot be read: \(reason)"
        case .lineTooLong(let byteCountMax):
            "a line of the notifier has more than \(byteCountMax) bytes"
        }
    }
}

package import LockkeeperNotifier
import LockkeeperPlatform

/// What a host tells its operator.
package enum HostNote: Sendable, Hashable, CustomStringConvertible {
    /// Processes of other users connected to the notifier's socket within the last second, and were
    /// refused.
    case strangersRefused(Strangers)

    /// A stable name, as error codes have one.
    package var code: String {
        switch self {
        case .strangersRefused: "strangersRefused"
        }
    }

    /// It as a sentence.
    package var description: String {
        switch self {
        case .strangersRefused(let strangers):
            let last =
                strangers.last.map { "user \($0.userID), pid \($0.pid)" } ?? "nobody knows who"
            let connections =
                strangers.count == 1 ? "a connection" : "\(strangers.count) connections"
            return "refused \(connections) of another user to the notifier's socket (the last one:"
                + " \(last)): check the mode of the workspace's folder"
        }
    }
}

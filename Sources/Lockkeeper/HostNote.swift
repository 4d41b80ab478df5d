package import LockkeeperNotifier
import LockkeeperPlatform

/// What a host tells its operator.
package enum HostNote: Sendable, Hashable, CustomStringConvertible {
    /// Processes of other users connected to the notifier's socket within the last second, and were
    /// refused.
    case strangersRefused(Strangers)
    /// The workspace's lock file was removed or replaced: newcomers lock another file, and another
    /// process may become a host beside this one (B34). It is to end.
    case lockFileReplaced(path: String)

    /// A stable name, as error codes have one.
    package var code: String {
        switch self {
        case .strangersRefused: "strangersRefused"
        case .lockFileReplaced: "lockFileReplaced"
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
        case .lockFileReplaced(let path):
            return "'\(path)' was removed or replaced: this host ends, because another one may"
                + " serve beside it. Restart every program that uses the workspace; delete no lock file"
        }
    }
}

import LockkeeperPlatform
import Synchronization

/// When and why a session could no longer be used.
public struct SessionEnd: Sendable {
    /// Why: the error that every call fails with from then on. It names the generation that the
    /// session had and the one that is current.
    public let reason: any Error
    /// When this process noticed it, in milliseconds since 1970 by the wall clock; for people.
    public let millisecondsSince1970: Int64
}

/// The end of a session, once anybody has met it: the first reason stands.
final class SessionEnding: Sendable {
    private let first = Mutex<SessionEnd?>(nil)
    private let wallClock: any WallClockSource

    init(wallClock: any WallClockSource) { self.wallClock = wallClock }

    var noticed: SessionEnd? { first.withLock { $0 } }

    var reason: (any Error)? { noticed?.reason }

    /// The reason where it is that the account was removed: then there is nothing left to read.
    var removal: (any Error)? {
        guard let known = reason as? LockkeeperError, known.code == .accountRemoved else {
            return nil
        }
        return known
    }

    func end(_ reason: any Error) {
        let end = SessionEnd(reason: reason, millisecondsSince1970: wallClock.milliseconds())
        first.withLock { first in
            if first == nil { first = end }
        }
    }
}

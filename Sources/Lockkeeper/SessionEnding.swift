import Synchronization

/// Why a session can no longer be used: the first reason that anybody met.
final class SessionEnding: Sendable {
    private let first = Mutex<(any Error)?>(nil)

    var reason: (any Error)? { first.withLock { $0 } }

    func end(_ reason: any Error) {
        first.withLock { first in
            if first == nil { first = reason }
        }
    }
}

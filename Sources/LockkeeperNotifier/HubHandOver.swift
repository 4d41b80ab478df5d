import LockkeeperPlatform

/// How a hub gives way to a better one.
package struct HubHandOver: Sendable {
    /// Whether the hub ends now; asked when a client wants it to, and with each tick. On the hub's
    /// thread; must not wait.
    package let begins: @Sendable () -> Bool
    /// Called on the hub's thread as its last act, with every connection closed and the socket file
    /// removed. Must not close the hub.
    package let ended: @Sendable () -> Void

    /// Joins the two.
    package init(
        begins: @escaping @Sendable () -> Bool,
        ended: @escaping @Sendable () -> Void
    ) {
        self.begins = begins
        self.ended = ended
    }
}

/// What a process asks a hub for that it does not listen to.
package enum HubRequest {
    /// Asks the hub at a path to end. It does if it agrees, and answers nothing. Never waits; nothing
    /// happens where no hub of the same user listens.
    package static func release(path: String) {
        guard let connection = try? connectToOwnHub(path: path) else { return }
        // A new socket's buffer holds the line; a hub that is gone needs no asking.
        _ = try? NotifierLine.encodeRelease().withUnsafeBytes { try connection.send($0) }
    }
}

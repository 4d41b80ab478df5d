/// The locks of a workspace and of an account, each one byte of its lock file.
///
/// Lock order: `switching`, `entry`, `presence`, `maintenance`, `queue`, `writer`, and then
/// SQLite's own. Whoever holds one may wait only for a later one; `host` and `hub` are only ever
/// tried, never waited for while another lock is held.
///
/// The locks give order and say who does what. What protects data is SQLite's own locking.
package enum LockByte: Sendable, Hashable, CaseIterable {
    /// Workspace: held by the one host for its life.
    case host
    /// Workspace: held while generations change hands, and during exclusive work.
    case switching
    /// Workspace: held by whoever keeps the notifier's hub.
    case hub
    /// Account: the door. Shared by who comes in, exclusive for exclusive work.
    case entry
    /// Account: shared by everybody who has the database open.
    case presence
    /// Account: held for each checkpoint and for exclusive work.
    case maintenance
    /// Account: the one place before the writer's, so that who releases `writer` cannot barge past
    /// the waiter that stands here.
    case queue
    /// Account: the one write transaction (I-1).
    case writer

    /// The name in sentences and in the design.
    package var name: String {
        switch self {
        case .host: "HOST"
        case .switching: "SWITCH"
        case .hub: "HUB"
        case .entry: "ENTRY"
        case .presence: "PRESENCE"
        case .maintenance: "MAINTENANCE"
        case .queue: "QUEUE"
        case .writer: "WRITER"
        }
    }
}

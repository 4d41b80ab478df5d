public import LockkeeperDomain
package import LockkeeperPlatform
import Synchronization

/// An account as one process has it open under one generation.
///
/// Connections, prepared statements, queues and feeds belong to a session and die with it. When the
/// account is switched away from or signed into again, every call fails with `superseded`; the
/// workspace gives the next session.
public final class Session: Sendable {
    /// The account, as the registry knew it when the session was made.
    public let account: AccountInfo
    /// The account's database.
    public let database: AccountDatabase

    let attachment: AccountAttachment
    package let workspace: Workspace
    private let feeds: FeedFactory
    private let ending: SessionEnding
    private let isClosed = Atomic<Bool>(false)

    init(
        account: AccountInfo,
        database: AccountDatabase,
        attachment: AccountAttachment,
        feeds: FeedFactory,
        ending: SessionEnding,
        workspace: Workspace
    ) {
        self.account = account
        self.database = database
        self.attachment = attachment
        self.feeds = feeds
        self.ending = ending
        self.workspace = workspace
    }

    /// The account and generation that every write carries.
    public var token: FencingToken { database.token }

    /// When and why the session was found superseded, once that was noticed; `nil` before.
    public var ended: SessionEnd? { ending.noticed }

    /// A timer of the workspace's, for the products.
    package var timer: DeadlineTimer { workspace.timer }

    /// The wall clock of the workspace, for the products; for people only (I-15).
    package var wallClock: any WallClockSource { workspace.wallClock }

    /// Whether the workspace was opened with a schema.
    package func declares(_ schema: Schema) -> Bool {
        workspace.schemas.contains { $0.owner == schema.owner }
    }

    /// The ranges of all commits after a position, of every process, in order and without a hole.
    ///
    /// - Parameters:
    ///   - position: where to begin; `nil` begins at the present head.
    ///   - origin: leaves out ranges that only this process name wrote.
    public func changes(after position: Position? = nil, without origin: String? = nil)
        -> ChangeFeed
    {
        database.feed(after: position, without: origin)
    }

    /// Finishes what runs, tells those who wait that the session closed, and closes every connection.
    public func close() async {
        guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        feeds.close()
        let database = database
        // Closing cannot fail; `blocking` only moves it off the cooperative pool.
        try? await blocking("lk-close") {
            database.upkeep?.close()
            database.inbox?.close()
            database.packets?.close()
            database.close()
        }
    }

    /// Whether calls may still succeed.
    var isUsable: Bool { ended == nil && !isClosed.load(ordering: .acquiring) }

    func end(_ reason: any Error) { ending.end(reason) }
}

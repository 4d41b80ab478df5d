import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

/// Does what schemas have to do at any time, in small transactions that go behind everything else.
///
/// A commit of somebody else's between two of them says that the account is in use: then it goes on for
/// a moment only, so that writers wait for it seldom.
struct UpkeepPass {
    let session: Session
    let steps: [UpkeepStep]
    /// How long it may take.
    let timeMax: Duration
    /// How long it may take while others write.
    let timeMaxBesideOthers: Duration

    private let clock = SystemClock()

    init(
        _ session: Session,
        steps: [UpkeepStep],
        timeMax: Duration,
        timeMaxBesideOthers: Duration
    ) {
        self.session = session
        self.steps = steps
        self.timeMax = timeMax
        self.timeMaxBesideOthers = timeMaxBesideOthers
    }

    /// Goes through the steps. Blocks.
    ///
    /// - Parameter isWanted: asked before each transaction.
    /// - Returns: whether everything is done that can be.
    /// - Throws: what a transaction throws. What was done before it stays done.
    func run(while isWanted: () -> Bool) throws -> Bool {
        let workspace = session.workspace
        try workspace.beginOperation()
        defer { workspace.endOperation() }
        let began = clock.now()
        var timeMax = timeMax
        var head: Int64?
        for step in steps {
            var hasMore = true
            while hasMore {
                // What is left of a full disk is for packets and deletions. The next write that finds
                // room begins a pass.
                if session.database.isOutOfRoom { return true }
                guard isWanted(), clock.now().duration(since: began) < timeMax else { return false }
                let newest: Int64
                (hasMore, newest) = try submit(step)
                if let head, head != newest { timeMax = min(timeMax, timeMaxBesideOthers) }
                head = newest
            }
        }
        return true
    }

    /// Runs one step in a transaction of its own, and says which commit was the newest then.
    private func submit(_ step: @escaping UpkeepStep) throws -> (Bool, Int64) {
        let wallClock = session.workspace.wallClock
        return try session.database.writeFromInbox(
            durability: .committed,
            class: .upkeep
        ) { [session] connection, topics in
            let now = wallClock.milliseconds()
            let hasMore = try step(session, connection, &topics, now)
            return (hasMore, try Self.newestCommit(connection))
        }
    }

    private static func newestCommit(_ connection: Connection) throws(SQLiteError) -> Int64 {
        let select = try connection.statement("SELECT max(number) FROM lk_commit")
        defer { select.reset() }
        _ = try select.step()
        return select.int64(0)
    }
}

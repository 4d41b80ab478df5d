import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import Synchronization

// The roles that only look.
extension StressWorker {
    /// Follows the commits of the active account, and goes on after the last position of any life of
    /// this worker. When the input has ended it goes on until it has come to the head.
    func follow(in workspace: Workspace) async throws {
        let positions = Mutex(try lastPositions())
        var isDone = false
        while !isDone {
            guard let session = try await activeSession(in: workspace) else {
                _ = try await goesOn()
                continue
            }
            isDone = try await follow(session, positions)
            await session.close()
        }
    }

    /// Follows one session. Returns whether the input has ended and everything was followed.
    private func follow(
        _ session: Session,
        _ positions: borrowing Mutex<[String: Position]>
    ) async throws -> Bool {
        let account = session.token.account
        let known = positions.withLock { $0["\(account)"] }
        guard let start = try await start(session, after: known) else { return false }
        let reached = Monitor(Followed(position: start))
        let reader = Task { try await takeRanges(of: session, after: start, into: reached) }
        var isDone = false
        while session.ended == nil, !isDone, !reached.withLock({ $0.isOver }) {
            _ = try await goesOn(after: .milliseconds(50))
            guard isToFinish else { continue }
            try await Task.sleep(for: .milliseconds(50))
            let head = try await unlessRefused(.follow) { try await session.database.head() }
            isDone = head == reached.withLock { $0.position }
        }
        reader.cancel()
        try await reader.value
        let last = reached.withLock { $0.position }
        positions.withLock { $0["\(account)"] = last }
        return isDone
    }

    /// Where to begin, written down; `nil` where nobody can say now.
    private func start(_ session: Session, after known: Position?) async throws -> Position? {
        let head = try await unlessRefused(.follow) { try await session.database.head() }
        guard let position = known ?? head else { return nil }
        var entry = question(.follow, for: session.token.account)
        (entry.commit, entry.text) = (position.commit.rawValue, "\(position.store)")
        entry.generation = session.token.generation.rawValue
        journal.append(entry)
        return position
    }

    /// Writes ranges down as they come, each with the head that is read behind it: what was announced
    /// must be there.
    private func takeRanges(
        of session: Session,
        after start: Position,
        into reached: Monitor<Followed>
    ) async throws {
        let account = session.token.account
        var isLost = false
        do {
            for try await range in session.changes(after: start) {
                var entry = StressEntry(time: journal.now, .saw, .follow)
                entry.account = "\(account)"
                entry.generation = range.generation.rawValue
                (entry.number, entry.commit) = (range.first.rawValue, range.last.rawValue)
                (entry.other, entry.text) = (range.predecessor.rawValue, "\(range.store)")
                if let head = try? await session.database.head() { entry.to = head.commit.rawValue }
                journal.append(entry)
                reached.withLock { $0.position = range.position }
                countBeat()
            }
        } catch let error as LockkeeperError {
            noteRefusal(of: question(.follow, for: account), error)
            isLost = error.code == .resync
        } catch is CancellationError {
            // The one who follows has come to the end.
        }
        reached.withLock { followed in
            followed.isOver = true
            if isLost { followed.position = nil }
        }
    }

    /// How far a feed has come.
    private struct Followed: Sendable {
        /// Behind its last range; `nil` where it must begin anew.
        var position: Position?
        /// Whether the feed has ended.
        var isOver = false
    }

    /// The last position of each account that earlier lives of this worker have written down.
    private func lastPositions() throws -> [String: Position] {
        var positions: [String: Position] = [:]
        let process = settings.process
        for life in 1..<process.life {
            let earlier = StressProcess(process.role, worker: process.worker, life: life)
            for entry in try StressHistory(earlier, in: settings.histories).entries
            where entry.act == .follow && (entry.word == .saw || entry.word == .asks) {
                guard let account = entry.account, let commit = entry.commit,
                    let store = entry.text.flatMap({ StoreIdentity($0) })
                else { continue }
                positions[account] = Position(store: store, commit: CommitNumber(commit))
            }
        }
        return positions
    }

    /// Reads snapshots, stays in them, and looks whether they have stayed the same.
    func readSnapshots(in workspace: Workspace) async throws {
        var generator = generator()
        try await eachSession(in: workspace) { session in
            while session.ended == nil, try await goesOn(after: .milliseconds(30)) {
                let longest = settings.staysLong ? 2500 : 20
                let stay = Duration.milliseconds(Int.random(in: 0...longest, using: &generator))
                let seen = try await unlessRefused(.snapshot) {
                    try await session.database.read { [clock] transaction in
                        let before = try Self.snapshot(in: transaction)
                        clock.sleep(until: Deadline(after: stay, from: clock.now()))
                        return (before, try Self.snapshot(in: transaction))
                    }
                }
                guard let (before, after) = seen else { continue }
                var entry = StressEntry(time: journal.now, .saw, .snapshot)
                entry.account = "\(session.token.account)"
                (entry.commit, entry.other) = (before.head, after.head)
                entry.text = before.values
                if before.values != after.values { entry.id = after.values }
                journal.append(entry)
                countBeat()
            }
        }
    }

    /// What a snapshot says of what may only grow: names and numbers.
    private static func snapshot(
        in transaction: borrowing ReadTransaction
    ) throws -> (head: Int64, values: String) {
        let head = try transaction.query("SELECT ifnull(max(number), 0) FROM lk_commit") {
            $0.integer(0)
        }
        let pages = try transaction.query("SELECT stream, value FROM lk_cursor ORDER BY 1") { row in
            let page = row.text(1).split(separator: "-").last.map(String.init) ?? "0"
            return "\(row.text(0))=\(page)"
        }
        let read = try transaction.query(
            """
            SELECT conversation_id, read_seq FROM lk_conversation
            WHERE read_seq IS NOT NULL ORDER BY 1
            """
        ) { row in "\(row.text(0))=\(row.integer(1))" }
        let rows = try transaction.query("SELECT count(*) FROM witness") {
            "witness=\($0.integer(0))"
        }
        return (head.first ?? 0, (pages + read + rows).joined(separator: " "))
    }
}

import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperState

/// What the databases and folders of a workspace hold after a stress run.
package struct StressEvidence: Sendable {
    /// The accounts, by their numbers.
    package var accounts: [Account] = []
    /// The accounts that are active, before anything was done for the evidence.
    package var active: [String] = []
    /// What is wrong whatever went on before, a sentence each.
    package var problems: [String] = []
    /// What nobody uses any more and is there all the same, a sentence each.
    package var leftBehind: [String] = []

    /// Evidence of nothing.
    package init() {}

    /// One account.
    package struct Account: Sendable {
        /// Its id.
        package let id: String
        /// What was written in each page's transaction, in the order of the commits.
        package var witnesses: [SwitchWitness] = []
        /// The bodies of the messages that are shown, by their ids.
        package var bodies: [String: String] = [:]
        /// The ids of the messages that were the account's own, by the client ids.
        package var sent: [String: [String]] = [:]
        /// The last page of each stream, by the worker's number.
        package var lastPages: [Int: Int] = [:]
        /// How far conversations are read.
        package var read: [String: Int64] = [:]
        /// How far conversations were cleared.
        package var cleared: [String: Int64] = [:]
        /// The rows of the commit log, in order.
        package var log: [Commit] = []
        /// What the setting that is counted up says.
        package var counter = 0
        /// The client ids that wait in the outbox.
        package var pending: Set<String> = []
        /// The messages whose effect waits: ids.
        package var effects: Set<String> = []
        /// Packets that are still kept, though the account was opened and drained.
        package var keptPackets = 0

        /// An account of which nothing is known.
        package init(id: String) { self.id = id }
    }

    /// A row of the commit log.
    package struct Commit: Sendable, Hashable {
        /// Its number.
        package let number: Int64
        /// The generation under which it happened.
        package let generation: Int64
        /// When it was written, in microseconds of the kernel's monotonic clock.
        package let time: Int64
        /// The name of the process that wrote it.
        package let origin: String

        /// A row of its parts.
        package init(number: Int64, generation: Int64, time: Int64, origin: String) {
            self.number = number
            self.generation = generation
            self.time = time
            self.origin = origin
        }
    }

    /// Reads everything. Each account is made active once, so that what was kept for it is applied.
    ///
    /// - Throws: what opening the workspace throws. An account that cannot be read is evidence too.
    static func collect(at root: String, _ plan: StressPlan) async throws -> StressEvidence {
        var evidence = StressEvidence()
        evidence.leftBehind = try leftovers(in: root, plan)
        let workspace = try await Workspace.openApart(
            at: root,
            name: "judge",
            role: .tool,
            schemas: [.messages, .state]
        )
        var active = try await workspace.accounts().filter { $0.state == .active }.map(\.id)
        evidence.active = active.map(\.description)
        let own = try ProcessIdentity.current().pid
        for process in try await workspace.status().processes where process.pid != own {
            evidence.leftBehind.append("process \(process.pid), \(process.name), has a record")
        }
        for number in 0..<plan.accountCount {
            let id = StressPlan.account(number)
            var account = Account(id: id.description)
            do {
                if let other = active.first, other != id {
                    await (try await workspace.replaceAccount(other, with: id)).close()
                    active = [id]
                }
                try await account.read(in: workspace, id, plan)
            } catch {
                evidence.problems.append("\(id) cannot be read: \(error)")
            }
            // A foreign program that is the last to close a database takes its log along, which is told
            // until somebody says that nothing was lost. Whether anything was, the histories say.
            if plan.faults.contains(.foreignLock) {
                _ = try await workspace.acceptMissingLogs(of: id)
            }
            evidence.accounts.append(account)
        }
        evidence.problems += try await WorkspaceAtRest(workspace).problems
        await workspace.close()
        return evidence
    }

    private static func leftovers(in root: String, _ plan: StressPlan) throws -> [String] {
        var found: [String] = []
        let folders =
            [root] + (0..<plan.accountCount).map { "\(root)/accounts/\(StressPlan.account($0))" }
        for folder in folders {
            for name in try FileSystem.abandonedTemporaries(in: folder) {
                found.append("the temporary file \(folder)/\(name)")
            }
            let damaged = "\(folder)/damaged"
            guard try FileSystem.status(damaged) != nil else { continue }
            for name in try FileSystem.list(damaged) { found.append("\(damaged)/\(name)") }
        }
        return found
    }
}

extension StressEvidence.Account {
    fileprivate mutating func read(
        in workspace: Workspace,
        _ id: AccountID,
        _ plan: StressPlan
    ) async throws {
        let session = try await workspace.session(id)
        // What waits is applied by whoever opens the account; here it is waited for.
        for _ in 0..<50 {
            _ = try await workspace.drainInbox(of: id)
            keptPackets = try await workspace.inbox(of: id).count
            if keptPackets == 0 { break }
            try await Task.sleep(for: .milliseconds(100))
        }
        let store = try MessageStore(session)
        witnesses = try await session.database.read { try SwitchWitness.rows(of: id, in: $0) }
        try await readMessages(session.database)
        let cursors = try await store.cursors()
        for worker in plan.roles.indices where plan.roles[worker] == .ingest {
            let cursor = cursors[SwitchPages.stream(of: worker)]
            lastPages[worker] = cursor.flatMap(SwitchPages.page) ?? 0
        }
        for item in try await store.outbox() {
            if let clientID = item.clientID { pending.insert("\(clientID)") }
        }
        effects = Set(try await store.effects().map { "\($0.message)" })
        counter = try await SettingsStore(session).value(StressContent.counter) ?? 0
        await session.close()
    }

    private mutating func readMessages(_ database: AccountDatabase) async throws {
        let messages = try await database.read { transaction in
            try transaction.query(
                "SELECT message_id, body, client_id, state FROM lk_message"
            ) { row in
                (id: row.text(0), body: row.text(1), client: row.text(2), state: row.integer(3))
            }
        }
        for message in messages {
            if message.state == 1 { bodies[message.id] = message.body }
            if !message.client.isEmpty { sent[message.client, default: []].append(message.id) }
        }
        log = try await database.read { transaction in
            try transaction.query(
                "SELECT number, generation, monotonic_ns, origin FROM lk_commit ORDER BY 1"
            ) { row in
                StressEvidence.Commit(
                    number: row.integer(0),
                    generation: row.integer(1),
                    time: row.integer(2) / 1000,
                    origin: row.text(3)
                )
            }
        }
        let places = try await database.read { transaction in
            try transaction.query(
                """
                SELECT conversation_id, ifnull(read_seq, 0), ifnull(clear_seq, 0)
                FROM lk_conversation
                """
            ) { row in (id: row.text(0), read: row.integer(1), cleared: row.integer(2)) }
        }
        for place in places { (read[place.id], cleared[place.id]) = (place.read, place.cleared) }
    }
}

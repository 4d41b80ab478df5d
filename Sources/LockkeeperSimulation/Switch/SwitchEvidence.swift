import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages

/// What the databases hold after a simulation of the switch.
struct SwitchEvidence: Sendable {
    /// The accounts, by their numbers.
    var accounts: [Account] = []

    /// One account.
    struct Account: Sendable {
        let id: AccountID
        /// As the registry has it.
        let generation: Generation
        /// As the registry has it.
        let isActive: Bool
        /// What was written in each page's transaction, in the order of the commits.
        var witnesses: [SwitchWitness] = []
        /// The bodies of the messages by their ids.
        var bodies: [String: String] = [:]
        /// The last page of each helper, as its cursor has it.
        var lastPages: [Int: Int] = [:]
        /// The generation in each row of the commit log, by its number.
        var log: [Int64: Generation] = [:]
        /// What an inspection of the files found.
        var findings: [String] = []
        /// Why the account could not be read.
        var failure: String?

        init(_ info: AccountInfo) {
            id = info.id
            generation = info.generation
            isActive = info.state == .active
        }
    }

    /// Reads everything, and closes the workspace.
    ///
    /// - Throws: what opening throws. An account that cannot be read is evidence too.
    static func collect(in workspace: Workspace, plan: SwitchPlan) async throws -> SwitchEvidence {
        var evidence = SwitchEvidence()
        for info in try await workspace.accounts() {
            var account = Account(info)
            do { try await account.read(in: workspace, plan) } catch {
                account.failure = "\(error)"
            }
            evidence.accounts.append(account)
        }
        await workspace.close()
        return evidence
    }
}

extension SwitchEvidence.Account {
    fileprivate mutating func read(in workspace: Workspace, _ plan: SwitchPlan) async throws {
        // It compares the registry's generation with the fence: where they differ it fails.
        let session = try await workspace.inspectionSession(id)
        let id = id
        witnesses = try await session.database.read { try SwitchWitness.rows(of: id, in: $0) }
        let messages = try await session.database.read { transaction in
            try transaction.query("SELECT message_id, body FROM lk_message") { row in
                (row.text(0), row.text(1))
            }
        }
        bodies = Dictionary(uniqueKeysWithValues: messages)
        let commits = try await session.database.read { transaction in
            try transaction.query("SELECT number, generation FROM lk_commit") { row in
                (row.integer(0), Generation(row.integer(1)))
            }
        }
        log = Dictionary(uniqueKeysWithValues: commits)
        let cursors = try await MessageStore(session).cursors()
        for helper in 1...plan.helperCount {
            let cursor = cursors[SwitchPages.stream(of: helper)]
            lastPages[helper] = cursor.flatMap(SwitchPages.page) ?? 0
        }
        findings = try await session.inspect().map { "\($0.subject): \($0.explanation)" }
        await session.close()
    }
}

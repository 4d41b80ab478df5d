import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages

/// What the databases hold after a simulation of the switch.
struct SwitchEvidence: Sendable {
    /// The accounts, by their numbers.
    var accounts: [Account] = []
    /// Who is active, and what is wrong whatever went on before.
    let atRest: WorkspaceAtRest

    private init(atRest: WorkspaceAtRest) { self.atRest = atRest }

    /// One account.
    struct Account: Sendable {
        let id: AccountID
        /// What was written in each page's transaction, in the order of the commits.
        var witnesses: [SwitchWitness] = []
        /// The bodies of the messages by their ids.
        var bodies: [String: String] = [:]
        /// The last page of each helper, as its cursor has it.
        var lastPages: [Int: Int] = [:]
        /// The generation in each row of the commit log, by its number.
        var log: [Int64: Generation] = [:]
        /// Why it could not be read.
        var failure: String?

        init(_ id: AccountID) { self.id = id }
    }

    /// Reads everything, and closes the workspace.
    ///
    /// - Throws: what listing the accounts throws. An account that cannot be read is evidence too.
    static func collect(in workspace: Workspace, plan: SwitchPlan) async throws -> SwitchEvidence {
        var evidence = SwitchEvidence(atRest: try await WorkspaceAtRest(workspace))
        for number in 0..<plan.accountCount {
            var account = Account(SwitchPlan.account(number))
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
        let session = try await workspace.inspectionSession(id)
        let id = id
        witnesses = try await session.database.read { try SwitchWitness.rows(of: id, in: $0) }
        let messages = try await session.database.read { transaction in
            try transaction.query("SELECT message_id, body FROM lk_message") { row in
                (row.text(0), row.text(1))
            }
        }
        bodies = Dictionary(messages) { $1 }
        let commits = try await session.database.read { transaction in
            try transaction.query("SELECT number, generation FROM lk_commit") { row in
                (row.integer(0), Generation(row.integer(1)))
            }
        }
        log = Dictionary(commits) { $1 }
        let cursors = try await MessageStore(session).cursors()
        for helper in 1...plan.helperCount {
            let cursor = cursors[SwitchPages.stream(of: helper)]
            lastPages[helper] = cursor.flatMap(SwitchPages.page) ?? 0
        }
        await session.close()
    }
}

package import Lockkeeper
package import LockkeeperDomain

/// What a workspace is like when nothing goes on in it: who is active, and what is wrong.
package struct WorkspaceAtRest: Sendable {
    /// The accounts that the registry calls active.
    package private(set) var active: [AccountID] = []
    /// What is wrong, one sentence for each: an account that cannot be read, a fence that says
    /// something else than the registry, and what an inspection finds.
    package private(set) var problems: [String] = []

    /// Looks through every account that was ever activated.
    ///
    /// - Throws: what listing the accounts throws.
    package init(_ workspace: Workspace) async throws {
        for account in try await workspace.accounts() {
            if account.state == .active { active.append(account.id) }
            guard account.generation > Generation(0) else { continue }
            do {
                for problem in try await Self.problems(of: account, in: workspace) {
                    problems.append("\(account.id): \(problem)")
                }
            } catch {
                problems.append("\(account.id) cannot be read: \(error)")
            }
        }
    }

    private static func problems(
        of account: AccountInfo,
        in workspace: Workspace
    ) async throws -> [String] {
        let session = try await workspace.inspectionSession(account.id)
        let fences = try await session.database.read { transaction in
            try transaction.query("SELECT generation, state FROM lk_fence") { row in
                "\(row.integer(0)) \(row.text(1))"
            }
        }
        let findings = try await session.inspect().map { "\($0.subject): \($0.explanation)" }
        await session.close()
        let expected = "\(account.generation) \(account.state.rawValue)"
        guard fences != [expected] else { return findings }
        return ["its fence says \(fences), the registry \(expected)"] + findings
    }
}

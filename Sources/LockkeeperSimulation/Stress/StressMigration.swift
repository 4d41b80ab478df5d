import Lockkeeper
package import LockkeeperDomain

/// A program that comes to the workspace of a stress run with a schema that none of the others knows, and
/// with one step more each time.
package enum StressMigration {
    /// Brings an account to the schema.
    ///
    /// - Parameters:
    ///   - count: how many steps it has.
    ///   - account: which; `nil` for the active one, and nothing is done where none is.
    /// - Throws: ``LockkeeperError``: `newerSchema` where another one with more steps was faster.
    package static func run(_ count: Int, of account: AccountID?, at root: String) async throws {
        let steps = (1...count).map { number in
            SchemaMigration(
                "20261101\(String(1_0000 + number).dropFirst())_step",
                sql: """
                    CREATE TABLE step_\(number) (id INTEGER PRIMARY KEY, text TEXT);
                    INSERT INTO step_\(number) SELECT number, origin FROM lk_commit
                      ORDER BY number DESC LIMIT 100;
                    """
            )
        }
        let workspace = try await Workspace.openApart(
            at: root,
            name: "migration",
            role: .tool,
            schemas: [Schema(owner: "stress", migrations: steps)]
        )
        let active = try await workspace.accounts().first { $0.state == .active }?.id
        if let account = account ?? active { try await workspace.migrate(account) }
        await workspace.close()
    }
}

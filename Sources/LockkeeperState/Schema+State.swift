public import Lockkeeper
import LockkeeperDomain
import LockkeeperStorage

extension Schema {
    /// The tables of an account's other state: settings, marks of rejected credentials, media. A
    /// workspace that uses any of them opens with it. They stand in the account's second database,
    /// which a rebuild of the messages leaves alone.
    public static let state = Schema(
        owner: "state",
        kind: .settings,
        migrations: EmbeddedMigrations.all.map {
            Migration(owner: "state", name: $0.name, sql: $0.sql)
        },
        probes: { _ in StateInspection.probes }
    )
}

extension Session {
    /// The account's second database, with the tables of this room.
    ///
    /// - Throws: ``LockkeeperError``: `invalidInput` where the workspace was opened without
    ///   ``Schema/state``; as for opening the account.
    func stateDatabase() async throws -> AccountDatabase {
        guard declares(.state) else {
            throw LockkeeperError(
                .invalidInput,
                subject: "account \(token.account)",
                explanation: "the workspace was opened without the schema of its other state",
                answer: .fixProgram,
                remedy: "Open it with Workspace.open(at:name:schemas: [.messages, .state])."
            )
        }
        return try await settingsDatabase()
    }
}

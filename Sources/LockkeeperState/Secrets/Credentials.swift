public import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

/// The credentials of an account: its secrets, and which of them the server has rejected.
///
/// A stored credential is not a valid one. Who hears from the server that one is of no use marks it, and
/// every process of the account sees that: none goes on trying. The mark stands on one writing of the
/// item; what is saved in its place is not rejected. It stands in the account's database, under its fence,
/// and holds nothing of the secret.
public final class Credentials: Sendable {
    /// Where the secrets are.
    public let store: any SecretStore
    private let session: Session
    private let database: AccountDatabase

    private var account: AccountID { session.token.account }

    /// Joins a session and a store.
    ///
    /// - Throws: ``LockkeeperError``: as for ``SettingsStore``.
    public init(_ session: Session, store: any SecretStore) async throws {
        database = try await session.stateDatabase()
        self.session = session
        self.store = store
    }

    /// A secret with what is known of it.
    public struct Credential: Sendable {
        /// The secret as the store gave it.
        public let stored: StoredSecret
        /// Whether some process has marked this writing of it.
        public let isRejected: Bool
    }

    /// Reads a credential.
    ///
    /// - Throws: as ``SecretStore/load(_:of:)``; ``LockkeeperError`` with the code `superseded`.
    public func load(_ service: SecretService) async throws -> Credential {
        let stored = try await store.load(service, of: account)
        let rejected = try await database.readConnection { try Self.rejected(service, $0) }
        return Credential(stored: stored, isRejected: rejected == stored.revision)
    }

    /// Marks one writing of a credential as rejected by the server, for every process, durably.
    @discardableResult
    public func reject(
        _ revision: SecretRevision,
        of service: SecretService
    ) async throws -> CommitReceipt {
        let now = session.wallClock.milliseconds()
        return try await database.submit(durability: .durable, waitMax: nil) { connection, topics in
            topics.insert(service.bytes)
            let insert = try connection.statement(
                """
                INSERT INTO lk_rejection (service, revision, rejected_at) VALUES (?1, ?2, ?3)
                ON CONFLICT (service) DO UPDATE
                SET revision = excluded.revision, rejected_at = excluded.rejected_at
                WHERE revision IS NOT excluded.revision
                """
            )
            try insert.bind(1, text: service.bytes)
            try insert.bind(2, blob: revision.bytes)
            try insert.bind(3, now)
            try insert.run()
        }.receipt
    }

    /// The writing of a credential that was rejected last, kept live across processes; `nil` where none
    /// was.
    public func observeRejection(of service: SecretService) -> LiveQuery<SecretRevision?> {
        database.observeConnection(topics: [service.bytes]) {
            try Self.rejected(service, $0)
        }.withoutRepeats()
    }

    private static func rejected(
        _ service: SecretService,
        _ connection: Connection
    ) throws -> SecretRevision? {
        let select = try connection.statement(
            "SELECT revision FROM lk_rejection WHERE service = ?1"
        )
        defer { select.reset() }
        try select.bind(1, text: service.bytes)
        return try select.step() ? SecretRevision(select.bytes(0)) : nil
    }
}

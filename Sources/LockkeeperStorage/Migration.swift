import LockkeeperCrypto
package import LockkeeperSQLite

/// One numbered step of a schema.
package struct Migration: Sendable, Hashable {
    /// Whose schema it is: "lockkeeper", "messages", an app's own. Each owner's steps are counted
    /// for themselves.
    package let owner: String
    /// The step's name. Steps run in the order of their names.
    package let name: String
    /// What it does.
    package let body: Body
    /// What a change of a step that was applied is noticed by: the SHA-256 of its text, or of the
    /// version that it declares.
    package let checksum: [UInt8]
    /// Whether it is an app's, which may not make, change or remove what begins with `lk_`.
    package let isOfApp: Bool

    /// What a step does, inside a transaction that it cannot end.
    package enum Body: Sendable {
        /// Statements.
        case sql(String)
        /// What SQL cannot say.
        case step(@Sendable (Connection) throws -> Void)
    }

    /// A step in SQL.
    package init(owner: String, name: String, sql: String, isOfApp: Bool = false) {
        self.owner = owner
        self.name = name
        self.isOfApp = isOfApp
        body = .sql(sql)
        checksum = SHA256.digest(of: sql)
    }

    /// A step in Swift.
    ///
    /// - Parameter version: what stands for the step's text: whoever changes what an applied step
    ///   does changes it too, and is told that this is not done.
    package init(
        owner: String,
        name: String,
        version: Int,
        isOfApp: Bool = false,
        _ step: @escaping @Sendable (Connection) throws -> Void
    ) {
        self.owner = owner
        self.name = name
        self.isOfApp = isOfApp
        body = .step(step)
        checksum = SHA256.digest(of: "step, version \(version)")
    }

    /// The statements; `nil` for a step in Swift.
    package var sql: String? { if case .sql(let text) = body { text } else { nil } }

    /// This room's own steps, which every store begins with.
    package static let store: [Migration] = EmbeddedMigrations.all.map {
        Migration(owner: "lockkeeper", name: $0.name, sql: $0.sql)
    }

    /// Steps are equal that a store cannot tell apart.
    package static func == (left: Migration, right: Migration) -> Bool {
        left.owner == right.owner && left.name == right.name && left.checksum == right.checksum
    }

    /// Hashes what makes steps equal.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(owner)
        hasher.combine(name)
        hasher.combine(checksum)
    }
}

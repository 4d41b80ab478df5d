import LockkeeperCrypto

/// One numbered step of a schema.
package struct Migration: Sendable, Hashable {
    /// Whose schema it is: "lockkeeper", "messages", an app's own. Each owner's steps are counted
    /// for themselves.
    package let owner: String
    /// The step's name. Steps run in the order of their names.
    package let name: String
    /// What it does.
    package let sql: String
    /// The SHA-256 of the text, by which a change of a step that was applied is noticed.
    package let checksum: [UInt8]

    /// A step.
    package init(owner: String, name: String, sql: String) {
        self.owner = owner
        self.name = name
        self.sql = sql
        self.checksum = SHA256.digest(of: sql)
    }

    /// This room's own steps, which every store begins with.
    package static let store: [Migration] = EmbeddedMigrations.all.map {
        Migration(owner: "lockkeeper", name: $0.name, sql: $0.sql)
    }
}

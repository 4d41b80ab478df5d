/// What an account's server promises, declared once when the account is added and stored
/// with it, so that every process decides alike.
public struct ServerContract: Sendable, Hashable {
    /// What the server does with its own copy once it has been told that one is stored.
    public enum Retention: String, Sendable, Hashable, CaseIterable {
        /// It keeps its copy, so that it can be asked again.
        case keeps
        /// It drops its only copy: every acknowledgement must be durable.
        case drops
    }

    /// Whether the order of a conversation gives each place to one message.
    public enum Order: String, Sendable, Hashable, CaseIterable {
        /// Another id on a taken `seq` breaks the contract.
        case unique
        /// Several messages may share a `seq`; the id decides between them.
        case ties
    }

    /// Who may edit and recall.
    public enum Authority: String, Sendable, Hashable, CaseIterable {
        /// What the server delivers is right.
        case server
        /// Only a message's sender; the store checks it.
        case author
    }

    /// Whether the server sends again what was not acknowledged.
    public var redelivers: Bool
    /// Whether the server can be asked again from a cursor.
    public var resumesFromCursor: Bool
    /// What the server does with its copy after an acknowledgement.
    public var retention: Retention
    /// Whether the server refuses a second message with the same client id.
    public var refusesDoubles: Bool
    /// Whether `seq` is unique in a conversation.
    public var order: Order
    /// Who may edit and recall.
    public var authority: Authority

    /// A contract; the defaults describe a server that redelivers, keeps its copy and can be asked
    /// again.
    public init(
        redelivers: Bool = true,
        resumesFromCursor: Bool = true,
        retention: Retention = .keeps,
        refusesDoubles: Bool = false,
        order: Order = .unique,
        authority: Authority = .server
    ) {
        self.redelivers = redelivers
        self.resumesFromCursor = resumesFromCursor
        self.retention = retention
        self.refusesDoubles = refusesDoubles
        self.order = order
        self.authority = authority
    }
}

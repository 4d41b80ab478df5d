/// What a server promises of one stream's pages and packets.
public struct StreamContract: Sendable, Hashable {
    /// What the server does with its own copy once it has been told that one is stored.
    public enum Retention: String, Sendable, Hashable, CaseIterable {
        /// It keeps its copy, so that it can be asked again.
        case keeps
        /// It drops its only copy: every acknowledgement must be durable.
        case drops
    }

    /// For whom the server keeps the place in the stream.
    public enum Scope: String, Sendable, Hashable, CaseIterable {
        /// Each device has a place of its own.
        case device
        /// All devices of the account share one: what another device acknowledged is not sent again.
        case account
    }

    /// What the server does when it is asked from a cursor that it no longer knows.
    public enum UnknownCursor: String, Sendable, Hashable, CaseIterable {
        /// It says so; the app ingests a `reset` and asks from the beginning.
        case refuses
        /// It answers from the beginning.
        case restarts
        /// It answers with what comes from now on, and says nothing of what lies between.
        case skips
    }

    /// Whether the server sends again what was not acknowledged.
    public var redelivers: Bool
    /// Whether the server can be asked again from a cursor.
    public var resumesFromCursor: Bool
    /// What the server does with its copy after an acknowledgement.
    public var retention: Retention
    /// For how long the server keeps what was not fetched, and knows a cursor; `nil` for ever. The
    /// store does not measure it: a device's clock is no proof.
    public var keepsFor: Duration?
    /// For whom the server keeps the place.
    public var scope: Scope
    /// What the server does with a cursor that it no longer knows.
    public var unknownCursor: UnknownCursor

    /// A contract; the defaults describe a server that redelivers, keeps its copy and can be asked
    /// again.
    public init(
        redelivers: Bool = true,
        resumesFromCursor: Bool = true,
        retention: Retention = .keeps,
        keepsFor: Duration? = nil,
        scope: Scope = .device,
        unknownCursor: UnknownCursor = .refuses
    ) {
        self.redelivers = redelivers
        self.resumesFromCursor = resumesFromCursor
        self.retention = retention
        self.keepsFor = keepsFor
        self.scope = scope
        self.unknownCursor = unknownCursor
    }

    /// Whether what this process has received and not stored is lost for good: the server neither
    /// sends it again nor can be asked again. Such packets need the inbox first.
    public var needsInbox: Bool { !redelivers && !resumesFromCursor }

    /// Why a receipt must be durable, as half a sentence; `nil` where it need not be.
    public var reasonForDurableReceipts: String? {
        if retention == .drops {
            return "the server drops its only copy once it is acknowledged"
        }
        return needsInbox ? "the server neither sends again nor can be asked again" : nil
    }
}

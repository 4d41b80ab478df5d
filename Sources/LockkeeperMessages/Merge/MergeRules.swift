import LockkeeperDomain

/// What the merge takes from the account: its contract, who it is, and the bounds.
struct MergeRules: Sendable {
    /// Whether another message on a taken seq breaks the contract (M-14).
    var seqIsUnique: Bool
    /// Who may edit and recall (M-5).
    var authority: ServerContract.Authority
    /// The account's own id on its server.
    let ownID: [UInt8]?
    var limits: Limits
    /// The number of these rules. The store keeps the one that merged it last: what was kept for later
    /// rules is offered to larger ones again, and smaller ones do not ingest.
    var number: Int64 = Self.currentNumber

    /// It grows whenever a change of the rules makes other rows of the same events.
    static let currentNumber: Int64 = 1

    init(contract: ServerContract, ownID: [UInt8]?, limits: Limits) {
        seqIsUnique = contract.order == .unique
        authority = contract.authority
        self.ownID = ownID
        self.limits = limits
    }
}

extension ServerContract.Authority {
    /// Whether only a message's sender may edit it.
    var editsNeedAuthor: Bool { self != .server }

    /// Whether only a message's sender may recall it.
    var recallsNeedAuthor: Bool { self == .author }
}

/// One thing that is offered for ingest.
enum IngestItem: Sendable {
    case event(Event)
    case unreadable(UnreadableLine)
}

/// What a batch came to.
struct BatchResult: Sendable {
    var outcomes = OutcomeCounts()
    var streams: Set<StreamID> = []
    var cursors: [StreamID: Cursor?] = [:]
    var gaps: [PageGap] = []
    /// Why confirmations of own messages cannot be true; their items stay.
    var contradictions: [String] = []
    /// The conversations that events named.
    var topics: [[UInt8]] = []
}

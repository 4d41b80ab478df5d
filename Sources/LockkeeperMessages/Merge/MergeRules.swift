import LockkeeperDomain

/// What the merge takes from the account: its contract, who it is, and the bounds.
struct MergeRules: Sendable {
    /// Whether another message on a taken seq breaks the contract (M-14).
    let seqIsUnique: Bool
    /// The account's own id on its server.
    let ownID: [UInt8]?
    let limits: Limits

    init(contract: ServerContract, ownID: [UInt8]?, limits: Limits) {
        seqIsUnique = contract.order == .unique
        self.ownID = ownID
        self.limits = limits
    }
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
    /// The conversations that events named.
    var topics: [[UInt8]] = []
}

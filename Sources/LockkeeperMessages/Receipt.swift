public import LockkeeperDomain

/// What became of one event (M-15).
public enum EventOutcome: String, Sendable, Hashable, CaseIterable {
    /// A message is shown that was not.
    case inserted
    /// Something that is stored is different now.
    case updated
    /// Everything that it says was known.
    case duplicate
    /// It says something that newer events have overtaken.
    case stale
    /// It contradicts what is stored, or could not be read or understood: its bytes, or those whose place
    /// it took, are kept aside.
    case quarantined
}

/// How often each outcome occurred.
public struct OutcomeCounts: Sendable, Hashable {
    /// Messages that are shown and were not.
    public internal(set) var inserted = 0
    /// Events that changed something else.
    public internal(set) var updated = 0
    /// Events that said nothing new.
    public internal(set) var duplicate = 0
    /// Events that newer ones had overtaken.
    public internal(set) var stale = 0
    /// Events for which bytes were put aside: their own, or those whose place they took.
    public internal(set) var quarantined = 0

    /// No events.
    public init() {}

    /// All events.
    public var total: Int { inserted + updated + duplicate + stale + quarantined }

    mutating func count(_ outcome: EventOutcome) {
        switch outcome {
        case .inserted: inserted += 1
        case .updated: updated += 1
        case .duplicate: duplicate += 1
        case .stale: stale += 1
        case .quarantined: quarantined += 1
        }
    }

    /// Adds the counts of other events.
    public mutating func add(_ other: OutcomeCounts) {
        inserted += other.inserted
        updated += other.updated
        duplicate += other.duplicate
        stale += other.stale
        quarantined += other.quarantined
    }
}

/// A page that waits for an earlier one (M-12).
public struct PageGap: Sendable, Hashable {
    /// The stream.
    public let stream: StreamID
    /// Where the stream's cursor stands: the predecessor that would have been followed.
    public let expected: Cursor?
    /// The predecessor that the page names.
    public let found: Cursor?
}

/// The acknowledgement of events: what became of them, and where the cursors stand.
///
/// What may be acknowledged to the server is the cursor that the receipt states, nothing else.
public struct Receipt: Sendable, Hashable {
    /// The account that took the events.
    public let account: AccountID
    /// The generation under which they were written.
    public let generation: Generation
    /// The last commit that stored some of them; `nil` where nothing changed.
    public internal(set) var commit: CommitNumber?
    /// What became of the events.
    public internal(set) var outcomes: OutcomeCounts
    /// Where the cursors of the streams that were named stand; `nil` for a stream without one.
    public internal(set) var cursors: [StreamID: Cursor?]
    /// The pages among the events that wait for an earlier one.
    public internal(set) var gaps: [PageGap]
    /// What is promised: `durable` survives a power loss (I-6).
    public let durability: Durability
    /// How long the batches stood in line for admission, one duration each.
    public internal(set) var waits: [Duration]
}

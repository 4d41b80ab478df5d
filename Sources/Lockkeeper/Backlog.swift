/// What one of an account's lists of things to do outside holds, as one look found it: the outbox, or
/// the effects.
public struct Backlog: Sendable, Hashable {
    /// Which list: "outbox" or "effects".
    public let name: String
    /// Things that wait for somebody who does them.
    public let waitingCount: Int
    /// Things of which an attempt has begun and nobody has said how it ended.
    public let underwayCount: Int
    /// Things of which an attempt had no answer, so that it may have been done.
    public let unansweredCount: Int
    /// Things that were put aside, and wait for a person.
    public let parkedCount: Int

    /// A list with the counts of each phase, in the order of the properties.
    package init(name: String, waiting: Int, underway: Int, unanswered: Int, parked: Int) {
        self.name = name
        waitingCount = waiting
        underwayCount = underway
        unansweredCount = unanswered
        parkedCount = parked
    }

    /// All that has not ended.
    public var count: Int { waitingCount + underwayCount + unansweredCount + parkedCount }
}

import LockkeeperDomain

/// A range with its line, which all subscribers that stand at its predecessor share.
struct EncodedRange: Sendable {
    var range: ChangeRange
    /// `nil` where the line must be made anew, because ranges were joined.
    var line: [UInt8]?
}

/// What waits for one subscriber's socket, in order, bounded.
///
///     keeping ──append() past the bound──▶ keeping, merged to few
///     keeping ──the same, for the last time──▶ dropped (by `append`, told through its result)
///
/// A subscriber that is slow for a moment gets fewer, coarser ranges. One that has stopped costs a
/// merge for each 256 ranges a few times, then nothing at all: its backlog is dropped and the log,
/// which has everything, is read again once its socket drains.
struct SubscriberBacklog: Sendable {
    private let rangeCountMax: Int
    private var items: [Item] = []
    /// Items before this one were taken; they are removed when half of the array is such.
    private var firstIndex = 0
    private var rangeCount = 0
    private var mergePassCount = 0

    /// What is sent: a range, or a line that stays as it is.
    enum Item: Sendable {
        case range(EncodedRange)
        case line([UInt8])
    }

    /// After so many passes without a drained socket the subscriber counts as stopped: its backlog
    /// has then covered a few thousand commits.
    private static let mergePassCountMax = 8

    init(rangeCountMax: Int) {
        precondition(rangeCountMax > 1)
        self.rangeCountMax = rangeCountMax
    }

    /// Whether nothing waits.
    var isEmpty: Bool { firstIndex == items.count }
    /// How many items wait.
    var count: Int { items.count - firstIndex }

    /// The last commit of the last range that waits.
    var lastCommit: CommitNumber? {
        for item in items[firstIndex...].reversed() {
            if case .range(let encoded) = item { return encoded.range.last }
        }
        return nil
    }

    /// Adds a range.
    ///
    /// - Returns: `false` when the bound was reached for the last time and all ranges were dropped,
    ///   this one included.
    mutating func append(_ range: EncodedRange) -> Bool {
        if rangeCount >= rangeCountMax {
            guard mergePassCount < Self.mergePassCountMax else {
                dropRanges()
                return false
            }
            mergePassCount += 1
            merge()
            // Ranges of several generations cannot be joined; so many of those mean trouble.
            if rangeCount >= rangeCountMax {
                dropRanges()
                return false
            }
        }
        items.append(.range(range))
        rangeCount += 1
        return true
    }

    /// Adds a line that says something other than a range.
    mutating func append(line: [UInt8]) { items.append(.line(line)) }

    /// Takes what is to be sent next.
    mutating func popFirst() -> Item? {
        guard firstIndex < items.count else { return nil }
        let item = items[firstIndex]
        // The memory of what was taken is given back at once, not when the array is cleaned up.
        items[firstIndex] = .line([])
        firstIndex += 1
        if case .range = item { rangeCount -= 1 }
        if firstIndex == items.count {
            items.removeAll(keepingCapacity: true)
            firstIndex = 0
            mergePassCount = 0
        } else if firstIndex * 2 > items.count {
            items.removeSubrange(..<firstIndex)
            firstIndex = 0
        }
        return item
    }

    /// Drops the ranges and keeps the other lines.
    mutating func dropRanges() {
        items = items[firstIndex...].filter { item in
            if case .line = item { true } else { false }
        }
        firstIndex = 0
        rangeCount = 0
        mergePassCount = 0
    }

    /// Joins neighbours that follow each other.
    private mutating func merge() {
        var joined: [Item] = []
        var open: EncodedRange?
        for item in items[firstIndex...] {
            guard case .range(let next) = item else {
                if let range = open.take() { joined.append(.range(range)) }
                joined.append(item)
                continue
            }
            if open?.range.isFollowed(by: next.range) == true {
                open?.range.merge(next.range)
                open?.line = nil
            } else {
                if let range = open { joined.append(.range(range)) }
                open = next
            }
        }
        if let range = open { joined.append(.range(range)) }
        items = joined
        firstIndex = 0
        rangeCount = items.count { item in
            if case .range = item { true } else { false }
        }
    }
}

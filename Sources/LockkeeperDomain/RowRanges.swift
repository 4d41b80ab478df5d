/// A set of row ids, kept as few ranges.
///
/// It may cover more than was added, never less: past ``rangeCountMax`` the two ranges with the
/// smallest gap between them become one.
public struct RowRanges: Sendable, Hashable {
    /// The ranges in ascending order, with gaps between them.
    public private(set) var ranges: [ClosedRange<Int64>] = []

    /// The largest number of ranges. A batch of 100 messages in 10 conversations stays below it,
    /// and a line of the notifier holds it for every table.
    public static let rangeCountMax = 32

    /// The empty set.
    public init() {}

    /// A set that covers some ranges.
    public init(_ ranges: some Sequence<ClosedRange<Int64>>) {
        for range in ranges { insert(range) }
    }

    /// Adds one row.
    public mutating func insert(_ row: Int64) {
        // Rows mostly arrive in ascending order: that case touches the last range only.
        guard let last = ranges.last else { return ranges.append(row...row) }
        if last.contains(row) { return }
        if row == last.upperBound &+ 1, row > last.upperBound {
            ranges[ranges.count - 1] = last.lowerBound...row
        } else {
            insert(row...row)
        }
    }

    /// Adds a range of rows.
    public mutating func insert(_ range: ClosedRange<Int64>) {
        // The first range that touches the new one or lies behind it.
        var start = 0
        var end = ranges.count
        while start < end {
            let middle = (start + end) / 2
            let touches =
                ranges[middle].upperBound >= range.lowerBound
                || ranges[middle].upperBound == range.lowerBound &- 1
            if touches { end = middle } else { start = middle + 1 }
        }
        var joined = range
        var behind = start
        while behind < ranges.count,
            ranges[behind].lowerBound <= joined.upperBound
                || ranges[behind].lowerBound == joined.upperBound &+ 1
        {
            joined =
                min(
                    joined.lowerBound,
                    ranges[behind].lowerBound
                )...max(
                    joined.upperBound,
                    ranges[behind].upperBound
                )
            behind += 1
        }
        ranges.replaceSubrange(start..<behind, with: CollectionOfOne(joined))
        if ranges.count > Self.rangeCountMax { joinNearest() }
    }

    /// Adds all rows of another set.
    public mutating func formUnion(_ other: RowRanges) {
        for range in other.ranges { insert(range) }
    }

    /// Whether a row may be in the set.
    public func contains(_ row: Int64) -> Bool { ranges.contains { $0.contains(row) } }

    private mutating func joinNearest() {
        var nearest = 1
        var smallest = UInt64.max
        for index in 1..<ranges.count {
            let gap =
                UInt64(bitPattern: ranges[index].lowerBound)
                &- UInt64(bitPattern: ranges[index - 1].upperBound)
            if gap < smallest { (nearest, smallest) = (index, gap) }
        }
        let joined = ranges[nearest - 1].lowerBound...ranges[nearest].upperBound
        ranges.replaceSubrange((nearest - 1)...nearest, with: CollectionOfOne(joined))
    }
}

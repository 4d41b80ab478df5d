/// Where in a table row ids are still to be looked for, once the way up from the first row and the way
/// down from the last one both ended at a page that cannot be read.
///
/// A gap is a range of row ids of which neither the first nor the last can be read. It is tried at its
/// middle, upwards and downwards; what remains of either half is a gap again, half as wide at most. So a
/// damaged leaf costs two tries for each level and finds every leaf beside it, and where a page above
/// the leaves is damaged the tries end at single rows. Gaps are tried in the order in which they were
/// found, widest first by and large, so that a bound on their number leaves an even grain.
struct RowIDGaps {
    /// Ranges that were given up.
    private(set) var lost: [ClosedRange<Int64>] = []
    /// The same, those that touch as one.
    var lostRanges: [ClosedRange<Int64>] {
        var ranges: [ClosedRange<Int64>] = []
        for range in lost.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = ranges.last, last.upperBound &+ 1 == range.lowerBound {
                ranges[ranges.count - 1] = last.lowerBound...range.upperBound
            } else {
                ranges.append(range)
            }
        }
        return ranges
    }

    private var open: [ClosedRange<Int64>] = []
    private var first = 0
    private var triesLeft: Int

    /// More tries than the rows below one damaged page above the leaves need.
    static let triesMax = 50_000

    init(_ gap: ClosedRange<Int64>, triesMax: Int = triesMax) {
        triesLeft = triesMax
        add(gap)
    }

    /// The next gap that is to be tried, and the row id from which upwards and below which downwards;
    /// `nil` when nothing is left to try.
    mutating func next() -> (gap: ClosedRange<Int64>, middle: Int64)? {
        guard first < open.count else { return nil }
        let gap = open[first]
        first += 1
        triesLeft -= 1
        guard triesLeft >= 0 else {
            lost.append(gap)
            while first < open.count {
                lost.append(open[first])
                first += 1
            }
            return nil
        }
        // Halves first: the sum of two row ids may not fit.
        let width = UInt64(bitPattern: gap.upperBound &- gap.lowerBound)
        return (gap, gap.lowerBound &+ Int64(bitPattern: width / 2) &+ 1)
    }

    /// Adds what remained of a half.
    mutating func add(_ gap: ClosedRange<Int64>) {
        if gap.lowerBound == gap.upperBound { lost.append(gap) } else { open.append(gap) }
    }
}

import Lockkeeper
import LockkeeperDomain

extension Session {
    /// The ranges of a number of commits after a position; they follow each other without a hole.
    func ranges(after position: Position, commitCount: Int) async throws -> [ChangeRange] {
        var ranges: [ChangeRange] = []
        var count = 0
        for try await range in changes(after: position) {
            ranges.append(range)
            count += Int(range.last.rawValue - range.first.rawValue) + 1
            if count >= commitCount { break }
        }
        return ranges
    }
}

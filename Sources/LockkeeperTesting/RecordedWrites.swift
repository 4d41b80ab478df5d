/// What was done to the files of a store, in order: enough to say what a disk may hold after the
/// power went at any point of it.
package struct RecordedWrites: Sendable {
    /// The files as they were on the disk when recording began, by their paths. Their content counts
    /// as synced, and a file that is made later as there for good: who makes a store syncs its
    /// directory itself.
    package var initial: [String: [UInt8]]
    /// What happened, in the order in which it ended.
    package var steps: [Step]

    /// One thing that happened.
    package enum Step: Sendable, Hashable {
        /// A file was opened, and is there from now on.
        case open(String)
        case write(String, offset: Int, bytes: [UInt8])
        case truncate(String, size: Int)
        /// A sync ended. It covers the file's own among the first `coveredCount` steps, which had
        /// ended when it began.
        case sync(String, coveredCount: Int, succeeded: Bool)
        case delete(String)
        /// A mark of the test's.
        case mark(Int)

        /// The file that it happened to.
        package var path: String? {
            switch self {
            case .open(let path), .write(let path, _, _), .truncate(let path, _),
                .sync(let path, _, _), .delete(let path):
                path
            case .mark: nil
            }
        }
    }

    /// A recording of its parts.
    package init(initial: [String: [UInt8]] = [:], steps: [Step]) {
        self.initial = initial
        self.steps = steps
    }

    /// The marks before a point.
    package func marks(before end: Int) -> [Int] {
        steps[..<end].compactMap { if case .mark(let number) = $0 { number } else { nil } }
    }

    /// Which of the steps before a point the disk holds for certain when the power goes there: what
    /// a sync has covered that had succeeded by then.
    ///
    /// What was written before a sync that failed is never certain, whatever later syncs say: the
    /// kernel drops the mark that it is still to be written, and keeps showing it (5.2).
    package func isCertain(before end: Int) -> [Bool] {
        var isCertain = Array(repeating: false, count: end)
        var pending: [String: [Int]] = [:]
        for (index, step) in steps[..<end].enumerated() {
            switch step {
            case .open, .mark: isCertain[index] = true
            case .write(let path, _, _), .truncate(let path, _), .delete(let path):
                pending[path, default: []].append(index)
            case .sync(let path, let coveredCount, let succeeded):
                isCertain[index] = true
                var left = pending[path] ?? []
                let covered = left.prefix { $0 < coveredCount }
                left.removeFirst(covered.count)
                pending[path] = left
                if succeeded { for index in covered { isCertain[index] = true } }
            }
        }
        return isCertain
    }
}

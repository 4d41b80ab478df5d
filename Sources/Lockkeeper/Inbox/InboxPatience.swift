import LockkeeperDomain

/// When packets that could not be applied are tried again: at once where something new came, which
/// the folder's stamp tells, and otherwise after pauses that grow.
struct InboxPatience: Sendable {
    private var stamp: Int64?
    private var next: MonotonicInstant?
    private var vainCount = 0

    /// Whether a folder with a stamp is worth an attempt.
    func isDue(_ stamp: Int64, now: MonotonicInstant) -> Bool {
        guard let next, stamp == self.stamp else { return true }
        return now >= next
    }

    /// Notes the end of an attempt.
    ///
    /// - Parameters:
    ///   - stamp: the folder's, from before it was last listed.
    ///   - isEmpty: whether nothing waits any more.
    mutating func end(_ stamp: Int64?, isEmpty: Bool, now: MonotonicInstant, retry: Backoff) {
        guard !isEmpty else {
            self = InboxPatience()
            return
        }
        self.stamp = stamp
        next = now.advanced(by: retry.ceiling(attempt: vainCount))
        vainCount += 1
    }
}

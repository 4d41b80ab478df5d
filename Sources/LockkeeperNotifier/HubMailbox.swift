import LockkeeperDomain
import LockkeeperPlatform
import Synchronization

/// What other threads have for the hub's thread. Bounded: announcements that follow each other are
/// joined, and where too many remain the log is read instead.
///
/// Lock rule: one lock, held for the time of an append; the hub's thread is woken after it was
/// released.
final class HubMailbox: Sendable {
    private let content = Mutex(Content())
    private let wake: WakeEvent
    private let announcementCountMax: Int

    /// What has come since the last look.
    struct Content: Sendable {
        var announcements: [ChangeRange] = []
        /// Streams whose logs are to be read.
        var looks: Set<StreamName> = []
        var changes: [(account: AccountID, change: GenerationChange)] = []
        var outcomes: [(request: ReadRequest, outcome: ReadOutcome)] = []
        var isStopping = false
    }

    init(announcementCountMax: Int) throws(SystemCallError) {
        self.announcementCountMax = announcementCountMax
        wake = try WakeEvent()
    }

    /// The descriptor that becomes readable when something has come.
    var raw: Int32 { wake.raw }

    /// Takes everything.
    func take() -> Content {
        wake.drain()
        return content.withLock { content in
            let taken = content
            content = Content()
            // Stopping is for good, however often it is looked at.
            content.isStopping = taken.isStopping
            return taken
        }
    }

    func post(_ range: ChangeRange) {
        content.withLock { [announcementCountMax] content in
            let last = content.announcements.count - 1
            if last >= 0, content.announcements[last].isFollowed(by: range) {
                content.announcements[last].merge(range)
            } else if content.announcements.count < announcementCountMax {
                content.announcements.append(range)
            } else {
                content.looks.insert(range.stream)
            }
        }
        wake.signal()
    }

    func post(lookAt stream: StreamName) {
        content.withLock { _ = $0.looks.insert(stream) }
        wake.signal()
    }

    func post(_ change: GenerationChange, of account: AccountID) {
        content.withLock { $0.changes.append((account, change)) }
        wake.signal()
    }

    func post(_ outcome: ReadOutcome, to request: ReadRequest) {
        content.withLock { $0.outcomes.append((request, outcome)) }
        wake.signal()
    }

    func stop() {
        content.withLock { $0.isStopping = true }
        wake.signal()
    }
}

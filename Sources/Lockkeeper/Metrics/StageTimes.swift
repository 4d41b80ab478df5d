import LockkeeperDomain
import Synchronization

/// How long the stages of this process's writes took, since the workspace was opened.
///
/// Lock rule: a mutex for each stage, held for one addition; writers of several accounts meet here.
package final class StageTimes: Sendable {
    private let queue = Mutex(WaitHistogram())
    private let admission = Mutex(WaitHistogram())
    private let transaction = Mutex(WaitHistogram())
    private let sync = Mutex(WaitHistogram())
    private let announcement = Mutex(WaitHistogram())

    /// Nothing yet.
    package init() {}

    /// Adds what one write took.
    package func add(_ stage: WriteStage, _ duration: Duration) {
        switch stage {
        case .queue: queue.withLock { $0.add(duration) }
        case .admission: admission.withLock { $0.add(duration) }
        case .transaction: transaction.withLock { $0.add(duration) }
        case .sync: sync.withLock { $0.add(duration) }
        case .announcement: announcement.withLock { $0.add(duration) }
        }
    }

    /// What was added until now.
    package var histograms: [WriteStage: WaitHistogram] {
        [
            .queue: queue.withLock { $0 },
            .admission: admission.withLock { $0 },
            .transaction: transaction.withLock { $0 },
            .sync: sync.withLock { $0 },
            .announcement: announcement.withLock { $0 },
        ]
    }
}

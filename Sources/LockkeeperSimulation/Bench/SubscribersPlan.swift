import LockkeeperDomain

/// Writers beside subscribers, and beside none.
package struct SubscribersPlan: Sendable, Hashable {
    /// Subscribers, each with a feed of its own; one of them, in a process of its own, is stopped.
    package var subscriberCount = 100
    /// Processes that write one message at a time, durably.
    package var writerCount = 2
    /// Commits of all writers in a second, at the most.
    package var rate = 100
    /// How long they write, each time.
    package var time: Duration = .seconds(10)
    /// How many pairs are measured.
    package var repeatCount = 5

    /// The defaults.
    package init() {}

    /// What the writers do.
    var writers: [BenchAssignment] {
        (0..<writerCount).map { number in
            var assignment = BenchAssignment(
                store: .lockkeeper,
                number: number,
                batchCount: 1,
                time: time
            )
            assignment.way = .write
            assignment.pause = .seconds(writerCount) / rate
            return assignment
        }
    }

    /// The processes that are ready before the writers: the hub, and who listens.
    func listeners(_ count: Int) -> [NoticeAssignment] {
        var assignments = [NoticeAssignment(role: .hub, count: 0)]
        if count > 1 {
            assignments.append(NoticeAssignment(role: .subscriber, count: count - 1, time: time))
        }
        if count > 0 {
            assignments.append(NoticeAssignment(role: .subscriber, count: 1, time: time))
        }
        return assignments
    }
}

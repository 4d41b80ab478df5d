import LockkeeperDomain
import Testing

@testable import LockkeeperNotifier

/// I-9: what waits for one subscriber is bounded, whatever it does.
@Suite struct SubscriberBacklogTests {
    @Test("a subscriber that stops costs at most the bound, then nothing, and reads the log again")
    func stoppedSubscriber() throws {
        let limit = 256
        let request = SubscriptionRequest(account: "alice", after: nil)
        var subscription = Subscription(request, serial: 1, backlogMax: limit)
        var head = StoreHead.fixture()
        subscription.begin(with: LogReading(head: head, ranges: []))
        var largest = 0
        for number in 1...10_000 {
            let commit = Int64(number)
            let range = ChangeRange.fixture(head: head, commits: commit...commit)
            head.head = range.last
            subscription.offer(EncodedRange(range: range, line: nil))
            largest = max(largest, subscription.waitingCount)
        }
        // The head line waits as well.
        #expect(largest == limit + 1)
        #expect(subscription.waitingCount == 1 && subscription.isBehind)
        _ = subscription.nextItem()
        #expect(subscription.takeReadPosition()?.commit == CommitNumber(0))
    }

    @Test("past the bound ranges are joined and cover the same commits")
    func joined() {
        var backlog = SubscriberBacklog(rangeCountMax: 4)
        var head = StoreHead.fixture()
        for commit in Int64(1)...9 {
            let range = ChangeRange.fixture(head: head, commits: commit...commit)
            head.head = range.last
            let isKept = backlog.append(EncodedRange(range: range, line: [1]))
            #expect(isKept)
        }
        var last = CommitNumber(0)
        var count = 0
        while case .range(let encoded)? = backlog.popFirst() {
            #expect(encoded.range.predecessor == last)
            #expect(encoded.range.isMerged == (encoded.line == nil))
            last = encoded.range.last
            count += 1
        }
        #expect(last == CommitNumber(9) && count <= 4)
    }

    @Test("lines that are no ranges keep their place and are never dropped")
    func otherLines() {
        var backlog = SubscriberBacklog(rangeCountMax: 2)
        let head = StoreHead.fixture()
        let range = ChangeRange.fixture(head: head, commits: 1...1)
        _ = backlog.append(EncodedRange(range: range, line: nil))
        backlog.append(line: [7])
        _ = backlog.append(EncodedRange(range: range, line: nil))
        backlog.dropRanges()
        guard case .line([7])? = backlog.popFirst() else {
            Issue.record("the line is gone")
            return
        }
        #expect(backlog.isEmpty)
    }
}

import LockkeeperDomain
import Testing

@testable import LockkeeperIngest

/// The holder: real tasks and threads at the bound. I-9, R-4.
@Suite struct BatchQueueTests {
    @Test("a producer that waits goes on when a batch was taken, and its element follows")
    func waitsAndGoesOn() async throws {
        let harness = Harness()
        try await harness.fill()
        let producer = Task { try await harness.queue.submit(99, eventCount: 1, byteCount: 1) }
        await harness.waitingProducer()
        let first = try #require(harness.queue.takeBatch())
        try await producer.value
        #expect(first.elements == [0, 1, 2])
        harness.queue.finish()
        var rest: [Int] = []
        while let batch = harness.queue.takeBatch() { rest += batch.elements }
        #expect(rest == [3, 4, 5, 99])
        #expect(harness.queue.isDrained)
    }

    @Test("a producer that is cancelled while it waits did not submit anything")
    func cancelledProducer() async throws {
        let harness = Harness()
        try await harness.fill()
        let producer = Task { try await harness.queue.submit(99, eventCount: 1, byteCount: 1) }
        await harness.waitingProducer()
        producer.cancel()
        await #expect(throws: IngestError.self) { try await producer.value }
        #expect(harness.queue.close(Closed()) == [0, 1, 2, 3, 4, 5])
    }

    @Test("a task that is cancelled before it waits is told so instead of waiting")
    func cancelledBefore() async throws {
        let harness = Harness()
        try await harness.fill()
        let gate = Gate()
        let producer = Task {
            await gate.wait()
            try await harness.queue.submit(99, eventCount: 1, byteCount: 1)
        }
        producer.cancel()
        gate.open()
        await #expect(throws: IngestError.self) { try await producer.value }
        #expect(harness.queue.counters.waitingCount == 0)
    }

    @Test("a producer that does not want to wait is told that the queue is full")
    func doesNotWait() async throws {
        let harness = Harness()
        try await harness.fill()
        #expect(throws: IngestError.self) {
            try harness.queue.trySubmit(99, eventCount: 1, byteCount: 1)
        }
        #expect(harness.queue.counters.acceptedCount == 6)
    }

    @Test("an element larger than the queue is refused at once instead of waiting for ever")
    func tooLarge() async {
        let harness = Harness()
        await #expect(throws: IngestError.self) {
            try await harness.queue.submit(0, eventCount: 1, byteCount: 11)
        }
    }

    @Test("closing frees tasks and threads that wait and gives back what was accepted")
    func closing() async throws {
        let harness = Harness()
        try await harness.fill()
        let task = Task { try await harness.queue.submit(98, eventCount: 1, byteCount: 1) }
        await harness.waitingProducer()
        let thread = TestThread { [queue = harness.queue] in
            #expect(throws: IngestError.self) {
                try queue.submitBlocking(99, eventCount: 1, byteCount: 1)
            }
        }
        await harness.waitingProducer(count: 2)
        #expect(harness.queue.close(Closed()) == [0, 1, 2, 3, 4, 5])
        await #expect(throws: IngestError.self) { try await task.value }
        await thread.end()
        #expect(harness.queue.close(Closed()).isEmpty)
        #expect(harness.queue.counters.returnedCount == 6)
        await #expect(throws: IngestError.self) {
            try await harness.queue.submit(0, eventCount: 1, byteCount: 1)
        }
    }

    @Test("an old element's batch is announced by the tick that was asked for")
    func tick() async throws {
        let harness = Harness()
        try await harness.queue.submit(0, eventCount: 1, byteCount: 1)
        #expect(harness.recorder.deadlines == [harness.clock.deadline(after: .milliseconds(50))])
        harness.queue.tick()
        #expect(harness.queue.takeBatch() == nil)
        harness.clock.advance(by: .milliseconds(50))
        harness.queue.tick()
        let batch = try #require(harness.queue.takeBatch())
        #expect(batch.elements == [0] && batch.oldestOfferedAt.nanoseconds == 0)
    }

    @Test("eight threads and eight tasks lose nothing, and each one's order is kept")
    func manyProducers() async throws {
        let each = 500
        let harness = Harness()
        let queue = harness.queue
        let writer = TestThread { harness.takeUntilDrained() }
        let threads = (0..<8).map { producer in
            TestThread {
                for index in 0..<each {
                    do throws(IngestError) {
                        try queue.submitBlocking(
                            producer * 1000 + index,
                            eventCount: 1,
                            byteCount: index % 4
                        )
                    } catch { Issue.record(error) }
                }
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for producer in 8..<16 {
                group.addTask {
                    for index in 0..<each {
                        try await queue.submit(
                            producer * 1000 + index,
                            eventCount: 1,
                            byteCount: index % 4
                        )
                    }
                }
            }
            try await group.waitForAll()
        }
        for thread in threads { await thread.end() }
        queue.finish()
        await writer.end()
        let taken = harness.recorder.taken
        #expect(taken.count == 16 * each)
        for producer in 0..<16 {
            let own = taken.filter { $0 / 1000 == producer }.map { $0 % 1000 }
            #expect(own == Array(0..<each), "producer \(producer)")
        }
    }
}

private struct Closed: Error {}

import LockkeeperDomain
import Testing

@testable import LockkeeperIngest

/// Every sequence of inputs up to a depth on a queue of three events: the model check of the code
/// that ships. I-9: bounds never exceeded, nothing lost, order kept, no producer waits for ever.
@Suite struct BatchQueueEnumerationTests {
    @Test("every sequence of seven inputs keeps the bounds, the order and every element")
    func allSequences() {
        var walk = Walk(depthMax: 7)
        walk.visit(Model(), depth: 0)
        // The alphabet has 8 inputs, of which some are not possible in some states.
        #expect(walk.leafCount > 100_000)
        #expect(walk.longestWait > 0, "no sequence made a producer wait: the walk proves nothing")
        #expect(walk.failures.isEmpty, "\(walk.failures.prefix(3))")
    }
}

private enum Input: CaseIterable {
    case small, large, urgent, take, age, cancelFirst, finish, fail
}

/// The machine beside what it should have done.
private struct Model {
    static let limits = {
        var limits = BatchLimits(Limits())
        limits.batchEventCountMax = 2
        limits.batchByteCountMax = 2
        limits.queueEventCountMax = 3
        limits.queueByteCountMax = 4
        return limits
    }()

    var machine = BatchQueueStateMachine<Int>(limits: limits)
    var now = MonotonicInstant(nanoseconds: 0)
    var trace: [Input] = []
    var nextElement = 0
    /// Accepted elements in the order in which they were offered.
    var accepted: [Int] = []
    var waiting: [(producer: ProducerID, element: Int)] = []
    var taken: [Int] = []
    var announcedCount = 0
    var batchCount = 0
    var tickAt: Deadline?
    var isOpen = true
    var isClosed = false
    var failure: String?

    mutating func apply(_ input: Input) {
        trace.append(input)
        switch input {
        case .small: offer(byteCount: 1, isUrgent: false)
        case .large: offer(byteCount: 3, isUrgent: false)
        case .urgent: offer(byteCount: 1, isUrgent: true)
        case .take: _ = take()
        case .age: age()
        case .cancelFirst:
            let producer = waiting.removeFirst().producer
            guard let action = machine.cancel(producer, at: now) else {
                return fail("a producer that waits could not be cancelled")
            }
            resume(action.resumed)
            note(action.signals)
        case .finish:
            isOpen = false
            note(machine.finish(at: now))
        case .fail: close()
        }
        check()
    }

    /// Whether an input can happen now and is not the same as another one.
    func isPossible(_ input: Input) -> Bool {
        switch input {
        case .cancelFirst: !waiting.isEmpty
        case .fail, .take, .age: !isClosed
        case .finish: isOpen
        case .small, .large, .urgent: isOpen
        }
    }

    /// Ends the input and takes everything: whoever waits must get in on the way.
    mutating func drain() {
        guard !isClosed else { return }
        if isOpen { apply(.finish) }
        while take() {}
        check()
        if !waiting.isEmpty { fail("a producer waits for ever") }
        if taken != accepted { fail("accepted \(accepted), taken \(taken)") }
        if !machine.isDrained { fail("everything was taken and the queue is not drained") }
    }

    private mutating func offer(byteCount: Int, isUrgent: Bool) {
        let element = nextElement
        nextElement += 1
        let producer = ProducerID(UInt64(element))
        switch machine.offer(.init(element, 1, byteCount, isUrgent), by: producer, at: now) {
        case .accept(let signals):
            if !waiting.isEmpty { fail("an element overtook those who wait") }
            accepted.append(element)
            note(signals)
        case .wait(let signals):
            waiting.append((producer, element))
            note(signals)
        case .refuse(let error): fail("refused: \(error)")
        }
    }

    private mutating func take() -> Bool {
        let action = machine.takeBatch(at: now)
        if let batch = action.batch {
            batchCount += 1
            if batchCount > announcedCount { fail("a batch was given that was not announced") }
            taken += batch.elements
            let fits = batch.byteCount <= Self.limits.batchByteCountMax
            if !fits && batch.elements.count > 1 { fail("an oversized element is not alone") }
            if batch.eventCount > Self.limits.batchEventCountMax { fail("too many events") }
        } else if announcedCount > batchCount {
            fail("a batch was announced and is not there")
        }
        resume(action.resumed)
        note(action.signals)
        return action.batch != nil
    }

    /// Lets the age limit pass, with the timer's tick if one was asked for.
    private mutating func age() {
        now = now.advanced(by: Self.limits.batchAgeMax)
        while let deadline = tickAt, deadline.hasPassed(at: now) {
            tickAt = nil
            note(machine.tick(at: now))
        }
        if taken.count < accepted.count && announcedCount == batchCount {
            fail("an element is older than the limit and its batch was not announced")
        }
    }

    private mutating func close() {
        isOpen = false
        isClosed = true
        let action = machine.fail(IngestError.finished)
        if taken + action.remaining != accepted { fail("closing lost an element") }
        if action.refused != waiting.map(\.producer) { fail("closing forgot a producer") }
        waiting = []
        taken = accepted
    }

    private mutating func resume(_ producers: [ProducerID]) {
        for producer in producers {
            guard let first = waiting.first, first.producer == producer else {
                return fail("not the first who waits went on")
            }
            accepted.append(waiting.removeFirst().element)
        }
    }

    private mutating func note(_ signals: BatchQueueStateMachine<Int>.Signals) {
        if signals.isReady { announcedCount += 1 }
        if let deadline = signals.deadline {
            if tickAt != nil { fail("two ticks are outstanding") }
            tickAt = deadline
        }
    }

    private mutating func check() {
        let counters = machine.counters
        if counters.queuedEventCount > Self.limits.queueEventCountMax
            || counters.queuedByteCount > Self.limits.queueByteCountMax
        {
            fail("the queue exceeds its bounds: \(counters)")
        }
        if !isClosed && counters.queuedEventCount != accepted.count - taken.count {
            fail("the counters are wrong: \(counters)")
        }
        if !accepted.starts(with: taken) { fail("accepted \(accepted), taken \(taken)") }
        if counters.waitingCount != waiting.count { fail("the waiting are counted wrongly") }
        if !isClosed && !waiting.isEmpty && announcedCount == batchCount {
            fail("a producer waits and no batch is ready")
        }
    }

    private mutating func fail(_ reason: String) {
        if failure == nil { failure = "\(trace): \(reason)" }
    }
}

private struct Walk {
    let depthMax: Int
    var leafCount = 0
    var longestWait = 0
    var failures: [String] = []

    mutating func visit(_ model: Model, depth: Int) {
        longestWait = max(longestWait, model.waiting.count)
        if let failure = model.failure {
            failures.append(failure)
            return
        }
        guard depth < depthMax, !model.isClosed else {
            leafCount += 1
            var drained = model
            drained.drain()
            if let failure = drained.failure { failures.append(failure) }
            return
        }
        for input in Input.allCases where model.isPossible(input) {
            var next = model
            next.apply(input)
            visit(next, depth: depth + 1)
        }
    }
}

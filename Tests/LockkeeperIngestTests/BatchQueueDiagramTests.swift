import LockkeeperDomain
import Testing

@testable import LockkeeperIngest

/// when a batch closes. R-4: who waits and who goes on.
@Suite struct BatchQueueDiagramTests {
    @Test("a batch closes 50 ms after its oldest element, however many come later")
    func ageOfTheOldest() {
        expect(
            arrivals: "a . . b . . . c . . .",
            batches: ". . . . . ab . . . . ."
        )
    }

    @Test("after a batch was taken the clock is that of the element then oldest")
    func clockOfTheNextBatch() {
        expect(
            arrivals: "a . . bcd . . . e . . . . . .",
            batches: ". . . abc . . . . de . . . . ."
        )
    }

    @Test("a batch closes when it is full by count")
    func fullByCount() {
        expect(arrivals: "a b c d . .", batches: ". . abc . . .")
        expect(arrivals: "abcdefg .", batches: "abc/def .")
    }

    @Test("a batch closes before the element that would exceed its bytes")
    func fullByBytes() {
        expect(arrivals: "aB . . . . .", batches: "a/B . . . . .")
    }

    @Test("an element larger than a batch is a batch alone and keeps its place")
    func oversizedElement() {
        expect(arrivals: "A .", batches: "A .")
        expect(arrivals: "aBc . . . . .", batches: "a/B . . . . c")
    }

    @Test("an element to be committed at once takes those before it along")
    func commitAtOnce() {
        expect(arrivals: "a . b! c . . . . .", batches: ". . ab . . . . . c")
        expect(arrivals: "ab!c .", batches: "abc .")
    }

    @Test("a flush closes the batch with what is there")
    func flush() {
        expect(arrivals: "a . F b . . . . .", batches: ". . a . . . . . b")
    }

    @Test("the end of input closes the last batch")
    func endOfInput() {
        expect(arrivals: "a b| .", batches: ". ab .")
        expect(arrivals: "| .", batches: ". .")
    }

    @Test("at the bound producers wait in order and go on when the writer has taken")
    func fullQueue() {
        expect(
            arrivals: "abcdef gh i . . .",
            writes: ". . . w . .",
            limits: .small,
            batches: ". . . abc/def/ghi . .",
            resumed: ". . . ghi . ."
        )
    }

    @Test("producers that wait are let in when the queue has emptied to a half, not one by one")
    func lowMark() {
        var limits = BatchLimits.small
        limits.batchEventCountMax = 1
        var machine = BatchQueueStateMachine<Int>(limits: limits)
        let now = MonotonicInstant(nanoseconds: 0)
        let (first, second) = (ProducerID(6), ProducerID(7))
        for element in 0..<8 {
            _ = machine.offer(.init(element, 1, 1), by: ProducerID(UInt64(element)), at: now)
        }
        let resumed = (0..<4).map { _ in machine.takeBatch(at: now).resumed }
        #expect(resumed == [[], [], [first, second], []])
    }

    @Test("a small element does not overtake a large one that waits")
    func noOvertaking() {
        // A, b and c leave 3 of 10 bytes: D does not fit, e would.
        expect(
            arrivals: "Abc De . . . . . .",
            writes: ". . w . . . . .",
            batches: ". . A/bc/D . . . . .",
            resumed: ". . De . . . . ."
        )
    }

    @Test("while a producer waits nothing waits for age")
    func waitingProducersMakeReady() {
        var limits = BatchLimits.small
        limits.queueEventCountMax = 2
        expect(
            arrivals: "abc . . . . .",
            limits: limits,
            batches: "ab . . . . c",
            resumed: "c . . . . ."
        )
    }

    private func expect(
        arrivals: String,
        writes: String? = nil,
        limits: BatchLimits = .small,
        batches: String,
        resumed: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let diagram = BatchDiagram(arrivals: arrivals, writes: writes, limits: limits)
        #expect(
            diagram.batches.joined(separator: " ") == batches,
            sourceLocation: sourceLocation
        )
        if let resumed {
            #expect(
                diagram.resumed.joined(separator: " ") == resumed,
                sourceLocation: sourceLocation
            )
        }
    }
}

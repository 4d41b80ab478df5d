import LockkeeperDomain
import LockkeeperMessages
import LockkeeperTesting
import Testing

@testable import LockkeeperSimulation

@Suite("The simple truth that stores are compared with")
struct ChatModelTests {
    @Test("the same events in any order and with repetitions give the same model (I-5)")
    func order() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var shape = Traffic.Shape()
        shape.messageCount = 400
        let events = Traffic(seed: seed, shape: shape).events
        var generator = SeededGenerator(seed: seed)
        let shuffled = (events + events.prefix(100)).shuffled(using: &generator)
        let (model, other) = (ChatModel(events), ChatModel(shuffled))
        #expect(model.messages == other.messages)
        #expect(model.readSequences == other.readSequences)
        #expect(model.cursors == other.cursors)
        #expect(model.cursors["inbox"] == "cursor-9")
        #expect(model.waitingStreams.isEmpty)
    }

    @Test("a page without its predecessor waits")
    func waiting() {
        let model = ChatModel([
            .page(SyncPage(stream: "s", after: nil, next: "a")),
            .page(SyncPage(stream: "s", after: "b", next: "c")),
        ])
        #expect(model.cursors["s"] == "a")
        #expect(model.waitingStreams == ["s"])
    }
}

@Suite("The demo's verdict can fail")
struct DemoVerdictTests {
    /// Evidence of a run in which everything went well.
    private static let sound: DemoEvidence = {
        var shape = Traffic.Shape()
        shape.messageCount = 200
        shape.recallsPerThousand = 100
        var evidence = DemoEvidence()
        evidence.sent = Traffic(seed: 1, shape: shape).events
        evidence.exported = evidence.sent
        evidence.sentTooLate = [message("late", "late-1", "x")]
        evidence.refusedCount = 1
        evidence.sentToOther = [message("b", "b-1", "y")]
        evidence.exportedFromOther = evidence.sentToOther
        evidence.commitBefore = 3
        evidence.commitHead = 9
        evidence.acknowledgedCommits = [4, 5, 7, 9]
        evidence.ranges = [4...4, 5...8, 9...9]
        let (read, unread) = (ChatModel.Key("n", "read"), ChatModel.Key("n", "unread"))
        evidence.notifiable = [read, unread]
        evidence.withdrawable = [read]
        evidence.told = [
            EffectLog.Told(.notify, read), EffectLog.Told(.notify, unread),
            EffectLog.Told(.withdraw, read),
        ]
        evidence.endings = [.init(process: "host", expected: "e", actual: "e")]
        return evidence
    }()

    private static func message(_ conversation: ConversationID, _ id: MessageID, _ body: String)
        -> Event
    {
        .message(
            MessageEvent(
                conversation: conversation,
                id: id,
                sequence: 1,
                sender: "p",
                sentAt: .earliest,
                body: body
            )
        )
    }

    private static func isMessage(_ event: Event) -> Bool {
        if case .message = event { true } else { false }
    }

    private static func isRecall(_ event: Event) -> Bool {
        if case .recall = event { true } else { false }
    }

    @Test("a sound run lost nothing")
    func sound() {
        #expect(DemoVerdict(Self.sound).sentence == "nothing lost")
    }

    /// One planted fault each, and a word of the sentence that must report it.
    private static let faults: [(String, @Sendable (inout DemoEvidence) -> Void)] = [
        ("is missing", { $0.exported.remove(at: $0.exported.firstIndex(where: isMessage)!) }),
        ("its recall is missing", { $0.exported.removeAll(where: isRecall) }),
        ("was never sent", { $0.exported.append(message("z", "z", "z")) }),
        (
            "its text",
            { evidence in
                evidence.sent.append(message("t", "t", "a"))
                evidence.exported.append(message("t", "t", "a\u{301}"))
            }
        ),
        ("the cursor of inbox", { $0.exported.removeLast() }),
        ("after its account had been switched", { $0.exported += $0.sentTooLate }),
        ("nothing was refused", { $0.refusedCount = 0 }),
        ("of another account", { $0.exportedFromOther.append(message("late", "late-1", "x")) }),
        ("in the second account", { $0.exportedFromOther = [] }),
        ("the follower saw 6, not 5", { $0.ranges = [4...4, 6...9] }),
        ("the follower saw 5, not 6", { $0.ranges = [4...5, 5...9] }),
        ("the last one is 9", { $0.ranges = [4...8] }),
        ("has a receipt", { $0.acknowledgedCommits = [10] }),
        ("two receipts", { $0.acknowledgedCommits = [4, 4] }),
        ("notify of message n/unread was told 1 times less", { $0.told.remove(at: 1) }),
        ("withdraw of message n/read was told 1 times less", { $0.told.removeLast() }),
        ("notify of message n/read was told 1 times more", { $0.told.append($0.told[0]) }),
        (
            "withdraw of message n/unread was told 1 times more",
            { $0.told.append(EffectLog.Told(.withdraw, ChatModel.Key("n", "unread"))) }
        ),
        ("have no receipt", { $0.unacknowledgedCount = 2 }),
        ("unread-counter", { $0.findings = ["unread-counter: c"] }),
        ("expected was", { $0.endings = [.init(process: "h", expected: "a", actual: "b")] }),
    ]

    @Test("each planted fault is reported", arguments: faults.indices)
    func plantedFaults(index: Int) {
        let (sentence, plant) = Self.faults[index]
        var evidence = Self.sound
        plant(&evidence)
        let verdict = DemoVerdict(evidence)
        #expect(verdict.losses.contains { $0.contains(sentence) }, "\(verdict.losses)")
        #expect(verdict.sentence != "nothing lost")
    }

    @Test("what was put aside is not lost")
    func quarantined() {
        var evidence = Self.sound
        evidence.sent.append(Self.message("q", "q", "q"))
        #expect(DemoVerdict(evidence).losses == ["message q/q is missing"])
        evidence.quarantined = [ChatModel.Key("q", "q")]
        #expect(DemoVerdict(evidence).losses.isEmpty)
    }
}

@Suite("Quantiles of waits")
struct WaitHistogramTests {
    @Test("a quantile is at most a 32nd too large and never too small")
    func accuracy() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        var histogram = WaitHistogram()
        var waits: [Int64] = []
        for _ in 0..<5000 {
            // All sizes alike, from nanoseconds to hours.
            let magnitude = Int64.random(in: 0..<43, using: &generator)
            let wait = Int64.random(in: 0...(1 << magnitude), using: &generator)
            waits.append(wait)
            histogram.add(.nanoseconds(wait))
        }
        waits.sort()
        for share in [0.01, 0.5, 0.9, 0.99, 1] {
            let exact = waits[max(0, Int((Double(waits.count) * share).rounded(.up)) - 1)]
            let found = histogram.quantile(share).wholeNanoseconds
            #expect(found >= exact && found <= exact + exact / 32, "\(share): \(exact), \(found)")
        }
        #expect(histogram.largest == .nanoseconds(waits[waits.count - 1]))
    }

    @Test("the ends of the range are counted")
    func ends() {
        var histogram = WaitHistogram()
        #expect(histogram.quantile(0.5) == .zero)
        histogram.add(.seconds(-1))
        histogram.add(.seconds(Int64.max))
        #expect(histogram.count == 2)
        #expect(histogram.quantile(0.5) == .zero)
        #expect(histogram.quantile(1) == .nanoseconds(Int64.max))
    }
}

@Suite("Reading what the program printed")
struct CommandOutputTests {
    @Test("receipts, ranges and summaries are told apart")
    func kinds() throws {
        func read(_ text: String) throws -> CommandOutput { try CommandOutput(Array(text.utf8)) }
        let receipt = try read(
            """
            {"account":"a","generation":7,"commit":181,"lines":[1,100],"events":100,"inserted":97,\
            "updated":1,"duplicate":1,"stale":1,"quarantined":0,"cursors":{"inbox":"c1"},\
            "durable":true,"waited_ms":1.25}
            """
        )
        guard case .receipt(let line) = receipt else {
            Issue.record("no receipt: \(receipt)")
            return
        }
        #expect(line.commit == 181 && line.lines == 1...100 && line.eventCount == 100)
        #expect(line.repeated == 2 && line.waited == .microseconds(1250))
        #expect(try read(#"{"commit":null,"lines":[1,2],"inserted":0}"#) != .other)
        #expect(try read(#"{"account":"a","commits":[4,9],"tables":[]}"#) == .range(4...9))
        #expect(
            try read(#"{"summary":{"refused":3,"gaps":[]}}"#) == .summary(refusedCount: 3)
        )
        #expect(try read(#"{"ready":{"pid":1}}"#) == .ready)
        #expect(try read(#"{"v":1}"#) == .other)
        #expect(throws: (any Error).self) { try read("lines") }
    }
}

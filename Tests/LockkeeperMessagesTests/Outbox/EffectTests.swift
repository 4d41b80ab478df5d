import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperTesting
import Testing

@Suite("What people are told of messages: once, and taken back (M-11, R-18)")
struct EffectTests {
    /// The effects that wait, in the order of their messages: "notify m1".
    private func due(_ store: MessageStore) async throws -> [String] {
        try await store.effects().map { "\($0.kind.rawValue) \($0.message)" }
    }

    private struct NothingToClaim: Error {}

    private func claim(_ store: MessageStore) async throws -> EffectClaim {
        guard let claim = try await store.claimNextEffect() else { throw NothingToClaim() }
        return claim
    }

    /// Hands out everything that is due and confirms it.
    private func drain(_ store: MessageStore) async throws -> [String] {
        var done: [String] = []
        while let claim = try await store.claimNextEffect() {
            done.append("\(claim.effect.kind.rawValue) \(claim.effect.message)")
            try await claim.confirm()
        }
        return done
    }

    private func conversation(version: Int64, muted: Bool) -> Event {
        .conversation(ConversationEvent(conversation: "c", version: version, muted: muted))
    }

    @Test("a message has one notify, however many processes ingest it how often")
    func once() async throws {
        try await withAccount { account in
            let helper = try await account.process("helper")
            for store in [account.messages, helper, account.messages] {
                try await store.ingest([message("m1", seq: 1), message("m1", seq: 1)])
            }
            #expect(try await due(helper) == ["notify m1"])
            let claim = try await claim(helper)
            #expect(try await account.messages.claimNextEffect() == nil)
            #expect(claim.effect.content?.body == "text" && !claim.isRepeated)
            #expect(try account.messages.claimers(ofEffect: claim.effect.id).count == 1)
            try await claim.confirm()
            try await helper.ingest([message("m1", seq: 1), message("m1", seq: 1, "z", version: 2)])
            #expect(try await due(helper).isEmpty)
        }
    }

    @Test(
        "own messages, those that do not count, are read, muted or below a place notify of nothing"
    )
    func decided() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.setNotifyAfter("c", 3)
            try await store.ingest([
                message("low", seq: 3), message("mine", seq: 5, from: "me"),
                message("call", seq: 6) { $0.counts = false },
                recall("gone", version: 1, seq: 7), message("gone", seq: 7),
                edit("waits", version: 2, "text"), message("shown", seq: 8),
                message("push", seq: nil, version: 0),
            ])
            #expect(try await due(store) == ["notify shown", "notify push"])
            try await store.ingest([conversation(version: 1, muted: true), message("m9", seq: 9)])
            try await store.ingest([
                conversation(version: 2, muted: false), message("m10", seq: 10),
            ])
            #expect(try await due(store) == ["notify shown", "notify push", "notify m10"])
            try await store.ingest([read(upTo: 20), message("late", seq: 15)])
            #expect(try await due(store) == ["notify push"])
            // The push turns out to stand where everything was read.
            try await store.ingest([message("push", seq: 11)])
            #expect(try await due(store).isEmpty)
        }
    }

    @Test("what nobody claimed is taken back; what somebody did is withdrawn")
    func takenBack() async throws {
        try await withAccount { account in
            let store = account.messages
            let ways: [(String, (MessageID, Int64) -> Event)] = [
                ("recall", { id, _ in recall(id, version: 2) }),
                ("delete", { id, _ in .delete(DeleteEvent(conversation: "c", id: id)) }),
                ("read", { _, seq in read(upTo: seq) }),
                (
                    "read by id",
                    { id, _ in
                        .read(ReadEvent(conversation: "c", target: .message(id)))
                    }
                ),
                ("clear", { _, seq in .clear(ClearEvent(conversation: "c", sequence: seq)) }),
            ]
            for (number, way) in ways.enumerated() {
                let seq = Int64(number * 10 + 1)
                let ids = try (0..<3).map { try MessageID("\(way.0)-\($0)") }
                try await store.ingest([message(ids[0], seq: seq)])
                try await store.ingest([way.1(ids[0], seq)])
                #expect(try await due(store).isEmpty, "\(way.0) before the claim")

                try await store.ingest([message(ids[1], seq: seq + 1)])
                #expect(try await drain(store) == ["notify \(ids[1])"])
                try await store.ingest([way.1(ids[1], seq + 1), way.1(ids[1], seq + 1)])
                #expect(try await drain(store) == ["withdraw \(ids[1])"], "\(way.0) after it")

                // While it is shown: the withdraw waits until the notify was let go.
                try await store.ingest([message(ids[2], seq: seq + 2)])
                let claim = try await claim(store)
                try await store.ingest([way.1(ids[2], seq + 2)])
                #expect(try await store.claimNextEffect() == nil, "\(way.0) during it")
                #expect(try await store.effectWait() == .seconds(1))
                try await claim.confirm()
                #expect(try await drain(store) == ["withdraw \(ids[2])"])
                #expect(try await due(store).isEmpty)
            }
        }
    }

    @Test("a notify whose claimer died is handed out again under its key, unless it was taken back")
    func atLeastOnce() async throws {
        try await withAccount(limits: longRetry) { account in
            let helper = try await account.process("helper")
            try await helper.ingest([message("m1", seq: 1)])
            let first = try await abandon(helper)
            let second = try await claim(account.messages)
            #expect(second.isRepeated && second.effect.key == first.key)
            #expect(second.effect.tag == first.tag && second.effect.content?.body == "text")
            try await second.fail(because: "no screen")
            #expect(try await helper.claimNextEffect() == nil)
            account.test.clock.advance(by: .seconds(1000))
            _ = try await abandon(helper)
            try await helper.ingest([recall("m1", version: 2)])
            let withdraw = try await claim(account.messages)
            #expect(withdraw.effect.kind == .withdraw && withdraw.effect.content == nil)
            #expect(withdraw.effect.tag == first.tag && withdraw.effect.key != first.key)
            try await withdraw.confirm()
            #expect(try await due(helper).isEmpty)
        }
    }

    private func abandon(_ store: MessageStore) async throws -> Effect {
        let claim = try await claim(store)
        return claim.effect
    }

    // B100: effects have no order, so that a bad one stands in nobody's way.
    @Test(
        "an effect that ends its claimer each time is parked, and those behind it are shown meanwhile"
    )
    func poison() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([message("bad", seq: 1), message("good", seq: 2)])
            for _ in 0..<Limits().attemptUnansweredCountMax {
                #expect(try await abandon(store).message == "bad")
            }
            #expect(try await drain(store) == ["notify good"])
            let parked = try await store.effects()
            #expect(parked.map(\.state) == [.parked])
            #expect(try await store.retryEffect(parked[0].id))
            #expect(try await drain(store) == ["notify bad"])
            #expect(try await !store.retryEffect(parked[0].id))
        }
    }

    //
    @Test(
        "a message that expires before anybody shows it is not shown, and one that was is withdrawn"
    )
    func expired() async throws {
        try await withAccount { account in
            let store = account.messages
            account.test.wallClock.set(milliseconds: 10_000)
            for (id, seq) in [("m1", 1), ("m2", 2)] as [(MessageID, Int64)] {
                try await store.ingest([
                    message(id, seq: seq) { $0.expiresAt = instant(20_000) }
                ])
            }
            #expect(try await abandon(store).message == "m1")
            account.test.wallClock.set(milliseconds: 30_000)
            #expect(try await drain(store) == ["withdraw m1"])
            #expect(try await due(store).isEmpty)
        }
    }

    @Test("a late answer to a notify does not confirm the withdraw that took its place")
    func fence() async throws {
        try await withAccount { account in
            let process = try await account.test.process("helper")
            let helper = try MessageStore(try await process.session("alice"))
            try await helper.ingest([message("m1", seq: 1)])
            let lost = try await claim(helper)
            try await process.suspend()
            try await account.messages.ingest([read(upTo: 1)])
            let withdraw = try await claim(account.messages)
            try await process.resume()
            try await lost.confirm()
            #expect(try await due(helper) == ["withdraw m1"])
            try await withdraw.confirm()
            #expect(try await due(helper).isEmpty)
        }
    }

    // history that the account has seen elsewhere.
    @Test(
        "an import and the pages of a stream that was declared quiet notify of nothing, live ones do"
    )
    func quiet() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([message("m1", seq: 1)], effects: .suppress)
            try await store.declare("history", effects: .suppress)
            let helper = try await account.process("helper")
            try await helper.ingest(
                [message("m2", seq: 2)],
                closing: page(nil, "k1", of: "history")
            )
            try await helper.ingest([message("m3", seq: 3)], closing: page(nil, "k1"))
            // As a packet, which holds the page itself.
            for (stream, id, seq) in [("history", "m4", 4), ("inbox", "m5", 5)]
                as [(StreamID, MessageID, Int64)]
            {
                _ = try await account.app.deliver(
                    [message(id, seq: seq)],
                    closing: page("k1", "k2", of: stream),
                    to: "alice"
                )
            }
            #expect(try await due(store) == ["notify m3", "notify m5"])
            try await store.declare("history", effects: .decide)
            try await helper.ingest(
                [message("m6", seq: 6)],
                closing: page("k2", "k3", of: "history")
            )
            #expect(try await due(store) == ["notify m3", "notify m5", "notify m6"])
        }
    }

    // I-5 within what M-11 allows: while nobody claims, what waits follows from the events alone.
    @Test(
        "messages, recalls, deletions, positions and clears in every order leave the same effects"
    )
    func everyOrder() async throws {
        try await withAccount { account in
            let store = account.messages
            let pools: [(ConversationID) -> [Event]] = [
                { c in
                    [
                        message("m1", seq: 1, in: c), message("m2", seq: 2, in: c),
                        read(upTo: 1, in: c), recall("m2", version: 1, in: c),
                        message("m3", seq: 3, in: c),
                    ]
                },
                { c in
                    [
                        message("m1", seq: nil, version: 0, in: c), message("m1", seq: 1, in: c),
                        message("m1", seq: 1, "x", version: 3, in: c),
                        message("m2", seq: 2, in: c), read(upTo: 1, in: c),
                    ]
                },
                { c in
                    [
                        message("m1", seq: 1, in: c),
                        .delete(DeleteEvent(conversation: c, id: "m1")),
                        .clear(ClearEvent(conversation: c, sequence: 2)),
                        message("m2", seq: 2, in: c), message("m3", seq: 3, in: c),
                    ]
                },
            ]
            let results: [MessageID] = ["m3", "m2", "m3"]
            for (pool, expected) in zip(pools.indices, results) {
                for (number, order) in permutations(of: Array(0..<5)).enumerated() {
                    let conversation = try ConversationID("\(pool)-\(number)")
                    let events = pools[pool](conversation)
                    for index in order {
                        try await store.ingest([events[index]], durability: .committed)
                    }
                }
                let due = try await store.effects()
                #expect(due.count == 120 && due.allSatisfy { $0.kind == .notify })
                #expect(due.allSatisfy { $0.message == expected })
                #expect(Set(due.map(\.conversation)).count == 120)
                for effect in due {
                    let seq = effect.content?.sequence ?? 0
                    try await store.ingest(
                        [read(upTo: seq, in: effect.conversation)],
                        durability: .committed
                    )
                }
                #expect(try await store.effects().isEmpty)
            }
        }
    }

    // M-11: what nobody can have shown is not withdrawn.
    @Test("a notify that failed, was refused or given back leaves no withdraw; one unanswered does")
    func withdrawsOnlyWhatMayBeShown() async throws {
        try await withAccount(limits: longRetry) { account in
            let store = account.messages
            let ends = ["failed", "refused", "given back", "dropped", "unanswered", "abandoned"]
            for (index, end) in ends.enumerated() {
                let number = Int64(index + 1)
                try await store.ingest([message(try MessageID("m\(number)"), seq: number)])
                let claim = try await claim(store)
                let effect = claim.effect.id
                switch end {
                case "failed": try await claim.fail(because: "no display")
                case "refused": try await claim.park(because: "no display")
                case "given back": try await claim.giveBack()
                case "dropped":
                    try await claim.park(because: "no display")
                    #expect(try await store.dropEffect(effect))
                    #expect(try await !store.dropEffect(effect))
                case "unanswered":
                    try await claim.leaveUnanswered()
                    #expect(try await store.retryEffect(effect))
                default: _ = consume claim
                }
                try await store.ingest([read(upTo: number)])
                let isWithdrawn = end == "unanswered" || end == "abandoned"
                #expect(
                    try await due(store) == (isWithdrawn ? ["withdraw m\(number)"] : []),
                    "\(end)"
                )
                _ = try await drain(store)
            }
        }
    }

    @Test("one that may have been shown and is dropped is withdrawn when it is read")
    func dropped() async throws {
        try await withAccount(limits: longRetry) { account in
            let store = account.messages
            try await store.ingest([message("m1", seq: 1)])
            let claim = try await claim(store)
            let effect = claim.effect.id
            #expect(try await !store.dropEffect(effect))
            try await claim.leaveUnanswered(because: "it hung")
            #expect(try await store.effects().first?.reason?.contains("it hung") == true)
            #expect(try await store.dropEffect(effect))
            #expect(try await due(store) == [])
            try await store.ingest([read(upTo: 1)])
            #expect(try await due(store) == ["withdraw m1"])
        }
    }
}

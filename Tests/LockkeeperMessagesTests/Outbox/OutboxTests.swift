import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperTesting
import Testing

@Suite("Messages and other acts on their way to the server (M-10, R-56, R-59)")
struct OutboxTests {
    private let doubles = ServerContract(refusesDoubles: true)

    /// A message of my own as the server echoes it.
    private func echo(
        _ id: MessageID,
        _ clientID: ClientID,
        seq: Int64 = 5,
        in conversation: ConversationID = "c"
    ) -> Event {
        message(id, seq: seq, "as sent", from: "me", in: conversation) { $0.clientID = clientID }
    }

    private func send(
        _ text: String,
        _ clientID: ClientID,
        in conversation: ConversationID = "c",
        by store: MessageStore
    ) async throws {
        let receipt = try await store.send(
            OutgoingMessage(conversation: conversation, body: text, clientID: clientID)
        )
        #expect(receipt.isNew && receipt.message == nil)
    }

    private func claim(_ store: MessageStore) async throws -> OutboxClaim {
        guard let claim = try await store.claimNextOutboxItem() else { throw NothingToClaim() }
        return claim
    }

    private struct NothingToClaim: Error {}

    /// What would be claimed next, which is given back.
    private func next(_ store: MessageStore) async throws -> String? {
        guard let claim = try await store.claimNextOutboxItem() else { return nil }
        let key = claim.item.key
        try await claim.giveBack()
        return key
    }

    private func states(_ store: MessageStore) async throws -> [String] {
        try await store.outbox().map { "\($0.key) \($0.state.rawValue)" }
    }

    @Test("a message is pending until it is confirmed, and is then shown where the server put it")
    func confirmed() async throws {
        try await withAccount { account in
            let store = account.messages
            try await send("hello", "k1", by: store)
            let pending = try await store.pendingMessages(in: "c")
            #expect(pending.map(\.clientID) == ["k1"] && pending.map(\.state) == [.waiting])
            #expect(try await store.shown().isEmpty)
            let first = try await claim(store)
            #expect(first.item.attempt == 1 && !first.isRepeated)
            #expect(try await store.outbox().map(\.state) == [.sending])
            try await store.ingest([message("m8", seq: 8, "before")])
            let before = try await store.timelineEnd("c", limit: 9)
            #expect(before.messages.map(\.id) == ["m8"])
            #expect(before.pending.map(\.clientID) == ["k1"])
            try await first.confirm(as: "m9", sequence: 9)
            let after = try await store.timelineEnd("c", limit: 9)
            #expect(after.messages.map(\.id) == ["m9", "m8"] && after.pending.isEmpty)
            #expect(try await store.outbox().isEmpty)
            #expect(try await store.shown() == ["m8:before", "m9:hello"])
            let stored = try #require(try await store.message("m9", in: "c"))
            #expect(stored.version == 0 && !stored.isIncoming && stored.clientID == "k1")
            // The full version replaces it without a conflict (M-4).
            let receipt = try await store.ingest([echo("m9", "k1", seq: 9)])
            #expect(receipt.outcomes == counts(updated: 1))
            #expect(try await store.shown() == ["m8:before", "m9:as sent"])
            #expect(try await store.quarantine().isEmpty)
        }
    }

    // "a retry reuses the id".
    @Test("a message sent again under its client id is the same message, whatever became of it")
    func sentAgain() async throws {
        try await withAccount { account in
            let store = account.messages
            let draft = OutgoingMessage(conversation: "c", body: "hello", clientID: "k1")
            let first = try await store.send(draft)
            let again = try await store.send(draft)
            #expect(first.isNew && !again.isNew && again.item == first.item)
            try await claim(store).confirm(as: "m9")
            let late = try await store.send(draft)
            #expect(!late.isNew && late.item == nil && late.message == "m9")
            // Also where the echo came to a store that had never heard of it, and was recalled before.
            try await store.ingest([recall("m7", version: 1, seq: 7), echo("m7", "k7", seq: 7)])
            let known = try await store.send(
                OutgoingMessage(conversation: "c", body: "hello", clientID: "k7")
            )
            #expect(!known.isNew && known.item == nil && known.message == "m7")
            #expect(try await store.outbox().isEmpty)
        }
    }

    // I-5, M-10: the first of confirmation and echo ends it; the other adds nothing.
    @Test("confirmation, echo, redelivery and recall in every order leave one message and no item")
    func everyOrder() async throws {
        try await withAccount { account in
            let store = account.messages
            let steps = ["confirm", "echo", "echo", "recall"]
            for recalls in [false, true] {
                let kept = recalls ? steps : Array(steps.dropLast())
                var exports: Set<[String]> = []
                for (number, order) in permutations(of: kept).enumerated() {
                    let conversation = try ConversationID("c\(recalls)-\(number)")
                    let clientID = try ClientID("k\(recalls)-\(number)")
                    try await send("as sent", clientID, in: conversation, by: store)
                    var claim: OutboxClaim? = try await claim(store)
                    for step in order {
                        switch step {
                        case "confirm":
                            let held = claim.take()
                            if let held { try await held.confirm(as: "m9", sequence: 9) }
                        case "echo":
                            try await store.ingest([
                                echo("m9", clientID, seq: 9, in: conversation)
                            ])
                        default:
                            try await store.ingest([
                                recall("m9", version: 3, in: conversation)
                            ])
                        }
                    }
                    #expect(try await store.outbox(in: conversation).isEmpty, "\(order)")
                    let shown = try await store.timeline(conversation, limit: 9)
                    #expect(shown.filter { !$0.isRecalled }.count == (recalls ? 0 : 1), "\(order)")
                    let lines = try await store.exported().filter {
                        $0.contains("\"\(conversation)\"")
                    }
                    exports.insert(
                        lines.map {
                            $0.split(separator: ",").filter {
                                !$0.contains("conversation") && !$0.contains("client_id")
                                    && !$0.contains("sent_at") && !$0.contains("server_at")
                            }.joined(separator: ",")
                        }
                    )
                }
                #expect(exports.count == 1, "\(exports)")
            }
        }
    }

    @Test("an echo that another process ingests ends the item in whatever state it is")
    func echoes() async throws {
        try await withAccount { account in
            let helper = try await account.process("helper")
            for (number, state) in ["waiting", "sending", "unknown", "parked"].enumerated() {
                let key = try ClientID("k\(number)")
                try await send("As\tsent\n", key, by: account.messages)
                if state != "waiting" {
                    let claim = try await claim(account.messages)
                    switch state {
                    case "unknown": try await claim.leaveUnanswered()
                    case "parked": try await claim.park(because: "no")
                    default: break
                    }
                }
                #expect(try await states(account.messages) == ["\(key) \(state)"])
                let id = try MessageID("m\(number)")
                try await helper.ingest([echo(id, key, seq: Int64(number + 1))])
                #expect(try await states(account.messages).isEmpty)
            }
            // Somebody else's message under the same client id is none of mine.
            try await send("hello", "k9", by: account.messages)
            try await helper.ingest([message("m9", seq: 9) { $0.clientID = "k9" }])
            #expect(try await states(account.messages) == ["k9 waiting"])
        }
    }

    // B54: order per conversation, other conversations go on.
    @Test("items of one conversation are claimed in order, one at a time, and others meanwhile")
    func order() async throws {
        try await withAccount(limits: longRetry) { account in
            let (app, helper) = (account.messages, try await account.process("helper"))
            for (key, conversation) in [("a1", "a"), ("a2", "a"), ("b1", "b"), ("a3", "a")] {
                try await send(
                    "x",
                    try ClientID(key),
                    in: try ConversationID(conversation),
                    by: app
                )
            }
            let first = try await claim(app)
            #expect(first.item.key == "a1")
            #expect(try await next(helper) == "b1")
            let second = try await claim(helper)
            #expect(second.item.key == "b1")
            #expect(try await next(app) == nil)
            #expect(try await next(helper) == nil)
            #expect(try await app.outboxWait() == .seconds(1))
            try await first.confirm(as: "m1")
            #expect(try await next(helper) == "a2")
            // A failure holds up its own conversation only; giving up lets the next one go on.
            try await claim(helper).fail(because: "no route")
            try await second.confirm(as: "m2")
            #expect(try await next(app) == nil)
            account.test.clock.advance(by: .seconds(1000))
            try await claim(app).park(because: "too long")
            #expect(try await next(app) == "a3")
            #expect(try await states(app) == ["a2 parked", "a3 waiting"])
            #expect(try await app.outbox().first?.reason == "too long")
        }
    }

    // B54, I-12: a claim that goes away without an answer, as that of a process that died does.
    @Test("where the server refuses doubles a claimer's death makes the item claimable at once")
    func deathRepeats() async throws {
        try await withAccount(contract: doubles) { account in
            let helper = try await account.process("helper")
            try await send("hello", "k1", by: account.messages)
            let item = try await abandon(account.messages)
            let second = try await claim(helper)
            #expect(second.item.id == item && second.item.attempt == 2 && second.isRepeated)
            try await second.confirm(as: "m1")
            #expect(try await helper.outbox().isEmpty)
        }
    }

    @Test(
        "where it does not, the outcome is unknown: shown, not repeated, and the next one goes on"
    )
    func deathIsUnknown() async throws {
        try await withAccount { account in
            let helper = try await account.process("helper")
            try await send("hello", "k1", by: account.messages)
            try await send("and", "k2", by: account.messages)
            let item = try await abandon(account.messages)
            #expect(try await next(helper) == "k2")
            #expect(try await states(helper) == ["k1 unknown", "k2 waiting"])
            // By hand it goes again, in its old place.
            #expect(try await helper.retryOutboxItem(item) == .done)
            #expect(try await next(helper) == "k1")
            #expect(try await helper.cancelOutboxItem(item) == .done)
            #expect(try await states(helper) == ["k2 waiting"])
            #expect(try await helper.cancelOutboxItem(item) == .unknownItem)
        }
    }

    /// Claims the next item and lets go without an answer. Returns its number.
    private func abandon(_ store: MessageStore) async throws -> Int64 {
        let claim = try await claim(store)
        return claim.item.id
    }

    // B100, the outbox's half: an item that ends the process each time.
    @Test(
        "an item that ends its claimer each time is parked after a few attempts, and the rest goes"
    )
    func poison() async throws {
        try await withAccount(contract: doubles) { account in
            let store = account.messages
            for key in ["p", "k1", "k2"] { try await send("x", try ClientID(key), by: store) }
            for _ in 0..<Limits().attemptUnansweredCountMax { _ = try await abandon(store) }
            for key in ["k1", "k2"] {
                let claim = try await claim(store)
                #expect(claim.item.key == key)
                try await claim.confirm(as: try MessageID(key))
            }
            #expect(try await states(store) == ["p parked"])
            #expect(try await store.outbox()[0].reason == "5 attempts had no answer")
            #expect(try await next(store) == nil)
            #expect(try await store.outboxWait() == nil)
        }
    }

    // B109: the monotonic clock alone counts, and what another boot wrote is due at once.
    @Test("a step of the time of day neither stretches nor cuts the wait for the next attempt")
    func clockSteps() async throws {
        try await withAccount { account in
            let store = account.messages
            try await send("hello", "k1", by: store)
            account.test.wallClock.set(milliseconds: 1_800_000_000_000)
            try await claim(store).fail(because: "no route", retryAfter: .seconds(1_000))
            for day in [-86_400_000, 86_400_000, -1_800_000_000_000, 4_102_444_800_000] as [Int64] {
                account.test.wallClock.set(milliseconds: 1_800_000_000_000 + day)
                #expect(try await next(store) == nil)
                let wait = try #require(try await store.outboxWait())
                #expect(wait > .seconds(900) && wait <= .seconds(1_000))
            }
            account.test.clock.advance(by: .seconds(850))
            #expect(try await next(store) == nil)
            account.test.clock.advance(by: .seconds(150))
            #expect(try await next(store) == "k1")
            try await claim(store).fail(because: "no route", retryAfter: .seconds(3_000))
            #expect(try await next(store) == nil)
            try await store.session.database.write { transaction in
                try transaction.execute("UPDATE lk_outbox SET retry_boot = zeroblob(16)")
            }
            #expect(try await next(store) == "k1")
        }
    }

    @Test("a newer report of a position supersedes an older one that nobody is at")
    func positions() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([message("m1", seq: 1), message("m2", seq: 2)])
            let first = try await store.markRead("c", upTo: 1)
            let second = try await store.markRead("c", upTo: 2)
            #expect(first.item != nil && second.item != first.item)
            #expect(try await store.markRead("c", upTo: 1).item == nil)
            #expect(try await store.outbox().map(\.id) == [second.item])
            // One that somebody is at goes on; the newer one comes after it.
            let claim = try await claim(store)
            try await store.ingest([message("m7", seq: 7)])
            try await store.markRead("c", upTo: 7)
            try await store.markRead("c", upTo: 7, .delivered)
            #expect(try await store.outbox().map(\.act) == [.read, .read, .delivered])
            try await claim.fail(because: "no route")
            #expect(try await store.outbox().map(\.act) == [.read, .delivered])
            // What the server says by itself needs no report any more: up to there.
            try await store.ingest([read(upTo: 9)])
            #expect(try await store.outbox().map(\.act) == [.delivered])
            #expect(try await store.unread() == 0)
        }
    }

    // what one process did and another reports; two that do the same thing report it once.
    @Test("an act of two processes is reported once, and not lost by the second")
    func twice() async throws {
        try await withAccount { account in
            let helper = try await account.process("helper")
            try await helper.ingest([message("m1", seq: 1)])
            for store in [account.messages, helper] {
                try await store.markRead("c", upTo: 1)
                try await store.recall("m1", in: "c")
            }
            #expect(try await helper.outbox().map(\.act) == [.read, .recall])
            try await claim(helper).confirm()
            try await claim(helper).confirm()
            #expect(try await account.messages.outbox().isEmpty)
        }
    }

    // M-6, and "Forgetting" of the issue.
    @Test("recalled text leaves the outbox, and no byte of the database or the log keeps it")
    func recalledText() async throws {
        try await withAccount { account in
            let store = account.messages
            let secret = "the-secret-text"
            try await store.ingest([message("m1", seq: 1, from: "me")])
            try await store.edit("m1", in: "c", body: secret)
            try await store.edit("m1", in: "c", body: "\(secret) again")
            #expect(try await store.outbox().map(\.act) == [.edit, .edit])
            try await store.recall("m1", in: "c")
            #expect(try await store.outbox().map(\.act) == [.edit, .edit, .recall])
            // The same where the recall is the server's, and an attempt is under way.
            try await store.ingest([message("m2", seq: 2, from: "me")])
            try await store.edit("m2", in: "c", body: secret)
            try await claim(store).confirm()
            let edit = try await claim(store)
            try await store.ingest([recall("m2", version: 9)])
            #expect(try await store.outbox().isEmpty)
            try await edit.fail(because: "late")
            #expect(try await store.outbox().isEmpty)
            try await send(secret, "k1", by: store)
            let item = try #require(try await store.outbox().first?.id)
            #expect(try await store.cancelOutboxItem(item) == .done)
            try await expectNowhere(secret, account)
        }
    }

    @Test(
        "a claim that was taken away by suspending is another's, and its late answer changes nothing"
    )
    func suspended() async throws {
        try await withAccount(contract: doubles) { account in
            let process = try await account.test.process("helper")
            let helper = try MessageStore(try await process.session("alice"))
            try await send("hello", "k1", by: helper)
            let lost = try await claim(helper)
            try await process.suspend()
            let mine = try await claim(account.messages)
            #expect(mine.item.attempt == 2)
            try await process.resume()
            try await lost.park(because: "late")
            #expect(try await states(helper) == ["k1 sending"])
            try await mine.fail(because: "no route")
            #expect(try await states(helper) == ["k1 waiting"])
            #expect(try await helper.outbox().first?.attempt == 2)
        }
    }

    @Test("what is being told cannot be cancelled or retried by hand, and the claimer is named")
    func claimed() async throws {
        try await withAccount { account in
            let helper = try await account.process("helper")
            try await send("hello", "k1", by: helper)
            let claim = try await claim(helper)
            let number = claim.item.id
            #expect(try await account.messages.cancelOutboxItem(number) == .isClaimed)
            #expect(try await account.messages.retryOutboxItem(number) == .isClaimed)
            let claimers = try account.messages.claimers(ofOutboxItem: number)
            #expect(claimers.count == 1)
            try await claim.giveBack()
            #expect(try account.messages.claimers(ofOutboxItem: number).isEmpty)
            #expect(try await account.messages.cancelOutboxItem(number) == .done)
        }
    }

    // The answer will not come again: it must not be lost with the generation.
    @Test("a confirmation that comes after the account was signed into again is kept and applied")
    func superseded() async throws {
        try await withAccount { account in
            try await send("hello", "k1", by: account.messages)
            let claim = try await claim(account.messages)
            let session = try await account.app.activate("alice")
            let store = try MessageStore(session)
            try await claim.confirm(as: "m9", sequence: 9)
            #expect(try await store.outbox().isEmpty)
            #expect(try await store.shown() == ["m9:hello"])
        }
    }

    @Test("the outbox is bounded, and refuses what does not fit with a code of its own")
    func bounded() async throws {
        var limits = Limits()
        limits.outboxItemCountMax = 3
        limits.sentMemoryCountMax = 4
        try await withAccount(limits: limits) { account in
            let store = account.messages
            for number in 1...3 { try await send("x", try ClientID("k\(number)"), by: store) }
            await expect(.outboxFull) {
                _ = try await store.send(OutgoingMessage(conversation: "c", body: "x"))
            }
            await expect(.outboxFull) { try await store.markRead("c", upTo: 0) }
            #expect(try await store.conversation("c")?.readSequence == nil)
            for number in 1...20 {
                let clientID = try ClientID("e\(number)")
                let id = try MessageID("m\(number)")
                try await store.ingest([echo(id, clientID, seq: Int64(number))])
            }
            let remembered = try await store.session.database.read { transaction in
                try transaction.query("SELECT client_id FROM lk_outbox WHERE phase = 4") {
                    $0.text(0)
                }
            }
            #expect(remembered.count <= 4 && remembered.last == "e20")
            #expect(try await store.outbox().count == 3)
        }
    }

    @Test("an account without an id of its own cannot send, and what is not shown is not edited")
    func refused() async throws {
        try await withAccount(ownID: nil) { account in
            await expect(.invalidInput) {
                _ = try await account.messages.send(OutgoingMessage(conversation: "c", body: "x"))
            }
            await expect(.invalidInput) {
                try await account.messages.edit("m1", in: "c", body: "x")
            }
            await expect(.invalidInput) { try await account.messages.recall("m1", in: "c") }
        }
    }

    @Test("the outbox is observed: another process's claim and answer are seen")
    func observed() async throws {
        try await withAccount { account in
            let helper = try await account.process("helper")
            let iterator = account.messages.observeOutbox(in: "c").makeAsyncIterator()
            var update = try await iterator.next()
            #expect(update?.items.isEmpty == true)
            try await send("hello", "k1", by: helper)
            update = try await iterator.next()
            #expect(update?.items.map(\.state) == [.waiting])
            let claim = try await claim(helper)
            update = try await iterator.next()
            #expect(update?.items.map(\.state) == [.sending])
            try await claim.park(because: "no")
            update = try await iterator.next()
            #expect(update?.items.map(\.state) == [.parked])
        }
    }
}

import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperTesting
import Testing

@Suite("What a person's act may not say: places that nobody knows, another message's client id")
struct ActCheckTests {
    @Test("a clear or read position above the last known place is refused and changes nothing")
    func unknownPlaces() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([message("m1", seq: 1), message("m2", seq: 7)])
            for act in [store.clearing(8), store.reading(8), store.delivering(8)] {
                let error = await #expect(throws: LockkeeperError.self) { try await act() }
                #expect(error?.code == .invalidInput)
                #expect(error?.description.contains("above 7") == true)
                #expect(error?.remedy == "Name 7 or a place before it.")
            }
            #expect(try await store.outbox().isEmpty)
            let info = try #require(try await store.conversation("c"))
            #expect(info.clearedSequence == nil && info.readSequence == nil)
            // A message that comes later is neither gone nor read.
            try await store.markRead("c", upTo: 7)
            try await store.clear("c", upTo: 7)
            try await store.ingest([message("m8", seq: 8)])
            #expect(try await store.shown() == ["m8:text"])
            #expect(try await store.unread() == 1)
        }
    }

    @Test("a mistyped conversation is refused and does not come to be")
    func unknownConversation() async throws {
        try await withAccount { account in
            let store = account.messages
            await expect(.invalidInput) { try await store.clear("typo", upTo: 1) }
            await expect(.invalidInput) { try await store.markRead("typo", upTo: 1) }
            let made = try await store.conversation("typo")
            #expect(made == nil)
            await expect(.invalidInput) { try await store.markRead("typo", upTo: 0) }
            #expect(try await store.conversations().isEmpty)
            // That nothing is read can be known of any that is there.
            try await store.ingest([member("bob")])
            let known = try await store.markRead("c", upTo: 0)
            #expect(known.item != nil)
        }
    }

    // A message that is deleted before it comes is never seen, and a typo is no message that is to come.
    @Test(
        "a message of which nothing is known is not deleted, and one that waits is cancelled instead"
    )
    func unknownMessages() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([message("m1", seq: 1)])
            await expect(.invalidInput) { try await store.delete("m7", in: "c") }
            await expect(.invalidInput) { try await store.delete("m1", in: "typo") }
            try await store.ingest([message("m7", seq: 7)])
            #expect(try await store.shown() == ["m1:text", "m7:text"])
            let sent = try await store.send(
                OutgoingMessage(conversation: "c", body: "oops", clientID: "k1")
            )
            let item = try #require(sent.item)
            let error = await #expect(throws: LockkeeperError.self) {
                try await store.delete("k1", in: "c")
            }
            #expect(error?.remedy.contains("outbox cancel \(item)") == true)
            for act in [store.editing("k1"), store.recalling("k1"), store.reacting("k1")] {
                let refusal = await #expect(throws: LockkeeperError.self) { try await act() }
                #expect(refusal?.description == error?.description)
            }
            #expect(try await store.outbox().map(\.act) == [.send])
            // What is waited for, because something was said of it, can be.
            try await store.ingest([edit("m9", version: 2, "early")])
            try await store.delete("m9", in: "c")
            let known = try await store.conversation("typo")
            #expect(known == nil)
        }
    }

    @Test("a place that history, a position or a clear has named is known, message or not")
    func knownByOthers() async throws {
        let sources: [Event] = [
            history(1...5), read(upTo: 5, by: "bob"), read(upTo: 5), clear(upTo: 5),
        ]
        for source in sources {
            try await withAccount { account in
                let store = account.messages
                try await store.ingest([source])
                try await store.clear("c", upTo: 5)
                await expect(.invalidInput) { try await store.clear("c", upTo: 6) }
            }
        }
    }

    @Test("the server's clear and read position above everything known are taken as they are")
    func byTheServer() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([clear(upTo: 8), read(upTo: 9)])
            try await store.ingest([message("m8", seq: 8), message("m9", seq: 9)])
            #expect(try await store.shown() == ["m9:text"])
            #expect(try await store.unread() == 0)
        }
    }

    @Test("a clear of many messages goes in parts, the oldest first, and is one for the server")
    func clearInParts() async throws {
        try await withAccount { account in
            let store = account.messages
            let events = try (1...4_500).map { try message(MessageID("m\($0)"), seq: Int64($0)) }
            try await store.ingest(events + [message("later", seq: 9_000)], durability: .committed)
            var before = try await store.session.database.head().commit.rawValue
            let done = try await store.clear("c", upTo: 4_500)
            #expect(try await store.shown() == ["later:text"])
            let after = try await store.session.database.head().commit.rawValue
            #expect(after - before == 3)
            #expect(try await store.outbox().map(\.id) == [done.item])
            // What it leaves is what the server's one event leaves.
            let other = try await account.another("bob")
            try await other.ingest(events + [message("later", seq: 9_000)], durability: .committed)
            before = try await other.session.database.head().commit.rawValue
            try await other.ingest([clear(upTo: 4_500)])
            #expect(try await other.session.database.head().commit.rawValue - before == 1)
            #expect(try await other.exported() == store.exported())
            #expect(try await store.purge("c") == 4_500)
        }
    }

    @Test(
        "another text or conversation under a known client id is refused, the same has one receipt"
    )
    func clientID() async throws {
        try await withAccount { account in
            let store = account.messages
            let draft = OutgoingMessage(conversation: "c", body: "six", clientID: "k")
            var (other, elsewhere, answer, later) = (draft, draft, draft, draft)
            other.body = "seven"
            elsewhere.conversation = "d"
            answer.replyTo = "m0"
            later.expiresAt = instant(9_000)
            let first = try await store.send(draft)
            #expect(first.isNew)
            func judge() async throws {
                for wrong in [other, elsewhere, answer] {
                    let error = await #expect(throws: LockkeeperError.self) {
                        try await store.send(wrong)
                    }
                    #expect(error?.code == .exists && error?.subject == "client id k")
                }
                for same in [draft, later] {
                    let again = try await store.send(same)
                    #expect(!again.isNew && again.clientID == "k")
                }
            }
            try await judge()
            #expect(try await store.send(draft).item == first.item)
            #expect(try await store.outbox().count == 1)
            // It stays so when it was sent, by whoever sends again.
            guard let claim = try await store.claimNextOutboxItem() else { throw NothingSent() }
            try await claim.confirm(as: "m1", sequence: 1)
            try await judge()
            let helper = try await account.process("helper")
            #expect(try await helper.send(draft).message == "m1")
            await expect(.exists) { _ = try await helper.send(other) }
        }
    }

    // M-6: a digest of a short text is as good as the text to who can guess.
    @Test("of a recalled message no digest is kept, whichever of echo and recall comes first")
    func forgotten() async throws {
        for isRecalledFirst in [false, true] {
            try await withAccount { account in
                let store = account.messages
                let draft = OutgoingMessage(conversation: "c", body: "six", clientID: "k")
                _ = try await store.send(draft)
                let echo = message("m1", seq: 1, "six", from: "me") { $0.clientID = "k" }
                let events = [echo, recall("m1", seq: 1, from: "me")]
                try await store.ingest(isRecalledFirst ? events.reversed() : events)
                let digests = try await store.session.database.read { transaction in
                    try transaction.query("SELECT count(digest) FROM lk_outbox") { $0.integer(0) }
                }
                #expect(digests == [0])
                // What is still known tells conversations apart.
                #expect(try await store.send(draft).message == "m1")
                var elsewhere = draft
                elsewhere.conversation = "d"
                await expect(.exists) { _ = try await store.send(elsewhere) }
            }
        }
    }
}

private struct NothingSent: Error {}

extension MessageStore {
    fileprivate func clearing(_ seq: Int64) -> @Sendable () async throws -> Void {
        { [self] in try await clear("c", upTo: seq) }
    }

    fileprivate func reading(_ seq: Int64) -> @Sendable () async throws -> Void {
        { [self] in try await markRead("c", upTo: seq) }
    }

    fileprivate func editing(_ id: MessageID) -> @Sendable () async throws -> Void {
        { [self] in try await edit(id, in: "c", body: "new") }
    }

    fileprivate func recalling(_ id: MessageID) -> @Sendable () async throws -> Void {
        { [self] in try await recall(id, in: "c") }
    }

    fileprivate func reacting(_ id: MessageID) -> @Sendable () async throws -> Void {
        { [self] in try await react("👍", to: id, in: "c") }
    }

    fileprivate func delivering(_ seq: Int64) -> @Sendable () async throws -> Void {
        { [self] in try await markRead("c", upTo: seq, .delivered) }
    }
}

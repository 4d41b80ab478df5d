import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import Testing

@Suite("Recalls are final and take the text out of every place (M-6, R-15)")
struct RecallTests {
    /// What must be found nowhere once the message was recalled.
    private static let secret = "the-secret-text"

    // I-5, M-6. The message in two contradicting versions, an edit, a redelivery and the recall.
    @Test(
        "every order of message, contradiction, edit and recall leaves a placeholder and no text"
    )
    func everyOrder() async throws {
        try await withAccount { account in
            let events = try [
                message("m1", seq: 1, Self.secret) {
                    $0.mentions = ["me"]
                    $0.extra = try ExtraFields(#"{"x":"\#(Self.secret)"}"#)
                },
                message("m1", seq: 1, "z \(Self.secret)"),
                edit("m1", version: 3, "edited \(Self.secret)") {
                    $0.attachments = try Attachments(#"[{"id":"\#(Self.secret)"}]"#)
                },
                recall("m1", version: 2),
            ]
            for (number, order) in permutations(of: events).enumerated() {
                let conversation = try ConversationID("c\(number)")
                for event in order {
                    try await account.messages.ingest(
                        [event.moved(to: conversation)],
                        durability: .committed
                    )
                }
                #expect(try await account.messages.shown(conversation) == ["m1:"], "\(order)")
                let stored = try #require(
                    try await account.messages.message("m1", in: conversation)
                )
                #expect(stored.isRecalled && stored.sequence == 1 && stored.sender == "bob")
                #expect(stored.sentAt == instant(1_000) && stored.version == 2)
            }
            try await expectNowhere(Self.secret, account)
            #expect(try await account.messages.quarantine().isEmpty)
        }
    }

    @Test("late edits, redelivery and a second recall change nothing and make no commit")
    func late() async throws {
        try await withAccount { account in
            let store = account.messages
            let original = message("m1", seq: 1, Self.secret)
            try await store.ingest([original, recall("m1", version: 2)])
            let late = [
                original, edit("m1", version: 9, Self.secret), recall("m1", version: 1),
            ]
            let receipt = try await store.ingest(late)
            #expect(receipt.outcomes == counts(stale: 3) && receipt.commit == nil)
            let again = try await store.ingest([recall("m1", version: 2)])
            #expect(again.outcomes == counts(duplicate: 1) && again.commit == nil)
            try await expectNowhere(Self.secret, account)
        }
    }

    @Test(
        "a message that comes after its recall takes its place, and its text is never shown"
    )
    func recallFirst() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([read(upTo: 0), recall("m1"), message("m2", seq: 2)])
            #expect(try await store.shown() == ["m2:text"])
            let receipt = try await store.ingest([message("m1", seq: 1, Self.secret)])
            #expect(receipt.outcomes == counts(updated: 1))
            #expect(try await store.shown() == ["m1:", "m2:text"])
            #expect(try await store.message("m1", in: "c")?.place.sequence == 1)
            #expect(try await store.unread() == 1)
            try await expectNowhere(Self.secret, account)
        }
    }

    @Test("a recall that carries seq and sender keeps the place without the message")
    func recallAlone() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([
                message("m1", seq: 1), recall("m2", seq: 2, from: "bob"), message("m3", seq: 3),
            ])
            #expect(try await store.shown() == ["m1:text", "m2:", "m3:text"])
            #expect(try await store.message("m2", in: "c")?.place.sequence == 2)
        }
    }

    // M-9, M-14: neither the counter nor the summary keeps what is gone.
    @Test("a recall takes its message out of unread and out of the summary's text")
    func counters() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([
                read(upTo: 0), message("m1", seq: 1),
                message("m2", seq: 2, Self.secret) { $0.mentionsMe = true },
            ])
            #expect(try await store.conversation("c")?.unreadMentions == 1)
            try await store.ingest([recall("m2")])
            let conversation = try #require(try await store.conversation("c"))
            #expect(conversation.unread == 1 && conversation.unreadMentions == 0)
            #expect(conversation.last?.id == "m2" && conversation.last?.preview == nil)
        }
    }

    // M-6, M-14: a refused message sits in quarantine with its text.
    @Test("the recall of a message that was refused for its seq takes it out of quarantine")
    func refusedMessage() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([message("m1", seq: 1), message("m2", seq: 1, Self.secret)])
            #expect(try await store.quarantine().map(\.reason) == ["seq-taken"])
            // The recall names the taken seq as well: it is final all the same.
            let receipt = try await store.ingest([recall("m2", version: 2, seq: 1, from: "bob")])
            #expect(receipt.outcomes == counts(quarantined: 1))
            try await expectNowhere(Self.secret, account)
            let late = try await store.ingest([message("m2", seq: 1, Self.secret)])
            #expect(late.outcomes == counts(stale: 1))
            try await expectNowhere(Self.secret, account)
            #expect(try await store.shown() == ["m1:text"])
        }
    }
}

import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import Testing

// an edit or recall without authority changes nothing, whatever the order, and hides no rightful
// one.
@Suite("Who may edit and recall (M-5, R-60)")
struct AuthorityTests {
    private static let forged = edit("m1", version: 5, "forged") { $0.editor = "eve" }
    private static let rightful = edit("m1", version: 2, "edited") { $0.editor = "bob" }
    private static let original = message("m1", seq: 1, "original")

    private static func recall(by person: PersonID?) -> Event {
        .recall(RecallEvent(conversation: "c", id: "m1", version: 9, recaller: person))
    }

    @Test("a forged edit of a higher version hides no rightful one, in any order")
    func forgedEdit() async throws {
        try await withAuthorAccount { account in
            let store = account.messages
            for (number, order) in permutations(of: [Self.forged, Self.rightful, Self.original])
                .enumerated()
            {
                let conversation = try ConversationID("c\(number)")
                for event in order { try await store.ingest([event.moved(to: conversation)]) }
                #expect(try await store.shown(conversation) == ["m1:edited"], "\(order)")
                let put = try await store.quarantine().filter { $0.conversation == conversation }
                #expect(put.map(\.reason) == ["unauthorised"], "\(order)")
            }
        }
    }

    @Test("a forged recall changes nothing, and the true one takes the forgeries away with it")
    func recalls() async throws {
        try await withAuthorAccount { account in
            let store = account.messages
            try await store.ingest([Self.original, Self.recall(by: "eve"), Self.forged])
            #expect(try await store.shown() == ["m1:original"])
            #expect(try await store.quarantine().count == 2)
            let receipt = try await store.ingest([Self.recall(by: "bob")])
            #expect(receipt.outcomes == counts(updated: 1))
            #expect(try await store.shown() == ["m1:"])
            #expect(try await store.quarantine().isEmpty)
            let late = try await store.ingest([Self.forged, Self.recall(by: "eve")])
            #expect(late.outcomes == counts(stale: 2) && late.commit == nil)
        }
    }

    @Test("a recall that comes first waits for the sender, and cannot name itself one")
    func recallFirst() async throws {
        try await withAuthorAccount { account in
            let store = account.messages
            let claim = Event.recall(
                RecallEvent(
                    conversation: "c",
                    id: "m1",
                    version: 1,
                    recaller: "eve",
                    sequence: 1,
                    sender: "eve",
                    sentAt: instant(1)
                )
            )
            let first = try await store.ingest([claim, Self.recall(by: "bob")])
            #expect(first.outcomes == counts(updated: 2))
            #expect(try await store.shown() == [])
            try await store.ingest([Self.original])
            #expect(try await store.shown() == ["m1:"])
            #expect(try await store.message("m1", in: "c")?.sender == "bob")
            #expect(try await store.quarantine().isEmpty)
        }
    }

    @Test(
        "a fact without an author is no fact; a sender that is named later allows what was refused"
    )
    func laterSender() async throws {
        try await withAuthorAccount { account in
            let store = account.messages
            try await store.ingest([
                message("m1", seq: 1, "from a push", version: 0, from: "Bob"), Self.rightful,
                edit("m1", version: 3, "by nobody"),
            ])
            #expect(try await store.shown() == ["m1:from a push"])
            #expect(try await store.quarantine().count == 2)
            // The push had the sender's name, the server has the id.
            try await store.ingest([Self.original])
            #expect(try await store.shown() == ["m1:edited"])
            #expect(try await store.quarantine().count == 1)
        }
    }

    @Test("what waits is bounded: beyond, a fact is put aside and can be retried")
    func bounded() async throws {
        var limits = Limits()
        limits.waitingMessageCountMax = 2
        try await withAuthorAccount(limits: limits) { account in
            let store = account.messages
            let edits = (2...4).map { version in
                edit("m1", version: Int64(version), "\(version)") { $0.editor = "bob" }
            }
            let receipt = try await store.ingest(edits)
            #expect(receipt.outcomes == counts(updated: 2, quarantined: 1))
            let item = try #require(try await store.quarantine().first)
            #expect(item.reason == "too-many-waiting-messages")
            try await store.ingest([Self.original])
            #expect(try await store.shown() == ["m1:3"])
            #expect(try await store.retryQuarantined(item.number) == .updated)
            #expect(try await store.shown() == ["m1:4"])
        }
    }

    @Test("where the server decides, nobody asks who edits")
    func server() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([Self.original, Self.forged])
            #expect(try await store.shown() == ["m1:forged"])
            try await store.ingest([Self.recall(by: nil)])
            #expect(try await store.shown() == ["m1:"])
        }
    }

    // Matrix: a moderator's redaction is right, and an edit by anybody else is not.
    @Test(
        "where authors decide about edits alone, another's recall counts and another's edit does not"
    )
    func authorOfEdits() async throws {
        let contract = ServerContract(authority: .authorOfEdits)
        try await withAccount(contract: contract) { account in
            let store = account.messages
            let moderated = Event.recall(
                RecallEvent(
                    conversation: "c",
                    id: "m1",
                    version: 9,
                    recaller: "moderator",
                    sequence: 1,
                    sender: "carol"
                )
            )
            let all = [Self.original, Self.forged, Self.rightful, moderated]
            for (number, order) in permutations(of: all).enumerated() {
                let conversation = try ConversationID("c\(number)")
                let upToRecall = order.firstIndex(of: moderated) ?? 0
                for (index, event) in order.enumerated() {
                    try await store.ingest([event.moved(to: conversation)])
                    guard index < upToRecall else { continue }
                    let shown = try await store.shown(conversation)
                    #expect(shown.allSatisfy { $0 != "m1:forged" }, "\(order)")
                }
                #expect(try await store.shown(conversation) == ["m1:"], "\(order)")
            }
            // Nothing that names the text is left of it, whichever came first.
            #expect(try await store.quarantine().isEmpty)
            let exported = try await store.exported()
            let kinds = Set(exported.map { $0.replacing(#/"c[0-9]+"/#, with: "C") })
            #expect(kinds.count == 1, "\(kinds)")
        }
    }

    private func withAuthorAccount(
        limits: Limits = Limits(),
        _ body: (TestAccount) async throws -> Void
    ) async throws {
        try await withAccount(
            contract: ServerContract(authority: .author),
            limits: limits,
            body
        )
    }
}

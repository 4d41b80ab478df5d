import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperTesting
import Testing

/// What a program answers may be wrong. Nothing that was sent may be lost by it (M-10).
@Suite("A confirmation that cannot be true ends no item, and names the contradiction (M-10)")
struct ConfirmationTests {
    private func send(_ text: String, _ clientID: ClientID, by store: MessageStore) async throws {
        _ = try await store.send(
            OutgoingMessage(conversation: "c", body: text, clientID: clientID)
        )
    }

    private func claim(_ store: MessageStore) async throws -> OutboxClaim {
        guard let claim = try await store.claimNextOutboxItem() else { throw NothingToClaim() }
        return claim
    }

    private struct NothingToClaim: Error {}

    /// What the outbox holds: "k1 unknown the text".
    private func items(_ store: MessageStore) async throws -> [String] {
        try await store.outbox().map { item in
            guard case .message(let message) = item.event else { return "no message" }
            return "\(item.key) \(item.state.rawValue) \(message.body)"
        }
    }

    private func expectContradicted(
        _ confirmation: OutboxClaim.Confirmation,
        _ words: String,
        _ store: MessageStore,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let reason = try await store.outbox().last?.reason
        #expect(confirmation == .contradicted(reason ?? ""), sourceLocation: sourceLocation)
        #expect(reason?.contains(words) == true, "\(reason ?? "")", sourceLocation: sourceLocation)
    }

    @Test(
        "one id for two items: the first has it, the second stays with its text",
        arguments: [
            ServerContract(), ServerContract(refusesDoubles: true),
        ]
    )
    func sameID(contract: ServerContract) async throws {
        try await withAccount(contract: contract) { account in
            let store = account.messages
            try await send("first", "k1", by: store)
            try await send("second", "k2", by: store)
            #expect(try await claim(store).confirm(as: "m1", sequence: 1) == .taken)
            let wrong = try await claim(store).confirm(as: "m1", sequence: 1)
            try await expectContradicted(wrong, "m1", store)
            #expect(try await items(store) == ["k2 unknown second"])
            #expect(try await store.shown() == ["m1:first"])
            // It is not tried again unasked, whatever the contract says.
            #expect(try await store.outboxWait() == nil)
            // The echo settles it.
            try await store.ingest([
                message("m2", seq: 2, "second", from: "me") { $0.clientID = "k2" }
            ])
            #expect(try await items(store) == [])
            #expect(try await store.shown() == ["m1:first", "m2:second"])
        }
    }

    @Test("one id for two items where the first was recalled or deleted meanwhile")
    func sameIDWithoutContent() async throws {
        try await withAccount { account in
            let store = account.messages
            for (number, end) in ["recall", "delete"].enumerated() {
                let (first, id) = (try ClientID("a\(number)"), try MessageID("m\(number)"))
                try await send("first", first, by: store)
                #expect(try await claim(store).confirm(as: id, sequence: nil) == .taken)
                try await store.ingest([
                    end == "recall" ? recall(id, version: 3) : delete(id)
                ])
                let second = try ClientID("b\(number)")
                try await send("second", second, by: store)
                let wrong = try await claim(store).confirm(as: id)
                try await expectContradicted(wrong, "another message of one's own", store)
            }
            #expect(try await items(store) == ["b0 unknown second", "b1 unknown second"])
        }
    }

    @Test("the id of an incoming message, before and after that message has come")
    func incomingID() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([message("m1", seq: 1, "from bob")])
            try await send("mine", "k1", by: store)
            let wrong = try await claim(store).confirm(as: "m1", sequence: 1)
            try await expectContradicted(wrong, "somebody else's", store)
            // The other way round the answer cannot be known to be wrong at first.
            try await send("mine too", "k2", by: store)
            #expect(try await claim(store).confirm(as: "m2", sequence: 2) == .taken)
            try await store.ingest([message("m2", seq: 2, "from bob too")])
            #expect(try await items(store) == ["k1 unknown mine", "k2 unknown mine too"])
            #expect(try await store.outbox().last?.reason?.contains("m2") == true)
            #expect(try await store.shown() == ["m1:from bob", "m2:from bob too"])
            // By hand it goes again, and is confirmed rightly.
            let item = try #require(try await store.outbox().last)
            #expect(try await store.retryOutboxItem(item.id) == .done)
            #expect(try await claim(store).confirm(as: "m3", sequence: 3) == .taken)
            #expect(try await store.shown().last == "m3:mine too")
        }
    }

    @Test("the id of another own message, whose echo comes later: both texts are there")
    func exchangedIDs() async throws {
        try await withAccount { account in
            let store = account.messages
            try await send("first", "k1", by: store)
            try await send("second", "k2", by: store)
            #expect(try await claim(store).confirm(as: "m2") == .taken)
            let wrong = try await claim(store).confirm(as: "m2")
            try await expectContradicted(wrong, "m2", store)
            try await store.ingest([
                message("m2", seq: 2, "second", from: "me") { $0.clientID = "k2" }
            ])
            #expect(try await items(store) == ["k1 unknown first"])
            #expect(try await store.shown() == ["m2:second"])
        }
    }

    @Test("a place that another message has; where places may tie it is none")
    func takenPlace() async throws {
        for order in [ServerContract.Order.unique, .ties] {
            try await withAccount(contract: ServerContract(order: order)) { account in
                let store = account.messages
                try await store.ingest([message("m1", seq: 5, "from bob")])
                try await send("mine", "k1", by: store)
                let answer = try await claim(store).confirm(as: "m2", sequence: 5)
                if order == .ties {
                    #expect(answer == .taken)
                    #expect(try await store.shown() == ["m1:from bob", "m2:mine"])
                } else {
                    try await expectContradicted(answer, "place 5", store)
                    #expect(try await items(store) == ["k1 unknown mine"])
                    #expect(try await store.shown() == ["m1:from bob"])
                    #expect(try await store.quarantine().isEmpty)
                }
            }
        }
    }

    @Test("an echo without a client id is the message where the text is the same, and not else")
    func echoWithoutClientID() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([
                message("m1", seq: 1, "mine", from: "me"),
                message("m2", seq: 2, "from my other device", from: "me"),
            ])
            try await send("mine", "k1", by: store)
            #expect(try await claim(store).confirm(as: "m1", sequence: 1) == .taken)
            try await send("also mine", "k2", by: store)
            let wrong = try await claim(store).confirm(as: "m2", sequence: 2)
            try await expectContradicted(wrong, "another text", store)
            #expect(try await items(store) == ["k2 unknown also mine"])
        }
    }

    @Test("a place that another message turns out to have: both are shown, nothing is put aside")
    func placeOfLaterMessage() async throws {
        try await withAccount { account in
            let store = account.messages
            for isKnown in [false, true] {
                let (id, seq) = (isKnown ? "b2" : "b1", Int64(isKnown ? 20 : 10))
                let clientID = try ClientID("k-\(id)")
                // Of one of them something is known before its place is.
                if isKnown { try await store.ingest([reaction(try MessageID(id), by: "eve")]) }
                try await send("mine", clientID, by: store)
                let own = try MessageID("own-\(id)")
                #expect(try await claim(store).confirm(as: own, sequence: seq) == .taken)
                try await store.ingest([message(try MessageID(id), seq: seq, "from bob")])
                #expect(try await store.shown().suffix(2) == ["\(id):from bob", "\(own):mine"])
                #expect(try await store.quarantine().isEmpty)
                try await store.ingest([
                    message(own, seq: seq + 1, "mine", from: "me") { $0.clientID = clientID }
                ])
                #expect(try await store.message(own, in: "c")?.sequence == seq + 1)
            }
        }
    }

    // The answer that is kept as a packet because the session has ended is looked at too.
    @Test("a wrong confirmation that comes after the account was signed into again ends no item")
    func keptAsPacket() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([message("m1", seq: 1, "from bob")])
            try await send("mine", "k1", by: store)
            let claim = try await claim(store)
            let after = try MessageStore(try await account.app.activate("alice"))
            _ = try await claim.confirm(as: "m1", sequence: 1)
            #expect(try await items(after) == ["k1 unknown mine"])
            #expect(try await after.shown() == ["m1:from bob"])
        }
    }

    @Test("a message with its client id and another text, or in another conversation, ends no item")
    func echoOfAnother() async throws {
        try await withAccount { account in
            let store = account.messages
            try await send("pay 100", "n1", by: store)
            try await store.ingest([
                message("x1", seq: 1, "elsewhere", from: "me", in: "d") { $0.clientID = "n1" }
            ])
            #expect(try await items(store) == ["n1 waiting pay 100"])
            #expect(try await store.shown("d") == ["x1:elsewhere"])
            try await store.ingest([
                message("m1", seq: 1, "pay 10", from: "me") { $0.clientID = "n1" }
            ])
            #expect(try await items(store) == ["n1 unknown pay 100"])
            #expect(try await store.outbox().last?.reason?.contains("m1") == true)
            #expect(try await store.shown() == ["m1:pay 10"])
            // It is not tried again unasked, and its own echo ends it.
            #expect(try await store.outboxWait() == nil)
            try await store.ingest([
                message("m2", seq: 2, "pay 100", from: "me") { $0.clientID = "n1" }
            ])
            #expect(try await items(store) == [])
            // So does the answer to its attempt, though the server has changed the text.
            try await send(":smile:", "n2", by: store)
            let claim = try await claim(store)
            try await store.ingest([
                message("m3", seq: 3, "☺", from: "me") { $0.clientID = "n2" }
            ])
            #expect(try await items(store) == ["n2 unknown :smile:"])
            #expect(try await claim.confirm(as: "m3", sequence: 3) == .taken)
            #expect(try await items(store) == [])
            #expect(try await store.shown().last == "m3:☺")
        }
    }
}

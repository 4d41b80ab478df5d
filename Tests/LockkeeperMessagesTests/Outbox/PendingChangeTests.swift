import Lockkeeper
import LockkeeperDomain
import LockkeeperSQLite
import LockkeeperTesting
import Testing

@testable import LockkeeperMessages

/// R-59: what the account does is shown and told, and what the server refuses has changed nothing.
@Suite("Edits, recalls and reactions of one's own stand beside the message until confirmed (M-10)")
struct PendingChangeTests {
    private func claim(_ store: MessageStore) async throws -> OutboxClaim {
        guard let claim = try await store.claimNextOutboxItem() else { throw NothingToClaim() }
        return claim
    }

    private struct NothingToClaim: Error {}

    /// The first message as the store has it, and as the account wants it.
    private func texts(_ store: MessageStore) async throws -> [String?] {
        let message = try #require(try await store.timeline("c", limit: 1).first)
        #expect(try await store.message(message.id, in: "c") == message)
        // The list says of a short text the same.
        let last = try await store.conversation("c")?.last
        #expect(last?.id == message.id && last?.pendingChange == message.pendingChange)
        #expect(last?.preview == message.body && last?.wantedPreview == message.wantedBody)
        return [message.body, message.wantedBody]
    }

    private func hits(_ text: String, _ store: MessageStore) async throws -> Int {
        try await store.search(SearchQuery(text), limit: 9).count
    }

    /// How an item can end without being done.
    private enum End: CaseIterable {
        case refused, cancelled, parked, refusedAndCancelled
    }

    private func end(_ end: End, _ store: MessageStore) async throws {
        let claim = try await claim(store)
        let item = claim.item.id
        switch end {
        case .refused: try await claim.park(because: "not allowed")
        case .parked:
            try await claim.leaveUnanswered()
            for _ in 1..<Limits().attemptUnansweredCountMax {
                #expect(try await store.retryOutboxItem(item) == .done)
                try await self.claim(store).fail(because: "no route")
            }
            #expect(try await store.retryOutboxItem(item) == .done)
            try await self.claim(store).park(because: "not allowed")
        case .cancelled:
            try await claim.giveBack()
            #expect(try await store.cancelOutboxItem(item) == .done)
        case .refusedAndCancelled:
            try await claim.park(because: "not allowed")
            #expect(try await store.cancelOutboxItem(item) == .done)
        }
    }

    @Test(
        "an edit that is refused or cancelled changes nothing, and outlives no text of the server's"
    )
    func editRefused() async throws {
        for how in End.allCases {
            try await withAccount { account in
                let store = account.messages
                try await store.ingest([message("m1", seq: 1, "first", from: "me")])
                let before = try await store.exported()
                try await store.edit("m1", in: "c", body: "mine")
                #expect(try await texts(store) == ["first", "mine"])
                try await end(how, store)
                #expect(try await texts(store) == ["first", "first"])
                #expect(try await store.exported() == before)
                #expect(try await hits("first", store) == 1)
                #expect(try await hits("mine", store) == 0)
                // The server's second version is no conflict with anything.
                try await store.ingest([edit("m1", version: 2, "the server's")])
                #expect(try await texts(store) == ["the server's", "the server's"])
                #expect(try await store.quarantine().isEmpty)
                #expect(
                    try await store.outbox().map(\.state)
                        == (how == .refused || how == .parked ? [.parked] : [])
                )
            }
        }
    }

    // M-10: refused as an answer to a message that cannot be true is.
    @Test("an answer about another message or place, or of a version that ends all, ends no change")
    func answersThatCannotBe() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([
                message("m2", seq: 1, "other"), message("m1", seq: 2, "first", from: "me"),
            ])
            try await store.edit("m1", in: "c", body: "mine")
            let item = try #require(try await store.outbox().first?.id)
            let largest: Int64 = (1 << 53) - 1
            for (id, seq, version) in [("m2", nil, nil), ("m1", 1, nil), ("m1", 2, largest)]
                as [(MessageID, Int64?, Int64?)]
            {
                let answer = try await claim(store).confirm(as: id, sequence: seq, version: version)
                let stands = try #require(try await store.outbox().first)
                #expect(answer == .contradicted(stands.reason ?? ""))
                #expect(stands.id == item && stands.state == .unknown)
                #expect(try await texts(store) == ["first", "first"])
                // It is not tried again unasked.
                #expect(try await store.outboxWait() == nil)
                #expect(try await store.retryOutboxItem(item) == .done)
            }
            #expect(try await claim(store).confirm(as: "m1", sequence: 2, version: 7) == .taken)
            #expect(try await texts(store) == ["mine", "mine"])
            // Later ones have room.
            try await store.edit("m1", in: "c", body: "again")
            #expect(try await claim(store).confirm(version: 8) == .taken)
            #expect(try await texts(store) == ["again", "again"])
            // A position that the server has not reached is not told.
            try await store.markRead("c", upTo: 2)
            let wrong = try await claim(store).confirm(sequence: 1)
            #expect(wrong != .taken && wrong != .overtaken(""))
            #expect(try await store.outbox().map(\.state) == [.unknown])
        }
    }

    @Test("a recall that is refused or cancelled has destroyed nothing")
    func recallRefused() async throws {
        for how in End.allCases {
            try await withAccount { account in
                let store = account.messages
                try await store.ingest([
                    message("m1", seq: 1, "kept", from: "bob"), reaction("m1", by: "eve", "👍"),
                    read(upTo: 0),
                ])
                let before = try await store.exported()
                try await store.recall("m1", in: "c")
                #expect(try await texts(store) == ["kept", nil])
                try await end(how, store)
                #expect(try await texts(store) == ["kept", "kept"])
                #expect(try await store.exported() == before)
                #expect(try await hits("kept", store) == 1)
                #expect(try await store.reactions(to: "m1", in: "c").count == 1)
                #expect(try await store.unread() == 1)
            }
        }
    }

    @Test("once confirmed, by any process, it is merged with all that follows")
    func confirmed() async throws {
        try await withAccount { account in
            let (store, helper) = (account.messages, try await account.process("helper"))
            try await store.ingest([
                message("m1", seq: 1, "first"), message("m2", seq: 2, "second"), read(upTo: 0),
            ])
            try await store.edit("m1", in: "c", body: "mine")
            try await store.edit("m1", in: "c", body: "mine again")
            try await store.recall("m2", in: "c")
            try await store.react("👍", to: "m1", in: "c")
            #expect(try await store.unread() == 2)
            for _ in 0..<4 { try await claim(helper).confirm() }
            #expect(try await store.shown() == ["m1:mine again", "m2:"])
            #expect(try await store.timeline("c", limit: 9).allSatisfy { $0.pendingChange == nil })
            #expect(try await store.unread() == 1)
            #expect(try await hits("mine", store) == 1)
            #expect(try await hits("first", store) == 0)
            #expect(try await hits("second", store) == 0)
            #expect(try await store.reactions(to: "m1", in: "c").map(\.pending) == [nil])
            #expect(try await store.outbox().isEmpty)
        }
    }

    @Test(
        "the server's version decides: said with the answer, or told by itself before or after it"
    )
    func versions() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([message("m1", seq: 1, "first", from: "me")])
            // Another device's edit is the second version, this one the third.
            try await store.edit("m1", in: "c", body: "mine")
            try await store.ingest([edit("m1", version: 2, "another's")])
            #expect(try await texts(store) == ["another's", "mine"])
            try await claim(store).confirm(version: 3)
            #expect(try await texts(store) == ["mine", "mine"])
            try await store.ingest([edit("m1", version: 3, "mine")])
            // Not said: what the server says at the version that was handed out, or at a newer one,
            // stands, whichever comes first; it is said, and nothing is put aside.
            for isFirst in [true, false] {
                try await store.edit("m1", in: "c", body: "mine four")
                let claim = try await claim(store)
                let version = try Self.version(of: claim.item)
                let others = edit("m1", version: version, "another's four")
                if isFirst { try await store.ingest([others]) }
                let confirmation = try await claim.confirm()
                if !isFirst { try await store.ingest([others]) }
                guard case .overtaken(let reason) = confirmation else {
                    #expect(!isFirst && confirmation == .taken)
                    continue
                }
                #expect(isFirst && reason.contains("version \(version), which stands"))
                #expect(try await texts(store) == ["another's four", "another's four"])
                try await store.ingest([edit("m1", version: version + 1, "first again")])
            }
            #expect(try await texts(store) == ["another's four", "another's four"])
            #expect(try await store.quarantine().isEmpty)
            try await store.edit("m1", in: "c", body: "six")
            await expect(.invalidInput) { _ = try await self.claim(store).confirm(version: 1) }
        }
    }

    private static func version(of item: OutboxItem) throws -> Int64 {
        switch item.event {
        case .edit(let edit): edit.version
        case .reaction(let reaction): reaction.version
        default: throw NothingToClaim()
        }
    }

    @Test(
        "what waited while the server told of newer versions is handed out behind them, and stands"
    )
    func handedOutBehind() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([
                message("m1", seq: 1, "first", from: "me"),
                reaction("m1", by: "me", "❤️", slot: "one"),
            ])
            try await store.edit("m1", in: "c", body: "mine")
            try await store.react("👍", to: "m1", in: "c", slot: "one")
            try await store.ingest([
                edit("m1", version: 5, "from my phone"),
                reaction("m1", by: "me", "🎉", slot: "one", version: 7),
            ])
            let edited = try await claim(store)
            #expect(try Self.version(of: edited.item) == 6)
            #expect(try await edited.confirm() == .taken)
            let reacted = try await claim(store)
            #expect(try Self.version(of: reacted.item) == 8)
            #expect(try await reacted.confirm() == .taken)
            #expect(try await store.shown() == ["m1:mine"])
            #expect(try await store.reactions(to: "m1", in: "c").map(\.emoji) == ["👍"])
        }
    }

    @Test("an answer that names an older version than stands is told as that, and undoes nothing")
    func confirmedAsOlder() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([
                message("m1", seq: 1, "first", from: "me"), edit("m1", version: 5, "from my phone"),
                reaction("m1", by: "me", "🎉", slot: "one", version: 7),
            ])
            try await store.edit("m1", in: "c", body: "mine")
            try await store.react("👍", to: "m1", in: "c", slot: "one")
            guard case .overtaken(let edited) = try await claim(store).confirm(version: 3),
                case .overtaken(let reacted) = try await claim(store).confirm(version: 2)
            else { throw NothingToClaim() }
            #expect(edited.contains("version 3") && edited.contains("version 5 stands"))
            #expect(reacted.contains("version 2") && reacted.contains("version 7 stands"))
            #expect(try await texts(store) == ["from my phone", "from my phone"])
            #expect(try await store.reactions(to: "m1", in: "c").map(\.emoji) == ["🎉"])
            #expect(try await store.outbox().isEmpty)
        }
    }

    @Test(
        "a recall holds an edit back; refused or cancelled it gives it back, confirmed it takes it"
    )
    func recallHolds() async throws {
        for how in End.allCases {
            try await withAccount { account in
                let store = account.messages
                try await store.ingest([message("m1", seq: 1, "first", from: "me")])
                let edited = try #require(try await store.edit("m1", in: "c", body: "long").item)
                let liked = try #require(try await store.react("👍", to: "m1", in: "c").item)
                let recalled = try #require(try await store.recall("m1", in: "c").item)
                let held = try await store.outbox().filter { $0.id != recalled }
                #expect(held.map(\.id) == [edited, liked])
                #expect(held.allSatisfy { $0.reason?.contains("recall") == true })
                // The recall is handed out first, and alone.
                let claim = try await claim(store)
                #expect(claim.item.id == recalled)
                #expect(try await store.claimNextOutboxItem() == nil)
                try await claim.giveBack()
                try await end(how, store)
                #expect(try await texts(store) == ["first", "long"])
                for item in [edited, liked] {
                    let claim = try await self.claim(store)
                    #expect(claim.item.id == item && claim.item.reason == nil)
                    try await claim.confirm()
                }
                #expect(try await texts(store) == ["long", "long"])
            }
        }
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([message("m1", seq: 1, "first", from: "me")])
            try await store.edit("m1", in: "c", body: "a secret of mine")
            // One that somebody is at cannot be stopped, and the recall waits for it.
            let claim = try await claim(store)
            try await store.recall("m1", in: "c")
            #expect(try await store.claimNextOutboxItem() == nil)
            try await claim.leaveUnanswered()
            try await self.claim(store).confirm()
            #expect(try await store.outbox().isEmpty)
            try await expectNowhere("a secret of mine", account)
        }
    }

    @Test(
        "what is wanted already is not put in twice; what was refused gives way to what is wanted"
    )
    func again() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([message("m1", seq: 1, "first", from: "me")])
            #expect(try await store.edit("m1", in: "c", body: "first").item == nil)
            let one = try await store.edit("m1", in: "c", body: "mine")
            #expect(try await store.edit("m1", in: "c", body: "mine").item == nil)
            try await claim(store).park(because: "too long")
            let two = try await store.edit("m1", in: "c", body: "mine")
            #expect(two.item != nil && two.item != one.item)
            #expect(try await store.outbox().map(\.id) == [two.item])
            // No edit comes behind a recall.
            let recall = try await store.recall("m1", in: "c")
            #expect(try await store.recall("m1", in: "c").item == nil)
            #expect(try await store.outbox().map(\.id) == [two.item, recall.item])
            await expect(.invalidInput) { try await store.edit("m1", in: "c", body: "late") }
            // The server tells of it by itself.
            try await store.ingest([LockkeeperMessagesTests.recall("m1", version: 1)])
            #expect(try await store.outbox().isEmpty)
            #expect(try await store.recall("m1", in: "c").item == nil)
        }
    }

    @Test("a reaction on its way is listed as pending, and one that is refused is gone")
    func reactions() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([
                message("m1", seq: 1), reaction("m1", by: "me", "❤️", slot: "one", version: 1),
            ])
            func listed() async throws -> [String] {
                try await store.reactions(to: "m1", in: "c").map {
                    "\($0.emoji) \($0.pending.map { "\($0)" } ?? "stands")"
                }
            }
            #expect(try await store.react("❤️", to: "m1", in: "c", slot: "one").item == nil)
            try await store.react("👍", to: "m1", in: "c", slot: "one")
            #expect(try await listed() == ["❤️ takenOff", "👍 putOn"])
            try await claim(store).park(because: "no")
            #expect(try await listed() == ["❤️ stands"])
            try await store.react("❤️", to: "m1", in: "c", slot: "one", removed: true)
            #expect(try await listed() == ["❤️ takenOff"])
            try await claim(store).confirm(version: 7)
            #expect(try await listed() == [])
            // What the server said at the version that a refused one had been given stands.
            try await store.ingest([reaction("m1", by: "me", "🎉", slot: "one", version: 8)])
            #expect(try await listed() == ["🎉 stands"])
        }
    }

    // M-5: who else may edit or recall is the server's to say, because moderators exist.
    @Test(
        "another's message: under 'server' the server is asked, under 'author' it is refused here"
    )
    func othersMessage() async throws {
        for authority in [ServerContract.Authority.server, .author] {
            try await withAccount(contract: ServerContract(authority: authority)) { account in
                let store = account.messages
                try await store.ingest([message("m1", seq: 1, "bob's", from: "bob")])
                if authority == .author {
                    await expect(.invalidInput) { try await store.recall("m1", in: "c") }
                    await expect(.invalidInput) {
                        try await store.edit("m1", in: "c", body: "x")
                    }
                } else {
                    try await store.recall("m1", in: "c")
                    try await claim(store).park(because: "you are no moderator")
                    let shown = try #require(try await store.timeline("c", limit: 1).first)
                    #expect(shown.body == "bob's")
                    #expect(shown.pendingChange?.reason == "you are no moderator")
                }
            }
        }
    }

    @Test("reading what is on its way is a search of an index, and no sort")
    func plans() async throws {
        try await withAccount { account in
            try await account.session.database.readConnection { connection in
                for query in ["\(PendingActs.oneQuery)", "\(PendingActs.allQuery)"] {
                    let explain = try connection.prepare("EXPLAIN QUERY PLAN \(query)")
                    var plan: [String] = []
                    while try explain.step() { plan.append(explain.string(3)) }
                    #expect(
                        plan.count == 1 && plan[0].contains("USING INDEX lk_outbox_open"),
                        "\(plan)"
                    )
                }
            }
        }
    }
}

import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperTesting
import Testing

/// Between a backup and its restore the server may have been told, and people too.
@Suite("A restored backup sends nothing twice unasked, and shows nothing twice (M-10, M-11)")
struct RestoredActsTests {
    private func claim(_ store: MessageStore) async throws -> OutboxClaim {
        guard let claim = try await store.claimNextOutboxItem() else { throw NothingToClaim() }
        return claim
    }

    private struct NothingToClaim: Error {}

    private func items(_ store: MessageStore) async throws -> [String] {
        try await store.outbox().map { "\($0.act.rawValue) \($0.state.rawValue)" }
    }

    /// Does everything that waits, and says how often each was told.
    private func tellAll(_ store: MessageStore) async throws -> [String] {
        var told: [String] = []
        while let claim = try await store.claimNextOutboxItem() {
            told.append("\(claim.item.act.rawValue)\(claim.isRepeated ? " again" : "")")
            let id = claim.item.clientID.map { MessageID(unchecked: $0.bytes) }
            try await claim.confirm(as: id)
        }
        return told
    }

    /// An account with everything on its way, that was backed up, and then told all of it.
    private func backedUp(_ account: TestAccount) async throws -> String {
        let store = account.messages
        try await store.ingest((1...4).map { message(try MessageID("m\($0)"), seq: Int64($0)) })
        _ = try await store.send(
            OutgoingMessage(conversation: "c", body: "mine", clientID: "k1")
        )
        try await store.edit("m1", in: "c", body: "edited")
        try await store.react("👍", to: "m2", in: "c")
        try await store.recall("m3", in: "c")
        try await store.markRead("c", upTo: 1)
        let path = "\(account.test.root)/backup.db"
        _ = try await account.app.backUp("alice", to: path)
        #expect(try await tellAll(store).count == 5)
        while let effect = try await store.claimNextEffect() { try await effect.confirm() }
        return path
    }

    @Test(
        "where the server takes doubles, messages, edits and reactions are held, the rest is told"
    )
    func held() async throws {
        try await withAccount { account in
            let path = try await backedUp(account)
            let report = try await account.app.restore("alice", from: path)
            #expect(report.notes.count == 3, "\(report.notes)")
            #expect(
                report.notes[0].hasPrefix("Held as unknown: 1 message and 2 changes"),
                "\(report.notes)"
            )
            #expect(report.notes[0].contains("outbox retry"))
            let store = try MessageStore(try await account.app.session("alice"))
            #expect(
                try await items(store) == [
                    "send unknown", "edit unknown", "reaction unknown", "recall waiting",
                    "read waiting",
                ]
            )
            #expect(try await store.outbox().first?.reason?.contains("backup") == true)
            #expect(try await tellAll(store) == ["recall again", "read again"])
            // The held edit is not shown as if it were on its way.
            let edited = try #require(try await store.message("m1", in: "c"))
            #expect(edited.wantedBody == "text" && edited.pendingChange?.state == .unknown)
            // An echo settles it, and a person may.
            try await store.ingest([
                message("k1", seq: 9, "mine", from: "me") { $0.clientID = "k1" }
            ])
            #expect(try await items(store) == ["edit unknown", "reaction unknown"])
            let edit = try #require(try await store.outbox().first)
            #expect(try await store.retryOutboxItem(edit.id) == .done)
            #expect(try await tellAll(store) == ["edit again"])
        }
    }

    @Test("what came into the outbox after the backup is counted, and where it stands is said")
    func left() async throws {
        try await withAccount { account in
            let path = try await backedUp(account)
            for key in ["k2", "k3"] as [ClientID] {
                _ = try await account.messages.send(
                    OutgoingMessage(conversation: "c", body: "typed since", clientID: key)
                )
            }
            let report = try await account.app.restore("alice", from: path)
            #expect(
                report.notes[0].hasPrefix("Told to nobody: 2 items that came"),
                "\(report.notes)"
            )
            #expect(report.notes[0].contains("folder 'damaged'"))
        }
    }

    @Test(
        "what was sent and confirmed after the backup is known by its client id, and not sent again"
    )
    func sentSince() async throws {
        try await withAccount { account in
            let path = try await backedUp(account)
            let draft = OutgoingMessage(conversation: "c", body: "pay 100", clientID: "n1")
            _ = try await account.messages.send(draft)
            #expect(try await tellAll(account.messages) == ["send"])
            _ = try await account.app.restore("alice", from: path)
            let store = try MessageStore(try await account.app.session("alice"))
            let again = try await store.send(draft)
            #expect(!again.isNew && again.item == nil && again.message == "n1")
            #expect(try await tellAll(store).allSatisfy { !$0.hasPrefix("send") })
            // Another message under it is refused still.
            await #expect(throws: LockkeeperError.self) {
                try await store.send(
                    OutgoingMessage(conversation: "c", body: "pay 200", clientID: "n1")
                )
            }
        }
    }

    @Test("where the server refuses doubles a message is told again, as a repetition under its key")
    func repeated() async throws {
        try await withAccount(contract: ServerContract(refusesDoubles: true)) { account in
            let path = try await backedUp(account)
            let report = try await account.app.restore("alice", from: path)
            #expect(
                report.notes[0].hasPrefix("Held as unknown: 0 messages and 2"),
                "\(report.notes)"
            )
            let store = try MessageStore(try await account.app.session("alice"))
            #expect(try await tellAll(store) == ["send again", "recall again", "read again"])
        }
    }

    @Test("what waited to be shown is not shown again, and is withdrawn once it was read")
    func notifications() async throws {
        try await withAccount { account in
            let path = try await backedUp(account)
            let report = try await account.app.restore("alice", from: path)
            #expect(
                report.notes.last?.hasPrefix("Not shown again: 3 notifications") == true,
                "\(report.notes)"
            )
            let store = try MessageStore(try await account.app.session("alice"))
            #expect(try await store.effects().isEmpty)
            try await store.ingest([read(upTo: 4), message("m5", seq: 5)])
            #expect(
                try await store.effects().map { "\($0.kind.rawValue) \($0.message)" }
                    == ["withdraw m2", "withdraw m3", "withdraw m4", "notify m5"]
            )
        }
    }

    // A restored store gives numbers again that were given before.
    @Test("a new item under an old number has another key")
    func keys() async throws {
        try await withAccount { account in
            let path = "\(account.test.root)/backup.db"
            account.test.wallClock.set(milliseconds: 1_800_000_000_000)
            try await account.messages.ingest([message("m1", seq: 1)])
            _ = try await account.app.backUp("alice", to: path)
            var keys: [String] = []
            for _ in 1...2 {
                let store = try MessageStore(try await account.app.session("alice"))
                try await store.markRead("c", upTo: 1)
                keys += try await store.outbox().map { "\($0.id) \($0.key)" }
                account.test.wallClock.set(milliseconds: 1_800_000_001_000)
                _ = try await account.app.restore("alice", from: path)
            }
            #expect(Set(keys.map { $0.prefix(2) }).count == 1 && Set(keys).count == 2, "\(keys)")
        }
    }
}

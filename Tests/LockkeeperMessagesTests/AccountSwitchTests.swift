import Lockkeeper
import LockkeeperMessages
import LockkeeperTesting
import Testing

/// What field reports say goes wrong around account switches, with two accounts whose conversations
/// and messages have the same ids: what was mixed up would not be noticed by its name.
@Suite("Nothing of one account is lost or shown in another across switches (I-2, I-13)")
struct AccountSwitchTests {
    // B44: switching accounts wiped every account's history.
    @Test(
        "after A to B to A everything of both is as it was: messages, recalls, positions, cursors"
    )
    func nothingIsWiped() async throws {
        try await withTwoAccounts { account, alice, bob in
            let before = try await exports(alice, bob)
            let toBob = try await account.app.replaceAccount("alice", with: "bob")
            let toAlice = try await account.app.replaceAccount("bob", with: "alice")
            let again = try MessageStore(toAlice)
            #expect(try await again.unread() == 1)
            #expect(try await again.cursors() == ["inbox": "c-alice"])
            let read = try MessageStore(try await account.app.inspectionSession("bob"))
            #expect(try await exports(again, read) == before)
            #expect(toAlice.token.generation > toBob.token.generation)
        }
    }

    // B46: handles and screens of the previous account went on after the switch.
    @Test(
        "a store, a reader and a subscriber of A are refused once B is active, and see nothing of B"
    )
    func handlesEnd() async throws {
        try await withTwoAccounts { account, alice, _ in
            try await account.app.signOut("bob")
            let helper = try await account.process("helper")
            let start = try await helper.session.database.head()
            let feed = helper.session.changes(after: start).makeAsyncIterator()
            _ = try await alice.ingest([message("m9", seq: 9, "alice's last")])
            account.test.wallClock.set(milliseconds: 1_900_000_000_000)
            let bob = try MessageStore(
                try await account.app.replaceAccount("alice", with: "bob")
            )
            _ = try await bob.ingest([message("m9", seq: 9, "bob's")])

            // What was committed before the switch is told, and nothing after it.
            let last = try #require(try await feed.next())
            #expect(last.account == "alice" && last.generation == alice.session.token.generation)
            await expectSuperseded {
                while let range = try await feed.next() { Issue.record("\(range)") }
            }
            for store in [alice, helper] {
                await expectSuperseded { _ = try await store.timeline("c", limit: 10) }
                await expectSuperseded { _ = try await store.ingest([message("m10", seq: 10)]) }
                await expectSuperseded { _ = try await store.cursors() }
                let end = try #require(store.session.ended)
                #expect(end.millisecondsSince1970 == 1_900_000_000_000)
                let reason = "\(end.reason)"
                #expect(
                    reason.contains("generation \(store.session.token.generation)"),
                    "\(reason)"
                )
            }
            #expect(try await bob.shown().last == "m9:bob's")
        }
    }

    // B49: a helper that stayed alive across signing out and in used what it had cached.
    @Test("a helper that lives through signing out and in again is refused once, and goes on")
    func signedInAgain() async throws {
        try await withTwoAccounts { account, _, _ in
            let workspace = try await account.test.process("helper")
            let held = try MessageStore(try await workspace.session("alice"))
            try await account.app.signOut("alice")
            try await account.app.activate("alice")
            await expectSuperseded { _ = try await held.ingest([message("m7", seq: 7)]) }
            // No restart: the workspace gives the next session, and does not give the old one again.
            let next = try await workspace.session("alice")
            #expect(next.token.generation > held.session.token.generation)
            #expect(workspace.sessions(of: "alice").contains { $0 === next })
            let receipt = try await MessageStore(next).ingest([message("m7", seq: 7)])
            #expect(receipt.outcomes.inserted == 1)
            #expect(next.ended == nil)
        }
    }

    // B50: an event for an account that is not active was dropped, or counted on the active one. What
    // is shown here is that a write is refused to its sender and touches nothing; a packet is kept as a
    // file: DeliveryTests.
    @Test("events for an account that is not active, or unknown, are refused, and touch no other")
    func otherAccounts() async throws {
        try await withTwoAccounts { account, alice, _ in
            try await account.app.signOut("bob")
            let before = try await alice.exported(includingCursors: true)
            let helper = try await account.test.process("helper")
            await expect(.accountInactive) { _ = try await helper.session("bob") }
            await expect(.unknownAccount) { _ = try await helper.session("carol") }
            #expect(try await alice.exported(includingCursors: true) == before)

            // Sent while the switch runs: each is accepted by B or refused, and never lost.
            var accepted: [String] = []
            async let switched = account.app.replaceAccount("alice", with: "bob")
            var attempt = 0
            while accepted.count < 3 {
                attempt += 1
                let id = try MessageID("during-\(attempt)")
                do {
                    let store = try MessageStore(try await helper.session("bob"))
                    _ = try await store.ingest([message(id, seq: Int64(100 + attempt))])
                    accepted.append("\(id):text")
                } catch let error as LockkeeperError {
                    #expect([.accountInactive, .superseded].contains(error.code))
                }
            }
            let bob = try MessageStore(try await switched)
            #expect(try await bob.shown().filter { $0.hasPrefix("during") } == accepted)
            let left = try MessageStore(try await helper.inspectionSession("alice"))
            #expect(try await left.exported(includingCursors: true) == before)
        }
    }

    // B109, as far as locks and generations go: the day jumped, and everything expired or nothing did.
    @Test("jumps of the time of day end no wait, lend no right, and do not touch the order")
    func clockJumps() async throws {
        try await withTwoAccounts { account, alice, _ in
            let day: Int64 = 86_400_000
            let now: Int64 = 1_796_000_000_000
            var store = alice
            let first = try await alice.session.database.head()
            let jumps: [Int64] = [now - day, now + day, 0, 4_102_444_800_000]
            for (number, jump) in jumps.enumerated() {
                account.test.wallClock.set(milliseconds: jump)
                let gate = Gate()
                let holder = try await hold(store, until: gate)
                let helper = try await account.process("helper \(number)")
                let waiting = Task {
                    try await helper.ingest([
                        message(try MessageID("w\(number)"), seq: Int64(20 + number))
                    ])
                }
                account.test.wallClock.set(milliseconds: now)
                gate.open()
                _ = try await holder.value
                #expect(try await waiting.value.outcomes.inserted == 1)
                // The right to write is a number, not a time.
                let next = try await account.app.activate("alice")
                #expect(next.token.generation > store.session.token.generation)
                await expectSuperseded { _ = try await helper.ingest([message("x", seq: 99)]) }
                store = try MessageStore(next)
            }
            let ranges = try await store.session.ranges(after: first, commitCount: 4)
            #expect(ranges.map(\.first) == ranges.map(\.first).sorted())
            #expect(ranges.count == 4)
        }
    }

    // MARK: - Parts

    /// Two active accounts with equal conversation, message and stream ids, and different contents.
    private func withTwoAccounts(
        _ body: (TestAccount, _ alice: MessageStore, _ bob: MessageStore) async throws -> Void
    ) async throws {
        try await withAccount { account in
            let bob = try await account.another("bob")
            for store in [account.messages, bob] {
                let name = "\(store.session.token.account)"
                let events = [
                    message("m1", seq: 1, "\(name)'s first"), message("m2", seq: 2, "\(name)'s"),
                    recall("m2", version: 2), message("m3", seq: 3, "\(name)'s third"),
                    read(upTo: 2),
                ]
                let page = SyncPage(stream: "inbox", after: nil, next: try Cursor("c-\(name)"))
                _ = try await store.ingest(events, closing: page)
            }
            try await body(account, account.messages, bob)
        }
    }

    private func exports(_ stores: MessageStore...) async throws -> [[String]] {
        var exports: [[String]] = []
        for store in stores { exports.append(try await store.exported(includingCursors: true)) }
        return exports
    }

    /// Begins a write that stands inside its transaction until the gate opens.
    private func hold(
        _ store: MessageStore,
        until gate: Gate
    ) async throws -> Task<Void, any Error> {
        let database = store.session.database
        let task = Task {
            _ = try await database.write(durability: .committed) { _ in
                gate.arrive()
                gate.waitUntilOpen()
            }
        }
        await gate.arrived()
        return task
    }

    private func expectSuperseded(
        _ body: () async throws -> Void,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        await expect(.superseded, body, sourceLocation: sourceLocation)
    }
}

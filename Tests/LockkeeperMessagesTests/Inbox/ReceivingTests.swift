import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperTesting
import Testing

@Suite("Receiving: raw packets are durable at once, and applied in order once decoded (R-24)")
struct ReceivingTests {
    // B100: the same bad item was retried for ever, and those behind it never ran.
    @Test("of twenty good packets and an undecodable one the twenty are applied in order")
    func poison() async throws {
        try await withReceiver { test, app, helper in
            for number in 1...20 {
                if number == 8 { _ = try await helper.receive("undecodable") }
                _ = try await helper.receive("m\(number) \(number)")
            }
            let first = try await app.drainInbox(of: "alice")
            #expect(first.appliedCount == 20 && first.leftCount == 1 && first.obstacle == nil)
            #expect(try await helper.written() == (1...20).map { "m\($0)" })
            for attempt in 2...5 {
                #expect(try await app.drainInbox(of: "alice").leftCount == 1)
                let bad = try #require(try await app.inbox(of: "alice").first)
                #expect(bad.attemptCount == attempt && bad.parked == nil && bad.place == .row)
            }
            let last = try await app.drainInbox(of: "alice")
            #expect(last.parkedCount == 1 && last.leftCount == 0)
            let parked = try #require(try await app.inbox(of: "alice").first)
            #expect(parked.parked == "too-many-attempts" && parked.failure == "Undecodable")
            #expect(try await app.packet(parked.name, of: "alice") == Array("undecodable".utf8))
            let status = try #require(try await app.status().accounts.first)
            #expect(status.parkedPacketCount == 1 && status.waitingPacketCount == 0)

            #expect(try await app.retryPacket(parked.name, of: "alice"))
            #expect(try await !app.retryPacket(parked.name, of: "alice"))
            #expect(try await app.inbox(of: "alice").first?.parked == nil)
            #expect(try await app.dropPacket(parked.name, of: "alice"))
            #expect(try await !app.dropPacket(parked.name, of: "alice"))
            #expect(try await app.inbox(of: "alice").isEmpty)
        }
    }

    @Test("what is received is applied by whoever reads it: at once, on opening, by a host")
    func whoApplies() async throws {
        var limits = Limits()
        limits.slowPollInterval = .milliseconds(20)
        try await withReceiver(limits: limits) { test, app, helper in
            // By a session of its own process that decodes.
            let messages = try MessageStore(try await app.session("alice"))
            let received = try await messages.receive(Array("m1 1".utf8))
            #expect(received.packet.place == .row && received.received == nil)
            try await expectNothingWaits(app)
            #expect(try await messages.shown() == ["m1:text"])
            // By whoever opens the account.
            _ = try await helper.receive("m2 2")
            let next = try await test.process("next")
            let session = try await next.session("alice")
            try await expectNothingWaits(next)
            #expect(try await MessageStore(session).shown() == ["m1:text", "m2:text"])
            // By the next write of who reads it.
            _ = try await helper.receive("m3 3")
            try await messages.ingest([message("m4", seq: 4)])
            try await expectNothingWaits(app)
            // By a host, although nobody opens or writes anything.
            let host = try await app.serve()
            _ = try await helper.receive("m5 5")
            try await expectNothingWaits(helper.session.workspace)
            #expect(try await messages.shown().count == 5)
            await host.close()
        }
    }

    @Test("a program without the decoder leaves the app's packets without an attempt")
    func left() async throws {
        try await withReceiver { test, app, helper in
            _ = try await helper.receive("m1 1")
            for _ in 1...7 {
                let report = try await helper.session.workspace.drainInbox(of: "alice")
                #expect(report.leftCount == 1 && report.parkedCount == 0)
            }
            #expect(try await app.inbox(of: "alice").map(\.attemptCount) == [0])
            // Events are read by every program, and pass the app's packet by.
            let delivery = try await helper.session.workspace.deliver(
                [message("m2", seq: 2)],
                to: "alice",
                waitMax: .seconds(60)
            )
            guard case .stored = delivery else {
                Issue.record("not stored: \(delivery)")
                return
            }
            #expect(try await app.drainInbox(of: "alice").appliedCount == 1)
            #expect(try await helper.shown() == ["m1:text", "m2:text"])
        }
    }

    @Test("two processes that apply at once, again and again, apply each packet once and in order")
    func twoDrains() async throws {
        try await withReceiver { test, app, helper in
            let others = [try await test.process("one"), try await test.process("two")]
            for number in 1...60 { _ = try await helper.receive("m\(number) \(number)") }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for other in others + [app] {
                    group.addTask {
                        let report = try await other.drainInbox(of: "alice")
                        #expect(report.obstacle == nil && report.parkedCount == 0)
                        return report.appliedCount
                    }
                }
                let sum = try await group.reduce(0, +)
                // Opening applies as well, on a thread of its own.
                #expect(sum <= 60)
            }
            try await expectNothingWaits(app)
            #expect(try await helper.written() == (1...60).map { "m\($0)" })
        }
    }

    @Test("a delivered packet of the app's is durable before it is decoded, whatever is active")
    func delivered() async throws {
        try await withReceiver { test, app, helper in
            let alice = try await app.deliver(
                Array("m1 1".utf8),
                closing: SyncPage(stream: "inbox", after: nil, next: "a1"),
                to: "alice",
                waitMax: .seconds(60)
            )
            guard case .kept(let row) = alice, row.place == .row else {
                Issue.record("not a row: \(alice)")
                return
            }
            #expect(row.isEventLines == false && row.page?.next == "a1")
            let bob = try await app.deliver(Array("m2 2".utf8), to: "bob", waitMax: .seconds(60))
            guard case .kept(let file) = bob, file.place == .file else {
                Issue.record("not a file: \(bob)")
                return
            }
            #expect(file.reason == "accountInactive" && file.isEventLines == false)
            try await expectNothingWaits(app)
            #expect(try await helper.shown() == ["m1:text"])
            #expect(try await helper.cursors() == ["inbox": "a1"])
            let session = try await app.activate("bob")
            #expect(try await app.inbox(of: "bob").isEmpty)
            #expect(try await MessageStore(session).shown() == ["m2:text"])
        }
    }

    @Test("at its bounds the inbox refuses one more row, and keeps what it has")
    func bounds() async throws {
        var limits = Limits()
        limits.inboxPacketCountMax = 3
        try await withReceiver(limits: limits) { _, app, helper in
            for _ in 1...3 { _ = try await helper.receive("undecodable") }
            await expect(.inboxFull) { _ = try await helper.receive("one more") }
            await expect(.invalidInput) { _ = try await helper.receive("") }
            #expect(try await app.inbox(of: "alice").count == 3)
        }
    }

    @Test("a session closes while packets wait, and the next one goes on with them")
    func closing() async throws {
        try await withReceiver { test, app, helper in
            _ = try await helper.receive("slow")
            for number in 1...40 { _ = try await helper.receive("m\(number) \(number)") }
            let next = try await test.process("next")
            let session = try await next.session("alice")
            await SlowDecoding.arrived()
            async let closed: Void = session.close()
            SlowDecoding.open()
            await closed
            _ = try await app.drainInbox(of: "alice")
            #expect(try await app.inbox(of: "alice").isEmpty)
            #expect(try await helper.written().count == 41)
        }
    }
}

@Suite("Two cursors: up to where a stream is received, and up to where it is processed (R-24, I-4)")
struct StreamProgressTests {
    private func page(_ after: Cursor?, _ next: Cursor) -> SyncPage {
        SyncPage(stream: "inbox", after: after, next: next)
    }

    private func state(_ messages: MessageStore) async throws -> [Cursor?] {
        let progress = try await messages.progress().first { $0.stream == "inbox" }
        return [progress?.processed, progress?.received]
    }

    @Test("a page that waits in the inbox is received and not processed; both meet at the end")
    func rows() async throws {
        try await withReceiver { _, app, helper in
            #expect(try await helper.progress().isEmpty)
            let first = try await helper.receive("m1 1", closing: page(nil, "p1"))
            #expect(first.received == "p1")
            // One that comes early is held, and moves nothing until its predecessor is there.
            #expect(try await helper.receive("m3 3", closing: page("p2", "p3")).received == "p1")
            #expect(try await helper.receive("m2 2", closing: page("p1", "p2")).received == "p3")
            #expect(try await state(helper) == [nil, "p3"])
            // Not acknowledged as processed: the cursors are those of the messages.
            #expect(try await helper.cursors().isEmpty)
            _ = try await app.drainInbox(of: "alice")
            #expect(try await state(helper) == ["p3", "p3"])
            #expect(try await helper.cursors() == ["inbox": "p3"])
        }
    }

    @Test("a parked page holds the one cursor and not the other; dropped it is asked for again")
    func parked() async throws {
        try await withReceiver { _, app, helper in
            _ = try await helper.receive("m1 1", closing: page(nil, "p1"))
            let bad = try await helper.receive("undecodable", closing: page("p1", "p2")).packet
            _ = try await helper.receive("m3 3", closing: page("p2", "p3"))
            for _ in 1...6 { _ = try await app.drainInbox(of: "alice") }
            #expect(try await app.inbox(of: "alice").map(\.parked) == ["too-many-attempts"])
            #expect(try await state(helper) == ["p1", "p3"])
            #expect(try await helper.shown() == ["m1:text", "m3:text"])
            #expect(try await app.dropPacket(bad.name, of: "alice"))
            #expect(try await state(helper) == ["p1", "p1"])
            // The server gives it again, and the page behind it, which was processed, follows.
            _ = try await helper.receive("m2 2", closing: page("p1", "p2"))
            _ = try await app.drainInbox(of: "alice")
            #expect(try await state(helper) == ["p3", "p3"])
        }
    }

    @Test("a packet that says another page than it was received as is parked and names that")
    func contradiction() async throws {
        try await withReceiver { _, app, helper in
            _ = try await helper.receive("page nothing else", closing: page(nil, "p1"))
            for _ in 1...6 { _ = try await app.drainInbox(of: "alice") }
            let parked = try await app.inbox(of: "alice")
            #expect(parked.map(\.failure) == ["PacketContradictsItsPage"])
            #expect(try await helper.cursors().isEmpty)
        }
    }

    @Test("pages in files count as received, those among event lines too")
    func files() async throws {
        try await withReceiver { _, app, helper in
            let session = try await app.activate("bob")
            let bob = try MessageStore(session)
            try await bob.ingest([], closing: page(nil, "p1"))
            try await app.signOut("bob")
            let workspace = helper.session.workspace
            func deliver(_ events: [Event], _ page: SyncPage?) async throws {
                let delivery = try await workspace.deliver(
                    events,
                    closing: page,
                    to: "bob",
                    waitMax: .seconds(60)
                )
                guard case .kept = delivery else {
                    Issue.record("not kept: \(delivery)")
                    return
                }
            }
            try await deliver([message("m2", seq: 2)], page("p1", "p2"))
            try await deliver([message("m3", seq: 3), .page(page("p2", "p3"))], nil)
            try await deliver([], page("p3", "p4"))
            let retired = try MessageStore(try await app.inspectionSession("bob"))
            #expect(try await state(retired) == ["p1", "p4"])
            let again = try MessageStore(try await app.activate("bob"))
            #expect(try await state(again) == ["p4", "p4"])
        }
    }

    // B59: a missing cursor was treated as "nothing to sync".
    @Test("a stream without a cursor says that it needs a full sync, whatever rows there are")
    func missingCursor() async throws {
        var contract = ServerContract()
        contract.streams["inbox"] = StreamContract()
        try await withAccount(contract: contract) { account in
            let messages = account.messages
            try await messages.ingest([message("m1", seq: 1)], closing: page(nil, "p1"))
            #expect(try await state(messages) == ["p1", "p1"])
            _ = try await account.session.database.submit(durability: .durable, waitMax: nil) {
                connection,
                _ in
                for table in ["lk_cursor", "lk_edge"] {
                    let delete = try connection.prepare("DELETE FROM \(table)")
                    try delete.run()
                }
            }
            #expect(try await messages.cursors().isEmpty)
            let progress = try #require(try await messages.progress().first)
            #expect(progress.stream == "inbox" && progress.processed == nil)
            #expect(progress.received == nil)
            // The full sync begins a new row of pages, over rows that are there already.
            let receipt = try await messages.ingest(
                [message("m1", seq: 1)],
                closing: page(nil, "p9")
            )
            #expect(receipt.cursors == ["inbox": "p9"] && receipt.outcomes.duplicate == 1)
        }
    }

    // B60: the newest message that is held was taken for the place to sync from.
    @Test("a live message far ahead moves no cursor: what lies between is asked for")
    func liveAhead() async throws {
        try await withAccount { account in
            let messages = account.messages
            try await messages.ingest([message("m100", seq: 100)], closing: page(nil, "100"))
            let live = try await messages.ingest([message("m130", seq: 130)])
            #expect(live.cursors.isEmpty)
            #expect(try await state(messages) == ["100", "100"])
            let missed = try (101...129).map { message(try MessageID("m\($0)"), seq: Int64($0)) }
            let receipt = try await messages.ingest(missed, closing: page("100", "130"))
            #expect(receipt.outcomes.inserted == 29)
            #expect(try await state(messages) == ["130", "130"])
        }
    }
}

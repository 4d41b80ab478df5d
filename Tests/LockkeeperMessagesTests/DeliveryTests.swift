import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperTesting
import Testing

@Suite(
    "Delivering: stored, or kept for the account it is for, or refused; durable either way (I-6)",
    .serialized
)
struct DeliveryTests {
    // B50: an event for an account that is not active was dropped, or counted on the active one.
    @Test(
        "packets for A, B that is not active, and C that is unknown: stored, kept, refused"
    )
    func threeAccounts() async throws {
        try await withAccount { account in
            let bob = try await account.another("bob")
            try await account.app.signOut("bob")
            let before = try await account.messages.exported(includingCursors: true)
            let helper = try await account.test.process("push")
            let page = SyncPage(stream: "inbox", after: nil, next: "b1")
            let events = [message("m1", seq: 1, "for bob"), message("m2", seq: 2)]
            // As long as a loaded machine may take to say why not.
            let patience = Duration.seconds(60)
            let kept = try await helper.deliver(
                events,
                closing: page,
                to: "bob",
                waitMax: patience
            )
            guard case .kept(let packet) = kept else {
                Issue.record("not kept: \(kept)")
                return
            }
            #expect(packet.reason == "accountInactive")
            #expect(try await account.app.inbox(of: "bob") == [packet])
            await expect(.unknownAccount) { _ = try await helper.deliver(events, to: "carol") }
            #expect(try await account.messages.exported(includingCursors: true) == before)

            let stored = try await helper.deliver(
                [message("m1", seq: 1, "for alice")],
                to: "alice",
                waitMax: patience
            )
            guard case .stored(let receipt) = stored else {
                Issue.record("not stored: \(stored)")
                return
            }
            #expect(receipt.outcomes.inserted == 1 && receipt.durability == .durable)

            // Applied with the activation itself; nothing need be sent or opened again.
            let session = try await account.app.replaceAccount("alice", with: "bob")
            #expect(try await account.app.inbox(of: "bob").isEmpty)
            let now = try MessageStore(session)
            #expect(try await now.shown() == ["m1:for bob", "m2:text"])
            #expect(try await now.cursors() == ["inbox": "b1"])
            let alice = try MessageStore(try await account.app.inspectionSession("alice"))
            #expect(try await alice.shown() == ["m1:for alice"])
            _ = bob
        }
    }

    @Test("a packet for a database that somebody holds is kept at the deadline and applied after")
    func busy() async throws {
        try await withAccount { account in
            let gate = Gate()
            let database = account.session.database
            let holder = Task {
                try await database.write { _ in
                    gate.arrive()
                    gate.waitUntilOpen()
                }
            }
            await gate.arrived()
            let helper = try await account.test.process("push")
            let delivery = try await helper.deliver(
                [message("m1", seq: 1)],
                to: "alice",
                waitMax: .milliseconds(50)
            )
            guard case .kept(let packet) = delivery else {
                Issue.record("not kept: \(delivery)")
                return
            }
            #expect(packet.reason == "busy")
            gate.open()
            _ = try await holder.value
            // Whoever was in the way applies it.
            try await expectNothingWaits(helper)
            #expect(try await account.messages.shown() == ["m1:text"])
        }
    }

    // A foreign program looks for no packets when it lets go: whoever kept one looks once more.
    @Test(
        "a packet that was kept because of a foreign program is applied once that has let go",
        .enabled(
            if: TestKeys.whereEncrypted() == nil,
            "in a build with encryption a foreign program has no key"
        )
    )
    func secondLook() async throws {
        try await withAccount { account in
            let path = account.test.root + "/accounts/alice"
            let helper = try await account.test.process("push")
            let isHeld = Gate()
            let holder = try WorkerThread.start(name: "foreign") {
                guard let connection = try? foreignConnection(path + "/messages-1.db"),
                    (try? connection.begin(.immediate)) != nil
                else {
                    Issue.record("the foreign program has no lock")
                    return isHeld.arrive()
                }
                isHeld.arrive()
                let end = Deadline(after: .seconds(20), from: SystemClock().now())
                while (try? FileSystem.list(path + "/inbox/waiting"))?.isEmpty != false {
                    if end.hasPassed(at: SystemClock().now()) { break }
                    SystemClock().sleep(
                        until: Deadline(after: .milliseconds(1), from: SystemClock().now())
                    )
                }
                connection.rollBack()
                try? connection.close()
            }
            await isHeld.arrived()
            _ = try await helper.deliver(
                [message("m1", seq: 1)],
                to: "alice",
                waitMax: .milliseconds(50)
            )
            try await expectNothingWaits(helper)
            #expect(try await account.messages.shown() == ["m1:text"])
            holder.join()
        }
    }

    @Test(
        "a store of a newer program is not touched: the packet waits for a program that knows it",
        .enabled(
            if: TestKeys.whereEncrypted() == nil,
            "in a build with encryption a foreign program has no key"
        )
    )
    func newerSchema() async throws {
        try await withAccount { account in
            let path = account.test.root + "/accounts/alice/messages-1.db"
            func change(_ sql: String) throws {
                let connection = try foreignConnection(path)
                try connection.execute(sql)
                try connection.close()
            }
            // One that has it open, and is left behind while it runs.
            let running = try await account.test.process("running")
            let session = try await running.session("alice")
            _ = try await session.database.head()
            try change("INSERT INTO lk_migration VALUES ('messages', '999_later', x'00', 0)")
            let left = try await running.deliver(
                [message("m2", seq: 2)],
                to: "alice",
                waitMax: .seconds(60)
            )
            guard case .kept(let other) = left else {
                Issue.record("not kept: \(left)")
                return
            }
            #expect(other.reason == "newerSchema")
            await running.close()
            let bytes = try FileSystem.contents(of: path)
            let helper = try await account.test.process("push")
            let delivery = try await helper.deliver(
                [message("m1", seq: 1)],
                to: "alice",
                waitMax: .seconds(60)
            )
            guard case .kept(let packet) = delivery else {
                Issue.record("not kept: \(delivery)")
                return
            }
            #expect(packet.reason == "newerSchema")
            let kept = Set(try await helper.inboxFiles(of: "alice").map(\.name))
            #expect(kept == [other.name, packet.name])
            #expect(try FileSystem.contents(of: path) == bytes)
            try change("DELETE FROM lk_migration WHERE name = '999_later'")
            _ = try await helper.session("alice")
            #expect(try await account.messages.shown() == ["m1:text", "m2:text"])
        }
    }

    @Test(
        "lines that cannot be read, and events without a page, are kept and merged like any other"
    )
    func rawPacket() async throws {
        try await withAccount { account in
            try await account.app.signOut("alice")
            let packet = """
                no event
                {"conversation":"c","id":"m1","seq":1,"sender":"bob","sent_at":"2026-01-01T00:00:00Z",\
                "body":"text"}
                """
            _ = try await account.app.deliver(Array(packet.utf8), to: "alice")
            let store = try MessageStore(try await account.app.activate("alice"))
            #expect(try await store.shown() == ["m1:text"])
            #expect(try await store.quarantine().map(\.reason) == ["unreadable"])
        }
    }

    @Test("an empty packet and one past the bound are the caller's error, and are not kept")
    func bounds() async throws {
        var limits = Limits()
        limits.packetByteCountMax = 100
        try await withAccount(limits: limits) { account in
            await expect(.invalidInput) {
                _ = try await account.app.deliver([UInt8](), to: "alice")
            }
            await expect(.invalidInput) {
                _ = try await account.app.deliver([UInt8](repeating: 32, count: 101), to: "alice")
            }
            let kept = try await account.app.inbox(of: "alice")
            #expect(kept.isEmpty)
        }
    }

    // what was accepted for a superseded generation is the caller's again, and nobody else's.
    @Test(
        "what was queued for A when it was switched to B comes back with the reason, and is not in B"
    )
    func queuedWork() async throws {
        try await withAccount { account in
            _ = try await account.another("bob")
            try await account.app.signOut("bob")
            let helper = try await account.process("push")
            let ingester = try Ingester(helper) { _ in }
            // The batches stand in line behind this while the account is switched.
            let gate = Gate()
            let holder = Task {
                try await helper.session.database.write { _ in
                    gate.arrive()
                    gate.waitUntilOpen()
                }
            }
            await gate.arrived()
            for number in 1...250 {
                try await ingester.submit(
                    message(MessageID("m\(number)"), seq: Int64(number)),
                    mark: number
                )
            }
            async let switched = account.app.replaceAccount("alice", with: "bob")
            // The switch stands at WRITER behind the holder.
            let look = try await account.test.process("look")
            while try await !look.status().accounts.flatMap(\.processes).contains(where: {
                $0.name == "app" && $0.activity == "waiting"
            }) { await Task.yield() }
            gate.open()
            _ = try await holder.value
            let bob = try MessageStore(try await switched)
            let summary = await ingester.finish()
            let alice = try MessageStore(try await account.app.inspectionSession("alice"))
            let stored = try await alice.timeline("c", limit: 1_000).count
            #expect(stored == summary.storedCount && stored + summary.returnedCount == 250)
            #expect(try await bob.shown().isEmpty)
            if summary.returnedCount > 0 {
                let failure = try #require(summary.failure as? LockkeeperError)
                #expect(failure.code == .superseded)
                #expect(summary.returned.map(\.mark) == Array((stored + 1)...250))
                // What came back can be delivered: it waits for alice.
                let events = summary.returned.compactMap(\.event)
                #expect(events.count == summary.returnedCount)
                _ = try await account.app.deliver(events, to: "alice")
            }
            let again = try MessageStore(try await account.app.replaceAccount("bob", with: "alice"))
            #expect(try await again.timeline("c", limit: 1_000).count == 250)
        }
    }
}

/// A connection as a program has it that knows nothing of Lockkeeper.
private func foreignConnection(_ path: String) throws -> Connection {
    let clock = SystemClock()
    let connection = try Connection(
        path: path,
        mode: .readWrite,
        clock: clock,
        busyDeadline: Deadline(after: .seconds(10), from: clock.now()),
        jitterSeed: 1
    )
    try connection.enable(.noCheckpointOnClose)
    return connection
}

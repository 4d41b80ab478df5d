import Lockkeeper
import LockkeeperMessages
import LockkeeperTesting
import Testing

@Suite("What an app's tests are given (R-61)")
struct TestingProductTests {
    private func withAlice(
        faults: Faults? = nil,
        _ body: (TestWorkspace, MessageStore) async throws -> Void
    ) async throws {
        try await TestWorkspace.with(faults: faults) { test in
            let app = try await test.process("app")
            try await app.addAccount("alice", ownID: Array("u1".utf8))
            try await body(test, try MessageStore(await app.activate("alice")))
        }
    }

    private var traffic: [Event] {
        var shape = Traffic.Shape()
        shape.messageCount = 300
        return Traffic(seed: 7, shape: shape).events
    }

    @Test(
        "redelivery, disorder within pages, lost answers and an expired cursor, and the store converges",
        arguments: [3, 4] as [UInt64]
    )
    func converges(seed: UInt64) async throws {
        try await withAlice { _, store in
            var trouble = FakeServer.Trouble()
            trouble.redeliveriesPerThousand = 300
            trouble.shufflesPages = true
            trouble.lostAnswersPerThousand = 500
            let server = FakeServer(trouble: trouble, seed: seed)
            server.publish(traffic)
            try await server.sync(store)
            for number in 0..<10 {
                let draft = OutgoingMessage(conversation: "room-1", body: "own \(number)")
                _ = try await store.send(draft)
            }
            try await server.takeOutbox(of: store)
            // An answer was lost, or the seed shows nothing.
            #expect(try await store.outbox().isEmpty == false)
            server.expireCursors()
            try await server.sync(store)
            try await expectConverges(store, with: server)
        }
    }

    @Test("a message that the server has not sent, one too many and one unsent are told")
    func diverges() async throws {
        try await withAlice { _, store in
            let server = FakeServer()
            server.publish([message("m1", seq: 1)])
            try await store.ingest([message("m2", seq: 2)])
            _ = try await store.send(OutgoingMessage(conversation: "c", body: "unsent"))
            let divergence = await #expect(throws: Divergence.self) {
                try await expectConverges(store, with: server)
            }
            #expect(divergence?.missing.contains { $0.contains("m1") } == true)
            #expect(divergence?.unexpected.contains { $0.contains("m2") } == true)
            #expect(divergence?.outboxCount == 1)
        }
    }

    @Test("a message that comes twice is one, and refused where the server refuses doubles")
    func doubles() async throws {
        try await withAlice { _, store in
            var trouble = FakeServer.Trouble()
            trouble.lostAnswersPerThousand = 1000
            let server = FakeServer(trouble: trouble)
            _ = try await store.send(OutgoingMessage(conversation: "c", body: "x"))
            let item = try #require(try await store.outbox().first)
            #expect(throws: FakeServer.Refusal.noAnswer) { try server.send(item) }
            let known = try server.send(item)
            #expect(known.sequence == 1)
            server.trouble.refusesDoubles = true
            #expect(throws: FakeServer.Refusal.alreadySent(known)) { try server.send(item) }
            #expect(server.events.count == 1)
            try await server.takeOutbox(of: store)
            try await server.sync(store)
            try await expectConverges(store, with: server)
        }
    }

    @Test("a full disk at a commit is told once, and the same page is stored afterwards")
    func fullDisk() async throws {
        let faults = Faults()
        try await withAlice(faults: faults) { _, store in
            let server = FakeServer()
            server.publish(traffic)
            faults.fail(.commit, .diskFull)
            let error = await #expect(throws: LockkeeperError.self) {
                try await server.sync(store)
            }
            #expect(error?.code == .diskFull)
            try await server.sync(store)
            try await expectConverges(store, with: server)
        }
    }

    @Test("a writer that stands in its commit holds others up until it goes on")
    func standsStill() async throws {
        let faults = Faults()
        try await withAlice(faults: faults) { test, store in
            let other = try await test.process("helper").session("alice")
            let before = faults.count(of: .commit)
            faults.stop(at: .commit)
            async let standing = store.ingest([message("m1", seq: 1)])
            #expect(try await faults.awaitStop())
            let error = await #expect(throws: LockkeeperError.self) {
                try await MessageStore(other).ingest(
                    [message("m2", seq: 2)],
                    waitMax: .milliseconds(50)
                )
            }
            #expect(error?.code == .busy)
            faults.resume()
            _ = try await standing
            #expect(faults.count(of: .commit) > before)
        }
    }
}

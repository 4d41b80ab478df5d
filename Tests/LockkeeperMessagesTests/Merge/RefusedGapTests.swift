import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperTesting
import Testing

@Suite("Gaps that are refused, pages in parts, live events beside pages (M-12, R-11)")
struct RefusedGapTests {
    private func page(_ after: Cursor?, _ next: Cursor) -> SyncPage {
        SyncPage(stream: "inbox", after: after, next: next)
    }

    @Test("a page among the events that would wait is refused like the one that they make up")
    func pageAmongEvents() async throws {
        try await withAccount { account in
            let store = account.messages
            await expect(.gap) {
                try await store.ingest(
                    [message("m1", seq: 1), .page(page("c1", "c2"))],
                    onGap: .refuse
                )
            }
            let (shown, waiting) = (try await store.shown(), try await store.waitingPages())
            #expect(shown == [] && waiting.isEmpty)
        }
    }

    @Test("a page whose predecessor comes with its events is taken")
    func predecessorAmongEvents() async throws {
        try await withAccount { account in
            let receipt = try await account.messages.ingest(
                [.page(page("c1", "c2")), .page(page(nil, "c1"))],
                closing: page("c2", "c3"),
                onGap: .refuse
            )
            #expect(receipt.cursors == ["inbox": "c3"] && receipt.gaps.isEmpty)
        }
    }

    @Test("streams are apart: each has its cursor, its edges and its gaps")
    func streams() async throws {
        try await withAccount { account in
            let store = account.messages
            let other = SyncPage(stream: "history", after: "c1", next: "c2")
            let receipt = try await store.ingest([.page(page(nil, "c1")), .page(other)])
            #expect(receipt.cursors == ["inbox": "c1", "history": nil])
            #expect(receipt.gaps.map(\.stream) == ["history"])
            let progress = try await store.progress()
            #expect(progress.map(\.stream) == ["history", "inbox"])
            #expect(progress.map(\.waitingPageCount) == [1, 0])
            #expect(progress.map(\.processed) == [nil, "c1"])
            #expect(progress.map(\.received) == [nil, "c1"])
        }
    }

    // history and live events come at the same time, and some of them say the same.
    @Test(
        "a page in many transactions and live events beside it end as if one had come after another"
    )
    func beside() async throws {
        try await withAccount { account in
            let helper = try await account.process("helper")
            let count = 600
            func event(_ number: Int) throws -> Event {
                message(try MessageID("m\(number)"), seq: Int64(number))
            }
            let history = try (1...count).map(event)
            async let closed = account.messages.ingest(history, closing: page(nil, "c1"))
            var inserted = 0
            for number in stride(from: count + 20, through: 1, by: -20) {
                let receipt = try await helper.ingest([event(number)])
                inserted += receipt.outcomes.inserted
                #expect(receipt.cursors.isEmpty)
            }
            let receipt = try await closed
            #expect(receipt.cursors == ["inbox": "c1"])
            #expect(receipt.outcomes.inserted + inserted == count + 1)
            #expect(try await helper.timeline("c", limit: 1_000).count == count + 1)
            #expect(try await helper.cursors() == ["inbox": "c1"])
        }
    }
}

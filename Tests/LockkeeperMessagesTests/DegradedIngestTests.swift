import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperTesting
import Testing

@Suite("While the log is degraded pages and history slow down before what somebody waits for")
struct DegradedIngestTests {
    /// A store whose log counts as degraded from its first commit on, with one of the classes slow.
    private func withSlow(
        _ slow: AdmissionClass,
        _ body: (TestAccount) async throws -> Void
    ) async throws {
        var limits = Limits()
        limits.logByteCountDegraded = 4_096
        limits.degradedBackfillPause = slow == .backfill ? Self.pause : .zero
        limits.degradedLivePause = slow == .live ? Self.pause : .zero
        try await withAccount(limits: limits) { account in
            _ = try await account.messages.ingest([message("first", seq: 1)])
            try await body(account)
        }
    }

    // Only that one waits is asserted, and that is no shorter on a busy machine.
    private static let pause = Duration.milliseconds(60)

    private func time(_ body: () async throws -> Void) async throws -> Duration {
        let clock = SystemClock()
        let began = clock.now()
        try await body()
        return clock.now().duration(since: began)
    }

    @Test(
        "pages are backfill, events without a page are live",
        arguments: [AdmissionClass.live, .backfill]
    )
    func classes(slow: AdmissionClass) async throws {
        try await withSlow(slow) { account in
            let duration = try await time {
                for number in 2...5 {
                    let after: Cursor? = try number == 2 ? nil : Cursor("p\(number - 1)")
                    _ = try await account.messages.ingest(
                        [message(MessageID("m\(number)"), seq: Int64(number))],
                        closing: slow == .live
                            ? nil : try page(after, Cursor("p\(number)"))
                    )
                }
            }
            #expect(duration >= Self.pause * 3)
        }
    }

    @Test("an ingester's batches are of the class that it was made with, and none is lost over it")
    func ingester() async throws {
        try await withSlow(.backfill) { account in
            let duration = try await time {
                let ingester = try Ingester(
                    account.messages,
                    admission: .backfill,
                    onStored: { _ in }
                )
                for number in 2...5 {
                    try await ingester.submit(
                        message(MessageID("m\(number)"), seq: Int64(number)),
                        commitsAtOnce: true
                    )
                    // Each stands in a batch of its own.
                    while try await account.messages.shown().count < number {}
                }
                let summary = await ingester.finish()
                #expect(summary.storedCount == 4 && summary.failure == nil)
            }
            #expect(duration >= Self.pause * 3)
        }
    }
}

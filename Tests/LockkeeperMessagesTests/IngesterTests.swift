import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperTesting
import Testing

@Suite("The ingester: a stream of events in batches")
struct IngesterTests {
    private typealias Receipts = Collector<Ingester.Stored>

    @Test(
        "receipts come in the order of the events and cover each of them once",
        arguments: [Durability.durable, .committed]
    )
    func order(durability: Durability) async throws {
        try await withAccount { account in
            let receipts = Receipts()
            let ingester = try Ingester(
                account.messages,
                durability: durability,
                onStored: receipts.append
            )
            // Others of the same process stand in the line between its batches.
            async let others: Void = writeBeside(account, count: 50)
            for number in 1...2_000 {
                try await ingester.submit(
                    message(MessageID("m\(number)"), seq: Int64(number)),
                    mark: number
                )
            }
            let summary = await ingester.finish()
            try await others
            #expect(summary.storedCount == 2_000 && summary.returnedCount == 0)
            #expect(summary.failure == nil)
            var next = 1
            for stored in receipts.values {
                #expect(stored.marks.lowerBound == next)
                #expect(stored.receipt.outcomes.inserted == stored.marks.count)
                #expect(stored.receipt.durability == durability)
                next = stored.marks.upperBound + 1
            }
            #expect(next == 2_001)
            let commits = receipts.values.compactMap(\.receipt.commit)
            #expect(commits == commits.sorted() && commits.count == receipts.values.count)
        }
    }

    // the clock of a batch is that of its oldest event; nothing else has to come.
    @Test("a batch that stays small is stored once its oldest event has the batch's age")
    func age() async throws {
        var limits = Limits()
        limits.batchAgeMax = .milliseconds(20)
        try await withAccount(limits: limits) { account in
            let (stored, continuation) = AsyncStream.makeStream(of: Ingester.Stored.self)
            let ingester = try Ingester(account.messages) { continuation.yield($0) }
            let clock = ContinuousClock()
            let start = clock.now
            try await ingester.submit(message("m1", seq: 1))
            try await ingester.submit(message("m2", seq: 2))
            let first = await stored.first { _ in true }
            #expect(first?.receipt.outcomes.inserted == 2)
            #expect(clock.now - start >= limits.batchAgeMax)
            // A class that cannot wait does not.
            try await ingester.submit(message("m3", seq: 3), commitsAtOnce: true)
            #expect(await stored.first { _ in true }?.receipt.outcomes.inserted == 1)
            #expect(await ingester.finish().storedCount == 3)
        }
    }

    // I-2, I-13, R-7: nothing is dropped and nothing is claimed.
    @Test(
        "superseded in the middle, it has stored some events and gives all the others back"
    )
    func superseded() async throws {
        try await withAccount { account in
            let store = try await account.process("helper")
            let receipts = Receipts()
            let ingester = try Ingester(store, onStored: receipts.append)
            let app = account.app
            var accepted = 0
            var refusal: (any Error)?
            for number in 1...5_000 {
                if number == 1_000 { try await app.activate("alice") }
                do {
                    try await ingester.submit(message(MessageID("m\(number)"), seq: Int64(number)))
                    accepted += 1
                } catch {
                    refusal = error
                    break
                }
            }
            let summary = await ingester.finish()
            #expect((summary.failure as? LockkeeperError)?.code == .superseded)
            // Who submits after the failure is told the same.
            if let refusal { #expect((refusal as? LockkeeperError)?.code == .superseded) }
            #expect(summary.storedCount + summary.returnedCount == accepted)
            #expect(summary.returnedCount > 0)
            let inserted = receipts.values.map(\.receipt.outcomes.inserted).reduce(0, +)
            #expect(inserted == summary.storedCount)
            // What is there is what was acknowledged.
            let again = try MessageStore(try await app.session("alice"))
            #expect(try await again.timeline("c", limit: 10_000).count == summary.storedCount)
            await #expect(throws: LockkeeperError.self) {
                try await ingester.submit(message("late", seq: 9_999))
            }
        }
    }

    // I-9
    @Test("a producer that is faster than the store waits while the queue stands at its bound")
    func bounded() async throws {
        var limits = Limits()
        limits.queueEventCountMax = 20
        limits.batchEventCountMax = 10
        limits.admissionWaitMax = .seconds(600)
        try await withAccount(limits: limits) { account in
            let ingester = try Ingester(account.messages, durability: .committed) { _ in }
            let gate = Gate()
            let holder = Task {
                try await account.session.database.write { _ in
                    gate.arrive()
                    gate.waitUntilOpen()
                }
            }
            await gate.arrived()
            let submitted = Collector<Int>()
            let producer = Task {
                for number in 1...100 {
                    try await ingester.submit(message(MessageID("m\(number)"), seq: Int64(number)))
                    submitted.append(number)
                    if number == 20 { gate.arrive() }
                }
            }
            await gate.arrived()
            // One that cannot be taken waits, and leaves when its task is cancelled.
            let impatient = Task { try await ingester.submit(message("x", seq: 999)) }
            impatient.cancel()
            await #expect(throws: CancellationError.self) { try await impatient.value }
            #expect(submitted.values.count == 20)
            gate.open()
            _ = try await holder.value
            try await producer.value
            #expect(await ingester.finish().storedCount == 100)
        }
    }

    @Test("an event larger than the whole queue is refused, and one after the end as well")
    func refused() async throws {
        var limits = Limits()
        limits.queueByteCountMax = 1_000
        try await withAccount(limits: limits) { account in
            let ingester = try Ingester(account.messages) { _ in }
            let large = String(repeating: "x", count: 2_000)
            let tooLarge = await #expect(throws: LockkeeperError.self) {
                try await ingester.submit(message("m1", seq: 1, large))
            }
            #expect(tooLarge?.code == .invalidInput)
            #expect(await ingester.finish().storedCount == 0)
            let late = await #expect(throws: LockkeeperError.self) {
                try await ingester.submit(message("m2", seq: 2))
            }
            #expect(late?.code == .closed)
        }
    }

    private func writeBeside(_ account: TestAccount, count: Int) async throws {
        for number in 0..<count {
            try await account.messages.ingest([
                message(try MessageID("o\(number)"), seq: Int64(number + 1), in: "other")
            ])
        }
    }
}

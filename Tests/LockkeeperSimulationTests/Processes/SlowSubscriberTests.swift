import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

extension RealProcesses {
    // B12: what an app does when it hears of a commit is done while nobody stands in the turnstile.
    @Suite("Slow callbacks hold up no other process (B12)")
    struct SlowSubscriberTests {
        @Test("a subscriber that does not return keeps no process from committing")
        func feed() async throws {
            try await SharedEntries.with { entries in
                let start = try await entries.alice.database.head()
                let (mayReturn, isCalled) = (Monitor(false), Monitor(false))
                let subscriber = Task {
                    for try await _ in entries.alice.changes(after: start) {
                        try await onOwnThread {
                            isCalled.withLock { $0 = true }
                            isCalled.broadcast()
                            _ = mayReturn.wait(until: patience()) { $0 ? true : nil }
                        }
                        break
                    }
                }
                try await entries.insert(1)
                try await onOwnThread {
                    #expect(isCalled.wait(until: patience()) { $0 ? true : nil } == true)
                    let processes = try ["one", "two"].map {
                        try LineProcess.account(entries.root, $0)
                    }
                    for (number, process) in processes.enumerated() {
                        process.tell("insert \(number * 100 + 2) \(number * 100 + 11)")
                    }
                    for process in processes { #expect(try process.hear() == "inserted 10") }
                }
                try await entries.insert(300, durability: .durable)
                #expect(mayReturn.withLock { !$0 }, "all of it while the subscriber stood there")
                mayReturn.withLock { $0 = true }
                mayReturn.broadcast()
                try await subscriber.value
            }
        }

        @Test(
            "a callback of a stored batch that does not return keeps no other process from committing"
        )
        func stored() async throws {
            try await TestWorkspace.with { test in
                let app = try await test.process("app")
                try await app.addAccount("alice")
                let ours = try MessageStore(try await app.activate("alice"))
                let theirs = try MessageStore(try await test.process("helper").session("alice"))
                let (mayReturn, isCalled) = (Monitor(false), Monitor(false))
                let ingester = try Ingester(ours) { _ in
                    isCalled.withLock { $0 = true }
                    isCalled.broadcast()
                    _ = mayReturn.wait(until: patience()) { $0 ? true : nil }
                }
                try await ingester.submit(message("m0", seq: 1))
                try await onOwnThread {
                    #expect(isCalled.wait(until: patience()) { $0 ? true : nil } == true)
                }
                for number in 1...10 {
                    let event = message(try MessageID("m\(number)"), seq: Int64(number) + 1)
                    let receipt = try await theirs.ingest([event])
                    #expect(receipt.outcomes.inserted == 1)
                }
                mayReturn.withLock { $0 = true }
                mayReturn.broadcast()
                let summary = await ingester.finish()
                #expect(summary.storedCount == 1)
            }
        }
    }
}

import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperTesting
import Testing

@Suite("The server's contract, stream by stream: unsafe settings are refused with the reason (R-1)")
struct StreamContractTests {
    private let page = SyncPage(stream: "push", after: nil, next: "p1")
    private let other = SyncPage(stream: "history", after: nil, next: "h1")

    @Test("a stream whose server drops its copy needs durable receipts, the others do not")
    func durability() async throws {
        var contract = ServerContract()
        contract.streams["push"] = StreamContract(retention: .drops)
        try await withAccount(contract: contract) { account in
            let messages = account.messages
            let error = await #expect(throws: LockkeeperError.self) {
                try await messages.ingest([], closing: page, durability: .committed)
            }
            #expect(error?.code == .contract && error?.subject.contains("push") == true)
            // A page among the events is that stream's as well.
            await #expect(throws: LockkeeperError.self) {
                try await messages.ingest([.page(page)], durability: .committed)
            }
            #expect(try await messages.cursors().isEmpty)
            try await messages.ingest([], closing: other, durability: .committed)
            try await messages.ingest([], closing: page)
            #expect(try await messages.cursors() == ["push": "p1", "history": "h1"])

            let ingester = try Ingester(messages, durability: .committed, onStored: { _ in })
            try await ingester.submit(message("m", seq: 1))
            let refused = await #expect(throws: LockkeeperError.self) {
                try await ingester.submit(.page(page))
            }
            #expect(refused?.code == .contract)
            #expect(await ingester.finish().storedCount == 1)
        }
    }

    @Test("what a server gives once is not ingested but delivered, which cannot lose it")
    func inboxFirst() async throws {
        let once = StreamContract(redelivers: false, resumesFromCursor: false)
        try await withAccount(contract: ServerContract(streams: ["push": once])) { account in
            let error = await #expect(throws: LockkeeperError.self) {
                try await account.messages.ingest([message("m", seq: 1)], closing: page)
            }
            #expect(error?.code == .contract && error?.remedy.contains("deliver") == true)
            #expect(try await account.messages.shown().isEmpty)
            let helper = try await account.test.process("push")
            let delivery = try await helper.deliver(
                [message("m", seq: 1)],
                closing: page,
                to: "alice",
                waitMax: .seconds(60)
            )
            guard case .stored = delivery else {
                Issue.record("not stored: \(delivery)")
                return
            }
            #expect(try await account.messages.cursors() == ["push": "p1"])
        }
        try await withAccount(contract: ServerContract(delivery: once)) { account in
            #expect(throws: LockkeeperError.self) {
                try Ingester(account.messages, onStored: { _ in })
            }
        }
    }

    @Test("a contract that no server can have is refused when the account is added")
    func contradiction() async throws {
        try await withAccount { account in
            var contract = ServerContract()
            contract.streams["push"] = StreamContract(keepsFor: .zero)
            await expect(.invalidInput) {
                try await account.app.addAccount("carol", contract: contract)
            }
            await expect(.unknownAccount) { _ = try await account.app.account("carol") }
        }
    }

    @Test("every process reads the contract of a stream from the account")
    func readByAll() async throws {
        var contract = ServerContract()
        contract.delivery.keepsFor = .seconds(604_800)
        contract.streams["push"] = StreamContract(scope: .account, unknownCursor: .skips)
        try await withAccount(contract: contract) { account in
            let helper = try await account.test.process("helper")
            let read = try await helper.account("alice").contract
            #expect(read == contract)
            #expect(read.delivery(of: "push").scope == .account)
            #expect(read.delivery(of: "other").keepsFor == .seconds(604_800))
            #expect(read.delivery(of: nil) == contract.delivery)
        }
    }
}

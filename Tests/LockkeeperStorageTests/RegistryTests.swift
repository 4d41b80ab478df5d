import Glibc
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import LockkeeperTestSupport
import Testing

@Suite("The registry gives each generation once and keeps every intent until it is complete")
final class RegistryTests: Sendable {
    private let folder: TemporaryDirectory
    private var directory: String { folder.path }
    private var path: String { directory + "/workspace.db" }

    init() throws {
        folder = try TemporaryDirectory()
    }

    private func open() throws -> Registry {
        try Registry(
            path: path,
            environment: TestStore.environment(boot: 1),
            busyDeadline: .never
        )
    }

    private func record(_ id: AccountID, state: AccountState = .retired) -> AccountRecord {
        AccountRecord(
            id: id,
            directory: id.bytes.map(String.init).joined(separator: "-"),
            birth: Generation(0),
            ownID: nil,
            contract: ServerContract(),
            state: state,
            createdAt: 5
        )
    }

    @Test("an account comes back with every field, ids with NUL and in both normal forms apart")
    func accounts() throws {
        let registry = try open()
        let ids = try [[0], Array("e\u{301}".utf8), Array("\u{e9}".utf8)].map(
            AccountID.init(bytes:)
        )
        var contract = ServerContract()
        contract.delivery.redelivers = false
        contract.delivery.resumesFromCursor = false
        contract.delivery.keepsFor = .seconds(86_400)
        contract.delivery.scope = .account
        contract.delivery.unknownCursor = .skips
        contract.streams["push"] = StreamContract(redelivers: false, resumesFromCursor: false)
        contract.streams["history"] = StreamContract(keepsFor: .milliseconds(1500))
        contract.delivery.retention = .drops
        contract.refusesDoubles = true
        contract.order = .ties
        contract.authority = .author
        let records = ids.map { id in
            AccountRecord(
                id: id,
                directory: id.bytes.map(String.init).joined(separator: "-"),
                birth: Generation(3),
                ownID: [0, 0xff],
                contract: contract,
                state: .active,
                generation: Generation(4),
                messagesFile: 2,
                settingsFile: 3,
                createdAt: 77
            )
        }
        for record in records { try registry.add(record) }
        #expect(try registry.accounts() == records.sorted { $0.id < $1.id })
        #expect(try open().account(ids[1]) == records[1])
        #expect(try registry.account("nobody") == nil)
        #expect(try registry.generation() == Generation(4), "known generations are not given again")
        #expect(throws: StorageError.self) { try registry.add(records[0]) }
    }

    @Test("commits of the registry are durable by themselves")
    func settings() throws {
        let connection = try open().connection
        let extra: Int64 = 3
        #expect(try connection.value("PRAGMA synchronous")?.integer == extra)
        #expect(try connection.value("PRAGMA journal_mode") == "truncate")
    }

    @Test("a switch goes through its steps, each of which a reopened registry finds")
    func switching() throws {
        let registry = try open()
        try registry.add(record("a"))
        try registry.add(record("bb"))
        try registry.complete(try registry.beginActivation(of: "a"))
        #expect(try registry.account("a")?.state == .active)

        let intent = try registry.beginSwitch(from: "a", to: "bb")
        #expect(intent.retiring == FencingToken(account: "a", generation: Generation(2)))
        #expect(intent.activating == FencingToken(account: "bb", generation: Generation(3)))
        #expect(try open().intent() == intent)
        #expect(throws: StorageError.self) { try registry.beginActivation(of: "a") }
        #expect(try registry.generation() == Generation(3), "a refusal takes no generation")

        let next = try registry.advance(intent)
        #expect(next.step == .activating)
        #expect(try open().intent() == next)
        #expect(try registry.account("a")?.state == .retired)
        #expect(throws: StorageError.self) { try registry.complete(intent) }

        try registry.complete(next)
        #expect(try open().intent() == nil)
        let records = try registry.accounts()
        #expect(records.map(\.state) == [.retired, .active])
        #expect(records.map(\.generation) == [Generation(2), Generation(3)])
    }

    @Test("a switch that cannot be finished is turned round under a third generation")
    func turnedBack() throws {
        let registry = try open()
        try registry.add(record("a", state: .active))
        try registry.add(record("bb"))
        let intent = try registry.advance(try registry.beginSwitch(from: "a", to: "bb"))
        let back = try registry.turnBack(intent)
        #expect(back.retiring == nil)
        #expect(back.activating == FencingToken(account: "a", generation: Generation(3)))
        try registry.complete(back)
        let records = try registry.accounts()
        #expect(records.map(\.state) == [.active, .retired])
        #expect(records.map(\.generation) == [Generation(3), Generation(0)])
    }

    @Test("an intent that is withdrawn leaves the accounts as they were, and its numbers taken")
    func withdrawn() throws {
        let registry = try open()
        try registry.add(record("a", state: .active))
        let before = try registry.accounts()
        try registry.withdraw(try registry.beginRetirement(of: "a"))
        #expect(try registry.accounts() == before)
        #expect(try registry.beginRetirement(of: "a").retiring?.generation == Generation(2))
    }

    @Test("who is not there or not active cannot be switched, and nothing is taken for it")
    func refusals() throws {
        let registry = try open()
        try registry.add(record("a"))
        #expect(throws: StorageError.self) { try registry.beginActivation(of: "nobody") }
        #expect(throws: StorageError.self) { try registry.beginRetirement(of: "a") }
        #expect(throws: StorageError.self) { try registry.beginSwitch(from: "a", to: "nobody") }
        #expect(try registry.generation() == Generation(0))
        #expect(try registry.intent() == nil)
    }

    @Test("a state is noted only when its generation is newer, and raises the counter")
    func setState() throws {
        let registry = try open()
        try registry.add(record("a"))
        #expect(try registry.setState(.active, at: Generation(5), of: "a"))
        #expect(try !registry.setState(.retired, at: Generation(5), of: "a"))
        #expect(try !registry.setState(.retired, at: Generation(4), of: "a"))
        #expect(try registry.account("a")?.state == .active)
        #expect(try registry.beginActivation(of: "a").activating?.generation == Generation(6))
    }

    @Test("a published file number only rises")
    func publish() throws {
        let registry = try open()
        try registry.add(record("a"))
        try registry.publish(.messages, file: 3, of: "a")
        try registry.publish(.settings, file: 1, of: "a")
        #expect(throws: StorageError.self) { try registry.publish(.messages, file: 3, of: "a") }
        let account = try #require(try registry.account("a"))
        #expect(account.messagesFile == 3 && account.settingsFile == 1)
    }

    @Test("a removal is begun once, survives reopening, and frees the id when it is complete")
    func removal() throws {
        let registry = try open()
        try registry.add(record("a"))
        try registry.add(record("bb"))
        _ = try registry.beginActivation(of: "a")
        let removal = try registry.beginRemoval(of: "a")
        #expect(throws: StorageError.self) { try registry.beginRemoval(of: "a") }
        // The intent that concerned it alone is gone with it.
        #expect(try registry.intent() == nil)
        #expect(try open().removals() == [removal])
        #expect(try open().accounts().map(\.id) == ["bb"])
        try registry.completeRemoval(of: "a")
        #expect(try registry.removals() == [])
        try registry.add(record("a"))
    }

    @Test("an account that a switch concerns together with another one is not removed before")
    func removalDuringSwitch() throws {
        let registry = try open()
        for id in ["a", "bb"] as [AccountID] { try registry.add(record(id, state: .active)) }
        let intent = try registry.beginSwitch(from: "a", to: "bb")
        for id in ["a", "bb"] as [AccountID] {
            #expect(throws: StorageError.self) { try registry.beginRemoval(of: id) }
        }
        try registry.complete(intent)
        _ = try registry.beginRemoval(of: "a")
    }

    @Test("a registry that is to be there is refused where it is missing, empty or damaged")
    func losses() throws {
        func existing() throws {
            try Registry(
                path: path,
                .existing,
                environment: TestStore.environment(boot: 1),
                busyDeadline: .never
            ).close()
        }
        func expectLoss(_ comment: Comment) {
            let error = #expect(throws: StorageError.self, comment) { try existing() }
            #expect(error?.isLossOfRegistry == true, comment)
        }
        expectLoss("missing")
        #expect(try FileSystem.status(path) == nil)
        for content in [[], Array("not a database, and long enough for a header".utf8)] {
            try FileSystem.replaceFile(at: path, with: content)
            expectLoss("\(content.count) bytes")
            #expect(try FileSystem.contents(of: path) == content, "it is not touched")
        }
        try FileSystem.remove(path)
        let registry = try open()
        try registry.add(record("a"))
        try registry.close()
        try existing()
        let sound = try FileSystem.contents(of: path)
        var damaged = sound
        for page in 1..<(sound.count / 4096) {
            damaged.replaceSubrange(
                page * 4096..<page * 4096 + 64,
                with: repeatElement(0xa5, count: 64)
            )
        }
        try FileSystem.replaceFile(at: path, with: damaged)
        expectLoss("damaged pages")
        try FileSystem.replaceFile(at: path, with: Array(sound.prefix(sound.count / 2)))
        expectLoss("cut short")
    }

    @Test("a registry is filled with all that it is to say")
    func filling() throws {
        var contents = RegistryContents()
        contents.accounts = [record("a", state: .active)]
        contents.removals = [PendingRemoval(id: "bb", directory: "bb")]
        contents.generation = Generation(9)
        contents.intent = SwitchIntent(
            retiring: nil,
            activating: FencingToken(account: "a", generation: Generation(9)),
            step: .activating
        )
        try open().fill(with: contents)
        let registry = try open()
        #expect(try registry.accounts() == contents.accounts)
        #expect(try registry.removals() == contents.removals)
        #expect(try registry.intent() == contents.intent)
        #expect(try registry.reserveGeneration() == Generation(10))
    }

    @Test("processes that open and count at the same time get different generations")
    func atOnce() async throws {
        let generations = try await withThrowingTaskGroup(of: [Generation].self) { group in
            for number in 0..<4 {
                group.addTask {
                    try await onOwnThread { [self] in
                        try activateOften(AccountID("account \(number)"), count: 8)
                    }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(generations.count == 32)
        #expect(Set(generations).count == 32)
        #expect(try open().generation() == generations.max())
        #expect(try open().accounts().count == 4)
    }

    private func activateOften(_ account: AccountID, count: Int) throws -> [Generation] {
        let registry = try open()
        try registry.add(record(account))
        var generations: [Generation] = []
        while generations.count < count {
            do {
                let intent = try registry.beginActivation(of: account)
                generations.append(try #require(intent.activating).generation)
                try registry.complete(intent)
            } catch StorageError.intentPending {
                // Another thread is between its two steps.
            }
        }
        return generations
    }
}

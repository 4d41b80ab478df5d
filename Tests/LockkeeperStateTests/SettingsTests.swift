import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperState
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

@Suite("Settings: typed, told from not set, atomic, durable, live, fenced (R-47)")
struct SettingsTests {
    @Test("each kind of value comes back as it was set, in another process too")
    func kinds() async throws {
        try await withAlice { test, _, alice in
            let settings = try await SettingsStore(alice)
            try await settings.set("早", for: "text")
            try await settings.set(Int64.min, for: "number")
            try await settings.set(0.1, for: "real")
            try await settings.set(false, for: "flag")
            try await settings.set(DateValue(millisecondsSince1970: -1), for: "date")
            try await settings.set(DataValue([0, 255]), for: "data")
            try await settings.set([1, 2], for: "list")
            try await settings.set(["a": [true], "b": []], for: "tree")
            let other = try await SettingsStore(try await test.process("other").session("alice"))
            #expect(try await other.value("text" as SettingKey<String>) == "早")
            #expect(try await other.value("number" as SettingKey<Int64>) == .min)
            #expect(try await other.value("real" as SettingKey<Double>) == 0.1)
            #expect(try await other.value("flag" as SettingKey<Bool>) == false)
            let date = try await other.value("date" as SettingKey<DateValue>)
            #expect(date?.millisecondsSince1970 == -1)
            #expect(try await other.value("data" as SettingKey<DataValue>)?.bytes == [0, 255])
            #expect(try await other.value("list" as SettingKey<[Int]>) == [1, 2])
            let tree = try await other.value("tree" as SettingKey<[String: [Bool]]>)
            #expect(tree == ["a": [true], "b": []])
            let names = try await other.all().map(\.name.description)
            #expect(names == ["data", "date", "flag", "list", "number", "real", "text", "tree"])
        }
    }

    @Test("not set is told from false and zero, and a registered default is a fallback only")
    func defaults() async throws {
        try await withAlice { test, _, alice in
            let flag: SettingKey<Bool> = "flag"
            let count: SettingKey<Int> = "count"
            var defaults = SettingDefaults()
            defaults.register(true, for: flag)
            defaults.register(7, for: count)
            let settings = try await SettingsStore(alice, defaults: defaults)
            #expect(try await settings.value(flag) == true)
            #expect(try await settings.stored(flag) == nil)
            #expect(try await settings.value("other" as SettingKey<Bool>) == nil)
            #expect(try await settings.all().isEmpty)
            try await settings.set(false, for: flag)
            try await settings.set(0, for: count)
            #expect(try await settings.value(flag) == false)
            #expect(try await settings.stored(count) == 0)
            try await settings.remove(count)
            #expect(try await settings.value(count) == 7)
            // Another program has registered nothing, and finds nothing of it stored.
            let other = try await SettingsStore(try await test.process("other").session("alice"))
            #expect(try await other.value(count) == nil)
        }
    }

    @Test("what is stored as another type is an error that says so, and no value")
    func wrongType() async throws {
        try await withAlice { _, _, alice in
            let settings = try await SettingsStore(alice)
            try await settings.set("1", for: "count")
            let error = await expectState(.wrongType) {
                _ = try await settings.value("count" as SettingKey<Int>)
            }
            #expect(error?.description.contains("string") == true)
            // A number is no flag, and a mixed list no list of numbers.
            try await settings.set(1, for: "flag")
            await expectState(.wrongType) {
                _ = try await settings.value("flag" as SettingKey<Bool>)
            }
            try await settings.set(PropertyValue.array([.integer(1), .bool(true)]), for: "list")
            await expectState(.wrongType) {
                _ = try await settings.value("list" as SettingKey<[Int]>)
            }
            try await settings.set(2, for: "count")
            #expect(try await settings.value("count" as SettingKey<Int>) == 2)
        }
    }

    @Test("a value that is too large or too deep is refused with nothing stored")
    func limits() async throws {
        try await withAlice { _, _, alice in
            let settings = try await SettingsStore(alice)
            await expectState(.invalidInput) {
                try await settings.set(String(repeating: "x", count: 1 << 20), for: "text")
            }
            var deep = PropertyValue.bool(true)
            for _ in 0..<40 { deep = .array([deep]) }
            await expectState(.invalidInput) { [deep] in try await settings.set(deep, for: "deep") }
            #expect(try await settings.all().isEmpty)
        }
    }

    @Test("an update is stored whole or not at all, and names are compared as bytes")
    func atomic() async throws {
        try await withAlice { _, _, alice in
            let settings = try await SettingsStore(alice)
            struct Stop: Error {}
            await #expect(throws: Stop.self) {
                try await settings.update { transaction in
                    try transaction.set(1, for: "first")
                    throw Stop()
                }
            }
            #expect(try await settings.all().isEmpty)
            // Swift takes these two texts for one; they are two settings.
            let (composed, decomposed) = ("\u{e9}", "e\u{301}")
            try await settings.update { transaction in
                try transaction.set(1, for: SettingKey(try SettingName(composed)))
                try transaction.set(2, for: SettingKey(try SettingName(decomposed)))
            }
            #expect(try await settings.all().count == 2)
        }
    }

    @Test("a change is one range with the setting's name, and setting the same again is none")
    func feed() async throws {
        try await withAlice { test, _, alice in
            let settings = try await SettingsStore(alice)
            let other = try await SettingsStore(try await test.process("other").session("alice"))
            let feed = other.changes(after: try await other.head())
            let receipt = try await settings.set(1, for: "count")
            #expect(receipt.durability == .durable)
            let again = try await settings.set(1, for: "count")
            #expect(again.commit == nil)
            try await settings.set(2, for: "count")
            var ranges: [ChangeRange] = []
            for try await range in feed {
                ranges.append(range)
                if range.last.rawValue == 2 { break }
            }
            #expect(
                ranges.allSatisfy { $0.kind == .settings && $0.topics == [Array("count".utf8)] }
            )
            #expect(ranges.allSatisfy { $0.tables.map(\.name) == ["lk_setting"] })
            #expect(ranges.first?.predecessor == CommitNumber(0))
        }
    }

    @Test(
        "a setting is live in another process, through the hub of a third, and others' stay quiet"
    )
    func observing() async throws {
        try await withAlice { test, _, alice in
            let host = try await test.process("host", role: .host).serve()
            let settings = try await SettingsStore(alice)
            let other = try await SettingsStore(try await test.process("other").session("alice"))
            let key: SettingKey<Int> = "count"
            let values = other.observe(key).makeAsyncIterator()
            #expect(try await values.next() == .some(nil))
            try await settings.set(true, for: "unrelated")
            try await settings.set(1, for: key)
            #expect(try await values.next() == .some(1))
            try await settings.remove(key)
            #expect(try await values.next() == .some(nil))
            await host.close()
        }
    }

    @Test("commits of messages and of settings are two streams, each without the other's ranges")
    func twoStreams() async throws {
        try await TestWorkspace.with(schemas: [.state]) { test in
            let app = try await test.process("app")
            try await app.addAccount("alice")
            let alice = try await app.activate("alice")
            let host = try await test.process("host", role: .host).serve()
            let other = try await test.process("other").session("alice")
            let listener = try await SettingsStore(other)
            let (messages, settings) = (other.changes(), listener.changes())
            let (first, second) = (messages.makeAsyncIterator(), settings.makeAsyncIterator())
            let store = try await SettingsStore(alice)
            // Whichever position a feed begins at, it hears of what comes once it listens.
            let writing = Task {
                for number in 0..<200 {
                    try await store.set(number, for: "count")
                    try await alice.database.write(durability: .committed) { transaction in
                        try transaction.execute("CREATE TABLE IF NOT EXISTS note (text TEXT)")
                        try transaction.execute("INSERT INTO note VALUES ('a')")
                    }
                }
            }
            let message = try #require(try await first.next())
            let setting = try #require(try await second.next())
            #expect(message.kind == .messages && setting.kind == .settings)
            #expect(message.store != setting.store)
            #expect(!message.tables.contains { $0.name == "lk_setting" })
            #expect(setting.tables.map(\.name) == ["lk_setting"])
            try await writing.value
            await host.close()
        }
    }

    @Test(
        "every call of a superseded session fails, a feed and a live value end, and nothing changes"
    )
    func superseded() async throws {
        try await withAlice { test, app, alice in
            let settings = try await SettingsStore(alice)
            try await settings.set(1, for: "count")
            let values = settings.observe("count" as SettingKey<Int>).makeAsyncIterator()
            #expect(try await values.next() == .some(1))
            // Signed in again by another process.
            let next = try await test.process("other").activate("alice")
            await expectState(.superseded) { try await settings.set(2, for: "count") }
            await expectState(.superseded) {
                _ = try await settings.value("count" as SettingKey<Int>)
            }
            await expectState(.superseded) { _ = try await values.next() }
            await expectState(.superseded) {
                for try await _ in settings.changes() {}
            }
            let renewed = try await SettingsStore(next)
            #expect(try await renewed.value("count" as SettingKey<Int>) == 1)
        }
    }

    @Test("a settings call that finds the session superseded ends it for messages too")
    func endsTheSession() async throws {
        try await withAlice { test, _, alice in
            let settings = try await SettingsStore(alice)
            _ = try await test.process("other").activate("alice")
            await expectState(.superseded) { try await settings.set(2, for: "count") }
            #expect(alice.ended != nil)
        }
    }

    @Test("settings of one account are none of another's, and go with their account")
    func accounts() async throws {
        try await withAlice { test, app, alice in
            try await app.addAccount("bob")
            let bob = try await SettingsStore(try await app.activate("bob"))
            let settings = try await SettingsStore(alice)
            try await settings.set(1, for: "count")
            #expect(try await bob.all().isEmpty)
            try await bob.set(2, for: "count")
            try await app.removeAccount("alice")
            await expectState(.accountRemoved) { try await settings.set(3, for: "count") }
            await expectState(.accountRemoved) { _ = try await settings.all() }
            #expect(try await bob.value("count" as SettingKey<Int>) == 2)
            try await app.addAccount("alice")
            let again = try await SettingsStore(try await app.activate("alice"))
            #expect(try await again.all().isEmpty)
        }
    }

    @Test("a workspace that was opened without the schema says so")
    func undeclared() async throws {
        try await TestWorkspace.with(schemas: []) { test in
            let app = try await test.process("app")
            try await app.addAccount("alice")
            let alice = try await app.activate("alice")
            await expectState(.invalidInput) { _ = try await SettingsStore(alice) }
        }
    }

    @Test("a closed session closes its settings, whoever opens them at that moment")
    func closing() async throws {
        try await withAlice { _, app, alice in
            let settings = try await SettingsStore(alice)
            await alice.close()
            await expectState(.closed) { try await settings.set(1, for: "count") }
            await expectState(.closed) { _ = try await SettingsStore(alice) }
            let next = try await SettingsStore(try await app.session("alice"))
            #expect(try await next.all().isEmpty)
        }
    }

    @Test("the settings' log is copied by who writes, and emptied by the host when it rests")
    func upkeep() async throws {
        var limits = Limits()
        limits.checkpointFrameCountWithoutHost = 50
        limits.checkpointFrameCount = 50
        limits.checkpointIdleAfter = .milliseconds(1)
        limits.slowPollInterval = .milliseconds(20)
        try await withAlice(limits: limits) { test, _, alice in
            let settings = try await SettingsStore(alice)
            let log = "\(test.root)/accounts/alice/settings-1.db-wal"
            var written = 0
            // Never copied, the log would grow by a frame and more with each of them.
            while written < 400 {
                for _ in 0..<50 { try await settings.set(written, for: "count"); written += 1 }
            }
            let size = try #require(try FileSystem.status(log)).size
            #expect(size < 400 * 4096)
            let host = try await test.process("host", role: .host).serve()
            #expect(try eventually { try FileSystem.status(log)?.size == 0 })
            await host.close()
        }
    }
}

/// Runs a test on a fresh active account "alice" whose workspace has this room's tables.
func withAlice(
    limits: Limits = Limits(),
    _ body: (_ test: TestWorkspace, _ app: Workspace, _ alice: Session) async throws -> Void
) async throws {
    try await TestWorkspace.with(schemas: [.state], limits: limits) { test in
        let app = try await test.process("app")
        try await app.addAccount("alice")
        try await body(test, app, try await app.activate("alice"))
    }
}

/// Expects a call to fail with a code, and returns the error.
@discardableResult
func expectState(
    _ code: LockkeeperError.Code,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> Void
) async -> LockkeeperError? {
    let error = await #expect(throws: LockkeeperError.self, sourceLocation: sourceLocation) {
        try await body()
    }
    #expect(error?.code == code, sourceLocation: sourceLocation)
    return error
}

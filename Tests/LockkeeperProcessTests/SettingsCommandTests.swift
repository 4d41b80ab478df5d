import LockkeeperPlatform
import Synchronization
import Testing

@Suite("The commands of settings")
struct SettingsCommandTests {
    @Test("what is set is got and listed, as its kind, and is not set again after unset")
    func roundTrip() async throws {
        let test = try await TestWorkspace()
        for (name, value, kind) in [
            ("greeting", "hello\tyou", "string"), ("count", "-9223372036854775808", "integer"),
            ("scale", "1.5", "real"), ("notifies", "false", "bool"),
            ("since", "2026-11-30T09:00:00Z", "date"), ("key", "00ff", "data"),
            ("list", #"[1,"a",[true]]"#, "array"), ("tree", #"{"a":1.5,"b":{}}"#, "dictionary"),
        ] {
            let set = try await CommandRunner.run(
                ["settings", "set", "--root", test.root, "--kind", kind, name, "--", value]
            )
            #expect(set.status == .exited(0), "\(set.errorText)")
            let got = try await test.run(["settings", "get", name])
            #expect(got.status == .exited(0))
            // A value is one line, whatever it holds.
            #expect(got.lines == [name == "greeting" ? "hello\\tyou" : value])
        }
        let list = try await test.run(["settings", "list", "--json"])
        let printed = try list.lines.map(PrintedObject.init)
        #expect(printed.compactMap { $0.string("name") }.count == 8)
        #expect(printed.first?.string("name") == "count" && printed.first?.int("v") == 1)
        #expect(try await test.run(["settings", "unset", "count"]).status == .exited(0))
        let gone = try await test.run(["settings", "get", "count"])
        #expect(gone.status == .exited(1) && gone.lines.isEmpty && gone.errors.isEmpty)
        try await test.expectSound()
    }

    @Test("a value that is not of its kind is refused with what the kind looks like")
    func refused() async throws {
        let test = try await TestWorkspace()
        for (value, kind) in [
            ("1.5", "integer"), ("yes", "bool"), ("x", "real"), ("0", "data"), ("[null]", "array"),
            ("{}", "array"), ("today", "date"), ("a", "colour"),
            // Rounded it would be another id.
            (#"{"id":12345678901234567890}"#, "dictionary"), (#"{"a":1,"a":2}"#, "dictionary"),
        ] {
            let set = try await test.run(["settings", "set", "--kind", kind, "name", value])
            #expect(set.status == .exited(64), "\(kind)")
            #expect(set.errorText.contains("'\(value == "a" ? "colour" : value)'"))
        }
        #expect(try await test.run(["settings", "list"]).lines.isEmpty)
    }

    // A whole number beyond 2^53 is printed as a text, because many readers of JSON would round it.
    @Test("an id of 64 bits in a dictionary stays what it is")
    func largeNumber() async throws {
        let test = try await TestWorkspace()
        let value = #"{"id":9007199254740993}"#
        let set = try await test.run(["settings", "set", "--kind", "dictionary", "server", value])
        #expect(set.status == .exited(0), "\(set.errorText)")
        let got = try await test.run(["settings", "get", "server"])
        #expect(got.lines == [#"{"id":"9007199254740993"}"#])
    }

    @Test("a change by one command is a range for 'tail --settings' in another")
    func tail() async throws {
        let test = try await TestWorkspace()
        let tail = try test.start(["tail", "--settings", "--count", "1"])
        // It says nothing until a range comes, so changes are made until one does.
        let hasCome = Atomic<Bool>(false)
        async let writing: Void = {
            for number in 0..<1000 where !hasCome.load(ordering: .relaxed) {
                _ = try await test.run(["settings", "set", "count", "\(number)"])
            }
        }()
        let range = try PrintedObject(try #require(await tail.nextLine()))
        hasCome.store(true, ordering: .relaxed)
        #expect(range.string("kind") == "settings")
        #expect(range.objects("tables").first?.string("name") == "lk_setting")
        #expect(await tail.end().status == .exited(0))
        try await writing
    }

    @Test("settings of an account that was signed out of are read, and not set")
    func signedOut() async throws {
        let test = try await TestWorkspace()
        _ = try await test.run(["settings", "set", "name", "value"])
        _ = try await test.run(["account", "sign-out", "alice"])
        let got = try await test.run(["settings", "get", "name", "--account", "alice"])
        #expect(got.lines == ["value"])
        let set = try await test.run(["settings", "set", "name", "other", "--account", "alice"])
        #expect(set.status == .exited(69))
    }
}

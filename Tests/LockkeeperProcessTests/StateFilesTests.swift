import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperState
import Testing

@Suite("The commands and the files that an account has beside its databases")
struct StateFilesTests {
    private struct Page: Document {
        static let kind = "page"
        static let version = 1
        var text: String
    }

    /// Opens the account of a workspace as an app does.
    private func withAlice<Value>(
        _ test: TestWorkspace,
        _ body: (Session) async throws -> Value
    ) async throws -> Value {
        let app = try await Workspace.open(
            at: test.root,
            name: "app",
            schemas: [.messages, .state]
        )
        let value = try await body(try await app.session("alice"))
        await app.close()
        return value
    }

    private let content: [UInt8] = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 >> 3) }

    @Test(
        "doctor finds what media and documents have lost or left behind, and --sweep puts media right"
    )
    func doctor() async throws {
        let test = try await TestWorkspace()
        try await withAlice(test) { alice in
            let media = try await MediaStore(alice)
            for id in [MediaID("cut"), "changed", "gone"] {
                try await media.add(id, .bytes(content + id.bytes))
            }
            try await DocumentStore(alice).save(Page(text: "a"), as: "page")
        }
        let folder = "\(test.root)/accounts/alice"
        let sound = try await test.run(["doctor", "--deep"])
        #expect(sound.status == .exited(0), "\(sound.lines)")
        #expect(sound.errorText.contains("documents: 1"))
        // An account that was signed out of is looked at as well.
        _ = try await test.run(["account", "sign-out", "alice"])
        let retired = try await test.run(["doctor", "--deep", "--account", "alice"])
        #expect(retired.status == .exited(0), "\(retired.lines)")
        let refused = try await test.run(["doctor", "--sweep", "--account", "alice"])
        #expect(refused.status == .exited(69))
        _ = try await test.run(["account", "activate", "alice"])

        try await withAlice(test) { alice in
            let media = try await MediaStore(alice)
            try FileSystem.remove(try #require(try await media.path(of: "gone")))
            let changed = try #require(try await media.path(of: "changed"))
            try FileSystem.replaceFile(
                at: changed,
                with: content.reversed() + Array("changed".utf8)
            )
            let cut = try #require(try await media.path(of: "cut"))
            try FileSystem.replaceFile(at: cut, with: [1])
            try FileSystem.replaceFile(at: cut.dropLast(2) + "00", with: [1])
        }
        try FileSystem.replaceFile(at: "\(folder)/documents/page", with: [1])
        func codes(_ options: [String]) async throws -> [String] {
            let found = try await test.run(["doctor", "--json"] + options)
            #expect(found.status == .exited(1))
            return try found.lines.dropFirst().compactMap { try PrintedObject($0).string("code") }
        }
        let quick = ["media-orphan", "media-missing", "media-missing", "document-unreadable"]
        #expect(try await codes([]) == quick)
        #expect(
            try await codes(["--deep"]) == quick.prefix(3) + ["media-damaged", quick[3]]
        )
        #expect(try await codes(["--deep", "--sweep"]) == ["document-unreadable"])
        // The document is left to its app.
        let wanted = try await withAlice(test) { alice in
            try await DocumentStore(alice).save(Page(text: "b"), as: "page")
            return try await MediaStore(alice).media(in: .wanted).map(\.id)
        }
        #expect(wanted == ["changed", "cut", "gone"])
        let swept = try await test.run(["doctor", "--deep"])
        #expect(swept.status == .exited(0), "\(swept.lines)")
    }

    @Test(
        "settings from their backup with copies of documents and media are the account again, as CHOOSING.md says"
    )
    func backup() async throws {
        let test = try await TestWorkspace()
        try await withAlice(test) { alice in
            try await MediaStore(alice).add("large", .bytes(content))
            try await MediaStore(alice).add("small", .bytes([1, 2, 3]))
            try await DocumentStore(alice).save(Page(text: "a"), as: "page")
        }
        _ = try await test.run(["settings", "set", "name", "value"])
        let (backup, copies) = (test.folder.path("settings.db"), test.folder.path("copies"))
        #expect(try await test.run(["backup", "--settings", backup]).status == .exited(0))
        let folder = "\(test.root)/accounts/alice"
        func copy(_ from: String, _ to: String) throws {
            let names = ["documents", "media"].map { "\(from)/\($0)" }
            let process = try ChildProcess(program: "cp", arguments: ["-a"] + names + [to])
            #expect(try process.wait() == .exited(0))
        }
        try FileSystem.makeDirectory(copies, mode: 0o700)
        try copy(folder, copies)

        _ = try await test.run(["account", "remove", "alice", "--yes"])
        _ = try await test.run(["account", "add", "alice", "--activate"])
        let restored = try await test.run(["restore", backup, "--yes"])
        #expect(restored.status == .exited(0), "\(restored.errorText)")
        let incomplete = try await test.run(["doctor"])
        #expect(incomplete.lines.filter { $0.hasPrefix("media-missing: ") }.count == 1)
        try copy(copies, folder)
        let whole = try await test.run(["doctor", "--deep"])
        #expect(whole.lines.filter { !$0.hasPrefix("leftover: ") } == [], "\(whole.errorText)")
        #expect(try await test.run(["settings", "get", "name"]).lines == ["value"])
        try await withAlice(test) { alice in
            let media = try await MediaStore(alice)
            #expect(try await media.content(of: "large") == content)
            #expect(try await media.content(of: "small") == [1, 2, 3])
            let page = try await DocumentStore(alice).load(Page.self, from: "page")
            #expect(page.text == "a")
        }
    }
}

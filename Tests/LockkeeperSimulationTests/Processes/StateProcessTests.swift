import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperState
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

@Suite("The account's other state in real processes")
struct StateProcessTests {
    @Test("two processes that each add one a thousand times give two thousand, and a third sees it")
    func race() async throws {
        try await withAlice { test, settings in
            let watcher = try LineProcess.state(test.root, "watcher")
            watcher.tell("watch count")
            #expect(try watcher.hear() == "count none")
            let writers = try ["first", "second"].map { try LineProcess.state(test.root, $0) }
            for writer in writers { writer.tell("count count 1000") }
            for writer in writers { #expect(try writer.hear(until: longPatience()) == "counted") }
            #expect(try await settings.stored("count" as SettingKey<Int>) == 2000)
            // Values only grow, and the last is the end: what came in between may be left out.
            var last = 0
            while last < 2000 {
                let value = try #require(Int(try watcher.hear().dropFirst("count ".count)))
                #expect(value > last)
                last = value
            }
        }
    }

    @Test("a process that is killed while it counts has stored whole steps, and holds up nobody")
    func killed() async throws {
        try await withAlice { test, settings in
            let (doomed, other) = (
                try LineProcess.state(test.root, "doomed"),
                try LineProcess.state(test.root, "other")
            )
            let values = settings.observe("doomed" as SettingKey<Int>).makeAsyncIterator()
            doomed.tell("count doomed 1000000")
            while let value = try await values.next(), value ?? 0 < 20 {}
            try doomed.kill()
            #expect(try other.ask("count other 100") == "counted")
            #expect(try await settings.stored("other" as SettingKey<Int>) == 100)
            #expect(try #require(try await settings.stored("doomed" as SettingKey<Int>)) >= 20)
        }
    }

    @Test(
        "eight processes save one document, are killed on the way, and every reader sees a whole one"
    )
    func documentRace() async throws {
        try await withAlice { test, _ in
            let first = try LineProcess.state(test.root, "first")
            #expect(try first.ask("save page 1") == "saved")
            let reader = try LineProcess.state(test.root, "reader")
            var writers = try (0..<7).map { try LineProcess.state(test.root, "writer-\($0)") }
            for _ in 0..<5 {
                for writer in writers { writer.tell("save page 100000") }
                // As many whole ones as this are read while the others write.
                #expect(try reader.ask("load page 50", within: .seconds(60)) == "loaded")
                for index in writers.indices {
                    try writers[index].kill()
                    writers[index] = try LineProcess.state(test.root, "writer-\(index)")
                }
                #expect(try reader.ask("load page 1") == "loaded")
            }
            // What the killed ones left under other names goes with the next save.
            #expect(try first.ask("save page 1") == "saved")
            #expect(try first.ask("load page 1") == "loaded")
            let folder = "\(test.root)/accounts/alice/documents"
            #expect(try FileSystem.list(folder) == ["page"])
        }
    }
}

extension RealProcesses {
    /// Media, by processes that die at every point.
    @Suite("Media of real processes, killed at every point (R-51)")
    struct KilledMediaTests {
        @Test(
            "a write of media that is killed anywhere, the file's names included, leaves what was or what is to be, and a sweep leaves nothing else"
        )
        func killed() async throws {
            try await TestWorkspace.with(schemas: [.state]) { test in
                let app = try await test.process("app")
                try await app.addAccount("alice")
                _ = try await app.activate("alice")
                await app.close()
                let folder = "\(test.root)/accounts/alice/media"
                var ends: Set<String> = []
                var orphanCount = 0
                let counts = try await killAtEachPoint(test.root, ["media", "alice"], stride: 3) {
                } judge: { comment in
                    let next = try await test.process("next")
                    let media = try await MediaStore(try await next.session("alice"))
                    // No row says that something is here which is not.
                    let audit = try await media.audit(deep: true)
                    #expect(audit.missing.isEmpty && audit.damaged.isEmpty, comment)
                    orphanCount += audit.orphanCount
                    let found = try await media.media("m")
                    ends.insert(found.map(\.state.rawValue) ?? "none")
                    if found?.state == .present {
                        let content = try await media.content(of: "m")
                        #expect(content.count == 200_000 && Set(content).count == 1, comment)
                        ends.insert("content \(content[0])")
                    }
                    try await media.sweep()
                    #expect(try await media.audit(deep: true).isClean, comment)
                    try await media.evict("m")
                    let left = try filesBelow(folder)
                    #expect(left.isEmpty, "\(left), \(comment)")
                    await next.close()
                }
                // Syncs of content and of folders, two names of each file and their removal.
                #expect(counts[0] > 5 && counts[1] > 2, "\(counts)")
                #expect(orphanCount > 0 && ends.contains("present"), "\(ends)")
            }
        }
    }
}

/// The paths of all files below a folder; none where there is no folder.
private func filesBelow(_ folder: String) throws -> [String] {
    guard try FileSystem.status(folder) != nil else { return [] }
    return try FileSystem.list(folder).flatMap { name -> [String] in
        let path = "\(folder)/\(name)"
        return try FileSystem.status(path)?.kind == .directory ? filesBelow(path) : [path]
    }
}

/// A workspace with an active account "alice", and her settings in this process.
private func withAlice(
    _ body: (_ test: TestWorkspace, _ settings: SettingsStore) async throws -> Void
) async throws {
    try await TestWorkspace.with(schemas: [.state]) { test in
        let app = try await test.process("app")
        try await app.addAccount("alice")
        try await body(test, try await SettingsStore(try await app.activate("alice")))
    }
}

/// A deadline for work of many processes on a machine that has other work.
private func longPatience() -> Deadline { Deadline(after: .seconds(60), from: SystemClock().now()) }

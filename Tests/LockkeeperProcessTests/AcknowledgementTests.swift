import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperSimulation
import Testing

@Suite("What was acknowledged stays, what is stale is refused, and who follows misses nothing")
struct AcknowledgementTests {
    // I-6, I-12
    @Test("every event under a durable receipt is there after all processes were killed at once")
    func killedAll() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        let workspace = try await TestWorkspace()
        let host = try workspace.start(["host", "--account", "alice"])
        #expect(await host.nextLine() != nil)
        var helpers: [(command: RunningCommand, lines: [[UInt8]])] = []
        for number in 0..<3 {
            let lines = Self.messageLines(prefix: "h\(number)", count: 3000)
            let helper = try workspace.start(["ingest", "-", "--name", "helper-\(number)"])
            helper.send(lines.flatMap { $0 }, lineCount: lines.count)
            helpers.append((helper, lines))
        }
        // Each helper has at least two receipts, and most of its lines still before it.
        var receipts: [[String]] = [[], [], []]
        for number in helpers.indices {
            for _ in 0..<2 {
                receipts[number].append(try #require(await helpers[number].command.nextLine()))
            }
        }
        for helper in helpers { try helper.command.process.signal(.kill) }
        try host.process.signal(.kill)
        for number in helpers.indices {
            receipts[number] = await helpers[number].command.end().lines
        }
        _ = await host.end()

        let stored = try await Self.storedIDs(workspace)
        var acknowledged = 0
        for number in helpers.indices {
            for receipt in receipts[number]
            where receipt.hasPrefix("{\"account\"") && receipt.hasSuffix("}") {
                let object = try PrintedObject(receipt)
                let range = try #require(object.ints("lines"))
                for line in range[0]...range[1] {
                    acknowledged += 1
                    #expect(
                        stored.contains("h\(number)-\(line)"),
                        "line \(line) of helper \(number)"
                    )
                }
            }
        }
        #expect(acknowledged >= 600)
        #expect(acknowledged <= stored.count)
        try await workspace.expectSound()
    }

    // I-7, I-8, B38
    @Test("a subscriber from the start and one that comes late see each commit once and in order")
    func subscribers() async throws {
        let workspace = try await TestWorkspace()
        let host = try workspace.start(["host", "--account", "alice"])
        #expect(await host.nextLine() != nil)
        let origin = try #require(try await workspace.positionBeforeAll())
        let early = try workspace.start(["tail", "--after", origin])
        let helpers = try (0..<3).map { number in
            let lines = Self.messageLines(prefix: "h\(number)", count: 2000)
            let helper = try workspace.start(["ingest", "-", "--name", "helper-\(number)"])
            helper.send(lines.flatMap { $0 }, lineCount: lines.count)
            helper.closeInput()
            return helper
        }
        var commits: Set<Int> = []
        for helper in helpers {
            let result = await helper.end()
            #expect(result.status == .exited(0), "\(result.errorText)")
            commits.formUnion(
                try result.lines.dropLast().compactMap { try PrintedObject($0).int("commit") }
            )
        }
        let last = try #require(commits.max())
        let late = try workspace.start(["tail", "--after", origin])
        for (name, subscriber) in [("early", early), ("late", late)] {
            var seen: [Int] = []
            while (seen.last ?? 0) < last, let line = await subscriber.nextLine() {
                let range = try #require(try PrintedObject(line).ints("commits"))
                seen += range[0]...range[1]
            }
            #expect(seen == Array(1...last), "\(name)")
            try subscriber.process.signal(.kill)
            _ = await subscriber.end()
        }
        #expect(commits == Set(1...last))
        try host.process.signal(.terminate)
        #expect(await host.end().status == .exited(0))
    }

    // I-2, I-13
    @Test(
        "a helper with an old token is refused whole: no row, no cursor, no commit",
        arguments: [false, true]
    )
    func superseded(signsInAgain: Bool) async throws {
        let workspace = try await TestWorkspace()
        #expect(try await workspace.run(["account", "add", "bob"]).status == .exited(0))
        let helper = try workspace.start(["ingest", "-", "--account", "alice"])
        helper.send(Self.message("before", 1) + Self.page(nil, "c1"), lineCount: 2)
        let first = try PrintedObject(try #require(await helper.nextLine()))
        #expect(first.int("inserted") == 1)
        #expect(try await workspace.run(["switch", "bob"]).status == .exited(0))
        if signsInAgain {
            #expect(try await workspace.run(["switch", "alice"]).status == .exited(0))
        }
        let before = try await workspace.run(["export", "--cursors", "--account", "alice"]).lines
        let head = try await workspace.head()
        helper.send(Self.message("after", 2) + Self.page("c1", "c2"), lineCount: 2)
        helper.closeInput()
        let result = await helper.end()
        #expect(result.status == .exited(76), "\(result.errorText)")
        #expect(try result.summary.int("refused") == 2)
        #expect(result.errorText.contains("generation"))
        #expect(
            try await workspace.run(["export", "--cursors", "--account", "alice"]).lines == before
        )
        #expect(try await workspace.head() == head)
        try await workspace.expectSound()
    }

    // MARK: - Lines and looks

    static func messageLines(prefix: String, count: Int) -> [[UInt8]] {
        (1...count).map { number in
            Array(
                """
                {"conversation":"\(prefix)","id":"\(prefix)-\(number)","seq":\(number),\
                "sender":"u2","sent_at":"2026-11-30T09:00:00Z","body":"text \(number)"}

                """.utf8
            )
        }
    }

    private static func message(_ id: String, _ seq: Int) -> [UInt8] {
        Array(
            """
            {"conversation":"c","id":"\(id)","seq":\(seq),"sender":"u2",\
            "sent_at":"2026-11-30T09:00:00Z","body":"hello"}

            """.utf8
        )
    }

    private static func page(_ after: String?, _ next: String) -> [UInt8] {
        let after = after.map { "\"\($0)\"" } ?? "null"
        let line =
            "{\"type\":\"page\",\"stream\":\"inbox\",\"after\":\(after),\"next\":\"\(next)\"}"
        return Array((line + "\n").utf8)
    }

    private static func storedIDs(_ workspace: TestWorkspace) async throws -> Set<String> {
        let lines = try await workspace.run(["export", "--account", "alice"]).lines
        return Set(try lines.compactMap { try PrintedObject($0).string("id") })
    }
}

extension TestWorkspace {
    /// The newest commit of alice's store, as `status` prints it.
    func head() async throws -> String? {
        let status = try await run(["status", "--json"])
        let object = try PrintedObject(try #require(status.lines.first))
        return object.objects("accounts").first { $0.string("account") == "alice" }?.string("head")
    }

    /// The position before the first commit of alice's store.
    func positionBeforeAll() async throws -> String? {
        try await head().map { $0.prefix { $0 != ":" } + ":0" }
    }
}

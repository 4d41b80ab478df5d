import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperSimulation
import Testing

@Suite("Acting as a helper")
struct IngestProcessTests {
    private func message(_ number: Int, in conversation: String = "c") -> String {
        #"{"conversation":"\#(conversation)","id":"m-\#(number)","seq":\#(number),"sender":"s","#
            + #""sent_at":"2026-01-01T00:00:00Z","body":"text \#(number)"}"# + "\n"
    }

    private func messages(_ numbers: ClosedRange<Int>) -> String {
        numbers.map { message($0) }.joined()
    }

    private func page(_ after: String?, _ next: String) -> String {
        let after = after.map { "\"\($0)\"" } ?? "null"
        return #"{"type":"page","stream":"inbox","after":\#(after),"next":"\#(next)"}"# + "\n"
    }

    @Test(
        "each batch has a receipt with the lines that it is for, in order, and a redelivery changes nothing"
    )
    func receipts() async throws {
        let workspace = try await TestWorkspace()
        let text = messages(1...250)
        let first = try await workspace.ingest(text)
        #expect(first.status == .exited(0))
        #expect(first.errors == ["lockkeeper: into alice, the only active account"])
        var next = 1
        for line in first.lines.dropLast() {
            guard case .receipt(let receipt) = try CommandOutput(Array(line.utf8)) else {
                Issue.record("no receipt: \(line)")
                continue
            }
            #expect(receipt.lines.lowerBound == next)
            #expect(receipt.lines.count == receipt.eventCount)
            #expect(receipt.commit != nil)
            #expect(try PrintedObject(line).has("waited_ms"))
            next = receipt.lines.upperBound + 1
        }
        #expect(next == 251)
        #expect(try first.summary.int("inserted") == 250)

        let again = try await workspace.ingest(text)
        #expect(try again.summary.int("duplicate") == 250 && again.summary.int("commits") == 0)
        #expect(again.lines[0].contains(#""commit":null"#))
        try await workspace.expectSound()
    }

    @Test("receipts come in the order of the lines, whichever thread synced for them")
    func receiptOrder() async throws {
        let workspace = try await TestWorkspace()
        let helper = try workspace.start(["ingest", "--account", "alice"])
        var last = 0
        // Two batches that are ready together: the first is synced for by the sync thread, because
        // the second stands behind it, and the second by the writer's own.
        for round in 0..<100 {
            helper.send(Array(messages((round * 200 + 1)...(round * 200 + 200)).utf8))
            while last < (round + 1) * 200 {
                let line = try #require(await helper.nextLine())
                guard case .receipt(let receipt) = try CommandOutput(Array(line.utf8)) else {
                    Issue.record("no receipt: \(line)")
                    return
                }
                try #require(receipt.lines.lowerBound == last + 1)
                last = receipt.lines.upperBound
            }
        }
        helper.closeInput()
        #expect(await helper.end().status == .exited(0))
    }

    @Test(
        "a page without its predecessor stores its events and waits, and says what was expected (I-4)"
    )
    func gap() async throws {
        let workspace = try await TestWorkspace()
        let early = try await workspace.ingest(message(3) + page("a", "b"))
        #expect(early.status == .exited(75))
        #expect(early.errorText.contains("expected a page after no cursor, found one after 'a'"))
        let gap = try #require(try early.summary.objects("gaps").first)
        #expect(gap.string("stream") == "inbox" && gap.string("found") == "a")
        #expect(try early.summary.int("inserted") == 1)
        let waiting = try await workspace.run(["cursors"])
        #expect(waiting.lines == ["inbox\tno cursor\t1 pages wait for an earlier one"])

        // What cannot be read is not hidden by what waits: trying again tells nobody of it.
        let both = try await workspace.ingest("hello\n" + page("a", "b"))
        #expect(both.status == .exited(65))
        #expect(both.errorText.contains("expected a page after no cursor"))
        let closing = try await workspace.ingest(message(1) + page(nil, "a"))
        #expect(closing.status == .exited(0), "\(closing.errorText)")
        #expect(try closing.summary.object("cursors").string("inbox") == "b")
        #expect(try await workspace.run(["cursors"]).lines == ["inbox\tb"])
    }

    @Test("a folder in the place of a file is said to be one, with what to do instead")
    func folder() async throws {
        let workspace = try await TestWorkspace()
        let result = try await workspace.run(["ingest", workspace.root])
        #expect(result.status == .exited(74))
        #expect(result.errorText.contains("is a folder. Name a file in it"), "\(result.errorText)")
    }

    @Test("with --refuse-gaps such a page is refused whole, and what came before it stays")
    func refusedGap() async throws {
        let workspace = try await TestWorkspace()
        let text =
            message(1) + "hello\n" + page(nil, "a") + message(2) + page("x", "y") + message(3)
        let result = try await workspace.ingest(text, ["--refuse-gaps"])
        #expect(result.status == .exited(75))
        #expect(result.errorText.contains("expected a page after 'a', found one after 'x'"))
        #expect(result.errorText.contains("line 2: "))
        let summary = try result.summary
        #expect(summary.int("inserted") == 1 && summary.int("quarantined") == 1)
        // The page with its event, and what was read behind it.
        #expect(summary.int("refused") == 3)
        let timeline = try await workspace.run(["timeline", "c", "--json"])
        #expect(timeline.lines.count == 1)
        #expect(try await workspace.run(["cursors"]).lines == ["inbox\ta"])
    }

    @Test(
        "a helper whose account was switched away from is refused and says what was not stored (I-2)"
    )
    func superseded() async throws {
        let workspace = try await TestWorkspace()
        let helper = try workspace.start(["ingest", "--account", "alice", "--json"])
        helper.send(Array(messages(1...10).utf8))
        #expect(await helper.nextLine()?.contains(#""inserted":10"#) == true)
        let switched = try await workspace.run(["switch", "bob", "--create"])
        #expect(switched.status == .exited(0), "\(switched.errorText)")

        // Its input stays open: it must end because of the switch, not because of an end.
        helper.send(Array(messages(11...15).utf8))
        let result = await helper.end()
        #expect(result.status == .exited(76), "\(result.errorText)")
        #expect(try result.summary.int("refused") == 5 && result.summary.int("inserted") == 10)
        let error = try PrintedObject(try #require(result.errors.last)).object("error")
        #expect(error.string("code") == "superseded" && error.int("exit") == 76)
        #expect(error.string("explanation")?.contains("generation 2") == true)
        #expect(error.string("explanation")?.contains("generation 4") == true)

        let alice = try await workspace.run(["timeline", "c", "--account", "alice"])
        #expect(alice.status == .exited(0) && alice.lines.count == 10)
        #expect(try await workspace.run(["conversations"]).lines.isEmpty)
        try await workspace.expectSound(account: "alice")
        try await workspace.expectSound(account: "bob")
    }

    @Test("a contract under which only durable receipts are safe refuses the others (R-1)")
    func contract() async throws {
        let workspace = try await TestWorkspace(accountOptions: ["--retention", "drops"])
        let result = try await workspace.ingest(message(1), ["--durability", "committed"])
        #expect(result.status == .exited(64))
        #expect(result.errorText.contains("Ask for durability 'durable'"))
        #expect(try await workspace.ingest(message(1)).status == .exited(0))
    }

    @Test("a stopped helper is named as stopped, and others go on (I-12)")
    func stopped() async throws {
        let workspace = try await TestWorkspace()
        let helper = try workspace.start(["ingest", "--account", "alice", "--name", "sleeper"])
        helper.send(Array(message(1).utf8))
        _ = await helper.nextLine()
        try helper.process.signal(.stop)
        let other = try await workspace.ingest(message(2))
        #expect(other.status == .exited(0))
        let status = try await workspace.run(["status", "--json"])
        let account = try #require(try PrintedObject(status.lines[0]).objects("accounts").first)
        let process = try #require(
            account.objects("processes").first { $0.string("name") == "sleeper" }
        )
        #expect(process.string("condition") == "stopped")
        #expect(process.int("pid") == Int(helper.process.pid))
        try helper.process.signal(.resume)
        helper.closeInput()
        #expect(await helper.end().status == .exited(0))
    }

    @Test("memory stays flat: five times the events take no more than half as much again (I-9)")
    func memory() async throws {
        let workspace = try await TestWorkspace()
        let helper = try workspace.start(["ingest", "--account", "alice"])
        func peak(after count: Int, from start: Int) async throws -> Int {
            for chunk in stride(from: start, to: count, by: 1000) {
                helper.send(Array(messages((chunk + 1)...(chunk + 1000)).utf8))
            }
            var last = 0
            while last < count, let line = await helper.nextLine() {
                if case .receipt(let receipt) = try CommandOutput(Array(line.utf8)) {
                    last = receipt.lines.upperBound
                }
            }
            #expect(last == count)
            let status = try FileSystem.contents(of: "/proc/\(helper.process.pid)/status")
            let line = String(decoding: status, as: UTF8.self).split(separator: "\n")
                .first { $0.hasPrefix("VmHWM:") }
            return try #require(line?.split(separator: " ").dropLast().last.flatMap { Int($0) })
        }
        let small = try await peak(after: 8000, from: 0)
        let large = try await peak(after: 40_000, from: 8000)
        helper.closeInput()
        #expect(await helper.end().status == .exited(0))
        #expect(large < small + small / 2, "\(small) KiB after 8 000, \(large) KiB after 40 000")
    }

    @Test("a file that cannot be read is named, and nothing is made")
    func missingFile() async throws {
        let workspace = try await TestWorkspace()
        let result = try await workspace.run(["ingest", "/nonexistent/feed"])
        #expect(result.status == .exited(74))
        #expect(result.errorText.contains("/nonexistent/feed"))
        let folder = try await workspace.run(["ingest", workspace.folder.path])
        #expect(folder.status == .exited(74), "\(folder.errorText)")
    }
}

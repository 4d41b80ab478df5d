import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation
import Testing

@Suite("Packets for accounts that cannot take them now, as processes see it (B50, I-12)")
struct InboxProcessTests {
    private func line(_ number: Int) -> [UInt8] {
        Array(
            (#"{"conversation":"c","id":"m-\#(number)","seq":\#(number),"sender":"s","#
                + #""sent_at":"2026-01-01T00:00:00Z","body":"b"}"# + "\n").utf8
        )
    }

    private func deliver(
        _ workspace: TestWorkspace,
        _ account: String,
        _ numbers: ClosedRange<Int>
    ) async throws -> CommandRunner.Result {
        try await workspace.run(
            ["ingest", "--deliver", "--name", "push", "--account", account],
            input: numbers.flatMap(line)
        )
    }

    private func messageCount(_ workspace: TestWorkspace, _ account: String) async throws -> Int {
        try await workspace.run(["export", "--account", account]).lines.count
    }

    @Test(
        "a push for an account that is not active is kept, listed, and applied with its activation"
    )
    func inactive() async throws {
        let workspace = try await TestWorkspace()
        _ = try await workspace.run(["account", "add", "bob"])
        let refused = try await workspace.run(["ingest", "--account", "bob"], input: line(1))
        #expect(refused.status == .exited(69))
        let kept = try await deliver(workspace, "bob", 1...3)
        #expect(kept.status == .exited(0), "\(kept.errorText)")
        let packet = try PrintedObject(try #require(kept.lines.first)).object("kept")
        let name = try #require(packet.string("packet"))
        #expect(packet.string("reason") == "accountInactive" && packet.ints("lines") == [1, 3])
        #expect(try kept.summary.int("kept") == 1)
        let listed = try await workspace.run(["inbox", "list", "--account", "bob"])
        #expect(
            listed.lines.map { $0.hasPrefix("\(name)\twaiting\taccountInactive\tpush\t") } == [true]
        )
        let early = try await workspace.run(["inbox", "drain", "--account", "bob"])
        #expect(early.status == .exited(69))

        let stored = try await deliver(workspace, "alice", 7...7)
        #expect(try PrintedObject(try #require(stored.lines.first)).int("inserted") == 1)
        let unknown = try await deliver(workspace, "carol", 1...1)
        #expect(unknown.status == .exited(67), "\(unknown.errorText)")

        let switched = try await workspace.run(["switch", "bob"])
        #expect(switched.status == .exited(0), "\(switched.errorText)")
        #expect(try await workspace.run(["inbox", "list", "--account", "bob"]).lines == [])
        #expect(try await messageCount(workspace, "bob") == 3)
        #expect(try await messageCount(workspace, "alice") == 1)
        for account in ["alice", "bob"] { try await workspace.expectSound(account: account) }
    }

    @Test(
        "a kept packet is dropped by hand, not without saying so twice, and unknown ones are named"
    )
    func drop() async throws {
        let workspace = try await TestWorkspace()
        _ = try await workspace.run(["account", "add", "bob"])
        let kept = try await deliver(workspace, "bob", 1...1)
        let packet = try PrintedObject(try #require(kept.lines.first)).object("kept")
        let name = try #require(packet.string("packet"))
        let shown = try await workspace.run(["inbox", "show", name, "--account", "bob"])
        #expect(shown.status == .exited(0) && shown.lines.count == 1)
        #expect(shown.lines.first?.contains("\"id\":\"m-1\"") == true)
        let drop = ["inbox", "drop", name, "--account", "bob"]
        #expect(try await workspace.run(drop).status == .exited(64))
        #expect(try await workspace.run(drop + ["--yes"]).status == .exited(0))
        #expect(try await workspace.run(drop + ["--yes"]).status == .exited(64))
        let retry = ["inbox", "retry", name, "--account", "bob"]
        #expect(try await workspace.run(retry).status == .exited(64))
        let show = ["inbox", "show", name, "--account", "bob"]
        #expect(try await workspace.run(show).status == .exited(64))
        #expect(try await workspace.run(["inbox", "list", "--account", "bob"]).lines == [])
    }

    @Test(
        "a damaged packet is found by check and doctor, with what to do; retry says what became of it"
    )
    func damaged() async throws {
        let workspace = try await TestWorkspace()
        _ = try await workspace.run(["account", "add", "bob"])
        _ = try await workspace.run(["account", "activate", "bob"])
        _ = try await workspace.run(["account", "sign-out", "bob"])
        let delivered = try await deliver(workspace, "bob", 1...1)
        let kept = try PrintedObject(try #require(delivered.lines.first)).object("kept")
        let name = try #require(kept.string("packet"))
        let file = workspace.root + "/accounts/bob/inbox/waiting/" + name
        let whole = try FileSystem.contents(of: file)
        try FileSystem.replaceFile(at: file, with: whole.dropLast(2))
        // While it waits, and once it is parked.
        for isParked in [false, true] {
            if isParked { _ = try await workspace.run(["account", "activate", "bob"]) }
            for command in ["check", "doctor"] {
                let found = try await workspace.run([command, "--account", "bob"])
                #expect(found.status == .exited(1))
                let line = found.lines.first { $0.hasPrefix("packet-torn: packet \(name): ") }
                #expect(line?.contains("'lockkeeper inbox drop \(name) --yes'") == true)
            }
        }
        let retry = ["inbox", "retry", name, "--account", "bob"]
        let again = try await workspace.run(retry)
        #expect(again.status == .exited(1) && again.lines == ["\(name)\tparked: torn"])
        try FileSystem.replaceFile(
            at: workspace.root + "/accounts/bob/inbox/parked/" + name + ".torn",
            with: whole
        )
        let repaired = try await workspace.run(retry + ["--json"])
        #expect(repaired.status == .exited(0), "\(repaired.errorText)")
        #expect(
            repaired.lines
                == [#"{"v":1,"packet":"\#(name)","state":"applied","reason":null}"#]
        )
        #expect(try await messageCount(workspace, "bob") == 1)
        #expect(try await workspace.run(retry).status == .exited(64))
        try await workspace.expectSound(account: "bob")
    }

    @Test(
        "a packet for an account whose folder is missing is refused, and makes no half of a folder"
    )
    func folderMissing() async throws {
        let workspace = try await TestWorkspace()
        _ = try await workspace.run(["account", "add", "bob"])
        let folder = workspace.root + "/accounts/bob"
        try FileSystem.rename(folder, to: folder + ".away")
        let refused = try await deliver(workspace, "bob", 1...1)
        #expect(refused.status == .exited(74), "\(refused.errorText)")
        #expect(refused.errorText.contains("the packet was not kept. Put the folder back"))
        #expect(try FileSystem.status(folder) == nil)
        try FileSystem.rename(folder + ".away", to: folder)
        #expect(try await deliver(workspace, "bob", 1...1).status == .exited(0))
    }

    @Test("retry of a packet that nothing can take now says why it waits")
    func retryInVain() async throws {
        let workspace = try await TestWorkspace()
        _ = try await workspace.run(["account", "add", "bob"])
        let delivered = try await deliver(workspace, "bob", 1...1)
        let kept = try PrintedObject(try #require(delivered.lines.first)).object("kept")
        let name = try #require(kept.string("packet"))
        let retry = try await workspace.run(["inbox", "retry", name, "--account", "bob"])
        #expect(retry.status == .exited(75) && retry.lines.count == 1)
        let line = retry.lines.first ?? ""
        #expect(line.hasPrefix("\(name)\twaiting: ") && line.contains("active"), "\(line)")
    }

    @Test("a line that is no event is named by a delivery too, stored or kept, and the code is 65")
    func unreadable() async throws {
        let workspace = try await TestWorkspace()
        _ = try await workspace.run(["account", "add", "bob"])
        for account in ["alice", "bob"] {
            let text = line(1) + Array("no event\n".utf8) + line(2)
            let delivered = try await workspace.run(
                ["ingest", "--deliver", "--account", account],
                input: text
            )
            #expect(delivered.status == .exited(65))
            #expect(delivered.errors.contains { $0.hasPrefix("line 2: ") }, "\(delivered.errors)")
            let summary = try delivered.summary
            #expect(summary.int("lines") == 3 && summary.int("unreadable") == 1)
        }
        _ = try await workspace.run(["switch", "bob"])
        for account in ["alice", "bob"] {
            #expect(try await messageCount(workspace, account) == 2)
            let kept = try await workspace.run(["quarantine", "list", "--account", account])
            #expect(kept.lines.count == 1)
        }
    }

    @Test(
        "ingest without an input says so instead of storing nothing",
        arguments: [[], ["--deliver"]]
    )
    func withoutInput(_ options: [String]) async throws {
        let workspace = try await TestWorkspace()
        let words = [CommandRunner.program, "ingest", "--root", workspace.root] + options
        let shell = try RunningCommand(
            ["-c", words.map { "'\($0)'" }.joined(separator: " ") + " <&-"],
            program: "/bin/sh"
        )
        shell.closeInput()
        let ended = await shell.end()
        #expect(ended.status == .exited(74) && ended.lines == [])
        #expect(ended.errorText.contains("The events cannot be read"), "\(ended.errorText)")
    }

    @Test("a push while a stopped process holds the account is kept, and applied when that goes on")
    func stoppedHolder() async throws {
        let workspace = try await TestWorkspace()
        let holder = try workspace.start(["ingest", "--name", "slow"])
        // Stopped somewhere in the middle of its work; often enough inside a transaction.
        var reasons: Set<String> = []
        var number = 0
        for attempt in 0..<20 where !reasons.contains("busy") {
            for _ in 0..<40 {
                number += 1
                holder.send(line(number))
            }
            if attempt == 0 { _ = await holder.nextLine() }
            try holder.process.signal(.stop)
            number += 1
            let delivery = try await deliver(workspace, "alice", number...number)
            #expect(delivery.status == .exited(0), "\(delivery.errorText)")
            let printed = try PrintedObject(try #require(delivery.lines.first))
            let isKept = printed.has("kept")
            reasons.insert(isKept ? try printed.object("kept").string("reason") ?? "?" : "stored")
            try holder.process.signal(.resume)
        }
        holder.closeInput()
        #expect(await holder.end().status == .exited(0))
        let drained = try await workspace.run(["inbox", "drain"])
        #expect(drained.status == .exited(0), "\(drained.errorText)")
        #expect(try await messageCount(workspace, "alice") == number)
        try await workspace.expectSound()
    }

    @Test(
        "helpers that are killed at any moment while accounts are switched lose nothing they kept"
    )
    func killed() async throws {
        let workspace = try await TestWorkspace()
        _ = try await workspace.run(["account", "add", "bob", "--activate"])
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        var promised: [String: Set<Int>] = ["alice": [], "bob": []]
        var number = 0
        for round in 0..<12 {
            let account = ["alice", "bob"][round % 2]
            let helper = try workspace.start(["ingest", "--deliver", "--account", account])
            let killAt = Int.random(in: 1...12, using: &generator)
            for step in 1...12 {
                number += 1
                helper.send(line(number))
                if step == killAt {
                    try helper.process.signal(.kill)
                    break
                }
                // A receipt, or that it is kept: either is a promise. The summary of a run that had to end
                // because a packet could be neither is none.
                guard let said = await helper.nextLine(), try !PrintedObject(said).has("summary")
                else { break }
                promised[account]?.insert(number)
                if step == 3 {
                    let other = ["bob", "alice"][round % 2]
                    let change =
                        round % 4 < 2
                        ? ["account", "sign-out", account] : ["account", "activate", other]
                    let changed = try await workspace.run(change)
                    // Signing out of an account that is not active is refused.
                    #expect([.exited(0), .exited(69)].contains(changed.status))
                }
            }
            _ = await helper.end()
        }
        for account in ["alice", "bob"] {
            let activated = try await workspace.run(["account", "activate", account])
            #expect(activated.status == .exited(0), "\(activated.errorText)")
            // Who activates an account waits a moment for what was kept, and leaves the rest to others.
            let drained = try await workspace.run(["inbox", "drain", "--account", account])
            #expect(drained.status == .exited(0), "\(drained.errorText)")
            let left = try await workspace.run(["inbox", "list", "--account", account])
            #expect(left.lines == [])
            let export = try await workspace.run(["export", "--account", account])
            for number in promised[account] ?? [] {
                #expect(
                    export.lines.contains { $0.contains("\"m-\(number)\"") },
                    "\(number) is lost"
                )
            }
            try await workspace.expectSound(account: account)
        }
    }
}

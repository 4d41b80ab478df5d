import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperSimulation
import LockkeeperTestSupport
import Testing

@Suite("The command repair: what it says, what it writes down, and how it ends (5.8, I-11)")
struct RepairProcessTests {
    private static let messageCount = 2_000
    private static let pageByteCount = 4096

    private func lines() -> [UInt8] {
        (1...Self.messageCount).flatMap { number in
            Array(
                (#"{"conversation":"c","id":"m-\#(number)","seq":\#(number),"sender":"s","#
                    + #""sent_at":"2026-01-01T00:00:00Z","body":"message \#(number)"}"# + "\n").utf8
            )
        }
    }

    private func path(_ workspace: TestWorkspace, _ number: Int) -> String {
        "\(workspace.root)/accounts/alice/messages-\(number).db"
    }

    /// Overwrites two pages with messages, not the first and not the last ones, with rubbish.
    private func damage(_ path: String) throws {
        let connection = try openWithSQLiteAlone(path)
        _ = try connection.checkpoint(.truncate)
        let root = try connection.value(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'lk_message'"
        )
        try connection.close()
        let bytes = try FileSystem.contents(of: path)
        let start = (Int(try #require(root?.integer)) - 1) * Self.pageByteCount
        // A page above pages with rows: the place of each cell, in which the page below comes first.
        try #require(bytes[start] == 5)
        let file = try FileDescriptor(opening: path, [.readWrite])
        for cell in [3, 7] {
            let pointer = start + 12 + 2 * cell
            let offset = start + Int(bytes[pointer]) << 8 + Int(bytes[pointer + 1])
            let page = bytes[offset..<(offset + 4)].reduce(0) { $0 << 8 | Int($1) }
            try file.write(
                [UInt8](repeating: 0xa5, count: Self.pageByteCount),
                at: Int64((page - 1) * Self.pageByteCount)
            )
        }
    }

    @Test(
        "damage is named by check, repaired once, and told as text, as JSON, and by the exit code"
    )
    func repair() async throws {
        let workspace = try await TestWorkspace()
        let input = lines()
        #expect(try await workspace.run(["ingest"], input: input).status == .exited(0))
        let sound = try await workspace.run(["repair", "alice"])
        #expect(sound.status == .exited(0), "\(sound.errorText)")
        #expect(sound.lines == ["account alice: nothing is damaged"])

        try damage(path(workspace, 1))
        let check = try await workspace.run(["check", "--account", "alice"])
        #expect(check.status == .exited(1))
        #expect(check.lines.contains { $0.contains("lockkeeper repair alice") }, "\(check.lines)")

        let repaired = try await workspace.run(["repair", "alice", "--json"])
        #expect(repaired.status == .exited(1), "\(repaired.errorText)")
        #expect(repaired.errorText.contains("salvaging messages"), "\(repaired.errorText)")
        let line = try #require(repaired.lines.first)
        let report = try PrintedObject(line)
        #expect(repaired.lines.count == 1 && report.string("outcome") == "repaired")
        #expect(report.int("whole") == 0 && report.string("account") == "alice")
        let messages = try #require(report.objects("databases").first)
        #expect(report.objects("databases").count == 1)
        #expect(messages.string("database") == "messages")
        #expect(messages.string("method") == "salvaged" && messages.string("log") == "read")
        let tables = messages.objects("tables")
        let table = try #require(tables.first { $0.string("table") == "lk_message" })
        let kept = try #require(table.int("kept"))
        let lost = try #require(table.int("lost"))
        #expect(kept + lost == Self.messageCount && lost > 20 && lost < 200)
        // What is exported is what was kept, and not what is there by its id alone.
        #expect(try await workspace.run(["export"]).lines.count == kept)
        let folder = try #require(report.string("folder"))
        let written = try FileSystem.contents(of: "\(folder)/report.json")
        #expect(String(decoding: written, as: UTF8.self) == line + "\n")
        #expect(try FileSystem.status("\(folder)/messages-1.db") != nil)

        let again = try await workspace.run(["repair", "alice"])
        #expect(again.status == .exited(0), "\(again.errorText)")
        #expect(again.lines == ["account alice: nothing is damaged"])
        // The server gives everything again, and what was kept is known.
        #expect(try await workspace.run(["ingest"], input: input).status == .exited(0))
        #expect(try await workspace.run(["export"]).lines.count == Self.messageCount)
        try await workspace.expectSound()
        try await expectText(workspace)
    }

    @Test(
        "on a terminal a bar shows how far it is, and goes before the report comes",
        .enabled(if: Self.hasScript, "it takes a program that makes one")
    )
    func bar() async throws {
        let workspace = try await TestWorkspace()
        #expect(try await workspace.run(["ingest"], input: lines()).status == .exited(0))
        try damage(path(workspace, 1))
        let shell = "\(CommandRunner.program) repair alice --root \(workspace.root)"
        let command = try RunningCommand(["-qec", shell, "/dev/null"], program: Self.script)
        command.closeInput()
        let result = await command.end()
        #expect(result.status == .exited(1), "\(result.lines)")
        let start = "\r\u{1b}[K"
        let shown = result.lines.joined(separator: "\n")
        #expect(shown.contains("\(start)lockkeeper: salvaging messages [##"), "\(shown)")
        #expect(shown.contains("\(start)account alice is repaired, generation "), "\(shown)")
    }

    private static let script = "/usr/bin/script"
    private static var hasScript: Bool { (try? FileSystem.status(script)) != nil }

    /// Damages the repaired files once more, and expects a report for people.
    private func expectText(_ workspace: TestWorkspace) async throws {
        try damage(path(workspace, 2))
        let repaired = try await workspace.run(["repair", "alice"])
        #expect(repaired.status == .exited(1), "\(repaired.errorText)")
        let first = try #require(repaired.lines.first)
        #expect(first.hasPrefix("account alice is repaired, generation "))
        #expect(repaired.lines.contains("messages: what could be read was copied"))
        let table = try #require(repaired.lines.first { $0.contains("lk_message (refetched): ") })
        #expect(table.contains("rows kept and compared, ") && table.contains(" lost"))
        let folder = "\(workspace.root)/accounts/alice/damaged/recovery-2"
        #expect(repaired.lines.last == "the damaged files are in \(folder)")
        let written = try FileSystem.contents(of: "\(folder)/report.txt")
        #expect(
            String(decoding: written, as: UTF8.self)
                == repaired.lines.map { $0 + "\n" }.joined()
        )
        try await workspace.expectSound()
    }
}

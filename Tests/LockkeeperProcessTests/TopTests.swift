import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation
import LockkeeperTestSupport
import Testing

@testable import LockkeeperCommand

@Suite("top: what is live in the terminal")
struct TopTests {
    private func instant(_ milliseconds: Int64) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: milliseconds * 1_000_000)
    }

    private func sample(
        commit: Int64,
        _ processes: [(pid: Int32, activity: String, condition: String)] = []
    ) -> TopSample {
        TopSample(
            root: "/chat",
            hostPID: 7,
            accounts: [
                TopSample.Account(
                    id: "alice",
                    state: "active",
                    generation: 2,
                    commit: commit,
                    logByteCount: 4096,
                    toDo: "inbox 0",
                    problem: nil,
                    processes: processes.map {
                        TopSample.Process(
                            pid: $0.pid,
                            name: "p\($0.pid)",
                            role: "helper",
                            activity: $0.activity,
                            duration: .milliseconds(20),
                            condition: $0.condition,
                            locks: $0.activity == "writing" ? ["WRITER"] : []
                        )
                    }
                )
            ],
            stages: nil
        )
    }

    @Test("rates are those of the last five seconds, and another boot's jump is no work")
    func rates() {
        var model = TopModel()
        for second in 0...20 {
            model.take(sample(commit: Int64(second * 100)), at: instant(Int64(second) * 1_000))
        }
        var screen = model.lines(columnCount: 100, lineCount: 20).joined(separator: "\n")
        #expect(screen.contains(" 100 commits/s"), "\(screen)")
        model.take(sample(commit: 1 << 33), at: instant(21_000))
        screen = model.lines(columnCount: 100, lineCount: 20).joined(separator: "\n")
        #expect(screen.contains(" 0 commits/s"), "\(screen)")
    }

    @Test("each process has a lane of what it did, which ends with it; a stopped one stands out")
    func lanes() {
        var model = TopModel()
        for (index, activity) in ["idle", "waiting", "writing", "syncing", "idle"].enumerated() {
            model.take(
                sample(commit: 1, [(11, activity, "running"), (12, "writing", "stopped")]),
                at: instant(Int64(index) * 500)
            )
        }
        let lines = model.lines(columnCount: 100, lineCount: 20)
        #expect(lines.contains { $0.contains("11 p11") && $0.hasSuffix(" .wWs.") }, "\(lines)")
        #expect(lines.contains { $0.contains("12 p12") && $0.hasSuffix(" !!!!!") }, "\(lines)")
        model.take(sample(commit: 1, [(12, "idle", "running")]), at: instant(3_000))
        #expect(!model.lines(columnCount: 100, lineCount: 20).contains { $0.contains("p11") })
    }

    @Test("the screen has no more lines and none longer than the terminal, whatever its size")
    func size() {
        var model = TopModel()
        let many = (1...30).map { (pid: Int32($0), activity: "idle", condition: "running") }
        for second in 0...200 {
            model.take(sample(commit: 1, many), at: instant(Int64(second) * 500))
        }
        for (columnCount, lineCount) in [(1, 1), (20, 5), (80, 24), (300, 60)] {
            let lines = model.lines(columnCount: columnCount, lineCount: lineCount)
            #expect(lines.count <= lineCount)
            #expect(lines.allSatisfy { $0.count <= columnCount })
        }
    }

    /// A server of tmux of this test's own.
    private struct Tmux {
        let socket: String
        static var isThere: Bool { (try? FileSystem.status("/usr/bin/tmux")) != nil }

        func run(_ arguments: [String]) async throws -> CommandRunner.Result {
            let command = try RunningCommand(
                ["-S", socket, "-f", "/dev/null"] + arguments,
                program: "tmux",
                environment: ["TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "TMUX": ""]
            )
            command.closeInput()
            return await command.end()
        }

        /// Looks at the screen until it is as expected.
        func awaitScreen(_ isExpected: ([String]) -> Bool) async throws -> [String] {
            let deadline = patience()
            var lines: [String] = []
            while !deadline.hasPassed(at: SystemClock().now()) {
                lines = try await run(["capture-pane", "-p"]).lines
                if isExpected(lines) { return lines }
            }
            Issue.record("never seen; the screen is \(lines)")
            return lines
        }
    }

    @Test(
        "in tmux it shows what happens, is resized, and leaves the terminal as it was",
        .enabled(if: Tmux.isThere, "needs tmux")
    )
    func terminal() async throws {
        let workspace = try await TestWorkspace()
        let tmux = Tmux(socket: workspace.folder.path("tmux"))
        let shell =
            "\(CommandRunner.program) top --root \(workspace.root); echo left $?;"
            + " stty -a | grep -o -- '-*icanon\\|-*echo ' ; exec cat"
        let begun = try await tmux.run(["new-session", "-d", "-x", "100", "-y", "20", shell])
        #expect(begun.status == .exited(0), "\(begun.errorText)")
        _ = try await tmux.awaitScreen { $0.contains { $0.contains("alice: active") } }
        let line =
            #"{"conversation":"c","id":"m1","seq":1,"sender":"s","#
            + #""sent_at":"2026-01-01T00:00:00Z","body":"b"}"#
        #expect(try await workspace.ingest(line, ["--name", "bringer"]).status == .exited(0))
        let shown = try await tmux.awaitScreen { $0.contains { $0.contains("by bringer") } }
        #expect(shown.first?.contains("q quits") == true, "\(shown)")
        _ = try await tmux.run(["resize-window", "-x", "44", "-y", "6"])
        _ = try await tmux.awaitScreen { lines in
            lines.count <= 6 && lines.contains { $0.contains("alice: active") }
                && lines.first?.hasPrefix("lockkeeper top") == true
        }
        _ = try await tmux.run(["resize-window", "-x", "100", "-y", "20"])
        _ = try await tmux.awaitScreen { $0.contains { $0.contains("last ranges") } }
        _ = try await tmux.run(["send-keys", "q"])
        let left = try await tmux.awaitScreen { $0.contains { $0.hasPrefix("left ") } }
        #expect(left.first == "left 0" && !left.contains { $0.contains("q quits") }, "\(left)")
        let settings = try await tmux.awaitScreen { $0.contains { $0.contains("icanon") } }
        #expect(settings.contains("icanon") && !settings.contains("-icanon"), "\(settings)")
        #expect(!settings.contains { $0.hasPrefix("-echo") }, "\(settings)")
        let cursor = try await tmux.run(["display-message", "-p", "#{cursor_flag}"])
        #expect(cursor.lines == ["1"])
        _ = try await tmux.run(["kill-server"])
        try await workspace.expectSound()
    }

    @Test("without a terminal it says what is for programs")
    func noTerminal() async throws {
        let workspace = try await TestWorkspace()
        let refused = try await workspace.run(["top"])
        #expect(refused.status == .exited(64))
        #expect(refused.errorText.contains("status --json"))
    }
}

import Glibc
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation
import LockkeeperTestSupport
import Testing

/// A process that is told lines and answers lines. Every wait has an end, and a failed test leaves
/// no process behind.
final class LineProcess: Sendable {
    private struct Output: Sendable {
        var lines: [String] = []
        var hasEnded = false
    }

    private let process: ManagedProcess
    private let output: Monitor<Output>

    init(_ name: String, _ program: String, _ arguments: [String]) throws {
        CurrentProcess.ignoreBrokenPipes()
        let output = Monitor(Output())
        self.output = output
        process = try ManagedProcess(name: name, program: program, arguments: arguments) { event in
            output.withLock { output in
                switch event {
                case .line(let line): output.lines.append(String(decoding: line, as: UTF8.self))
                case .ended: output.hasEnded = true
                }
            }
            output.broadcast()
        }
    }

    deinit { try? process.signal(.kill) }

    var pid: Int32 { process.pid }

    /// Tells it a line.
    func tell(_ line: String) { process.send(Array((line + "\n").utf8), lineCount: 1) }

    /// Its next line; throws where it ends or says nothing until then. Blocks the thread.
    func hear(until deadline: Deadline = patience()) throws -> String {
        let line = output.wait(until: deadline) { output -> String?? in
            if !output.lines.isEmpty { return .some(output.lines.removeFirst()) }
            return output.hasEnded ? .some(nil) : .none
        }
        guard let line = line ?? nil else {
            throw Silence(process: process.name, lastErrors: process.lastErrors)
        }
        return line
    }

    /// Tells it a line and waits for the answer.
    func ask(_ line: String, within wait: Duration = .seconds(20)) throws -> String {
        tell(line)
        return try hear(until: Deadline(after: wait, from: SystemClock().now()))
    }

    /// The same for a caller that must not block.
    func asked(_ line: String) async throws -> String {
        try await onOwnThread { [self] in try ask(line) }
    }

    /// Whether a line has come that nobody has heard yet.
    var hasAnswered: Bool { output.withLock { !$0.lines.isEmpty } }

    /// Stops it, and waits until each of its threads stands.
    func stop() throws {
        try process.signal(.stop)
        let stands = try eventually {
            try FileSystem.list("/proc/\(pid)/task").allSatisfy { thread in
                let line = try FileSystem.contents(of: "/proc/\(pid)/task/\(thread)/stat")
                return line.lastIndex(of: UInt8(ascii: ")")).map { line[$0 + 2] }
                    == UInt8(ascii: "T")
            }
        }
        #expect(stands)
    }

    func proceed() throws { try process.signal(.resume) }

    /// Kills it, and waits until it is dead. A child of it may live on and keep its output open.
    func kill() throws {
        let identity = try #require(try ProcessIdentity.read(pid: pid))
        try process.signal(.kill)
        #expect(try eventually { try [.zombie, .gone].contains(identity.condition()) })
    }

    /// Ends its input, and gives how it ended.
    func end() -> LockkeeperPlatform.ExitStatus? {
        process.closeInput()
        return process.wait(until: patience())
    }

    struct Silence: Error {
        let process: String
        let lastErrors: [String]
    }
}

extension LineProcess {
    /// A process that has the account of a workspace open; see `AccountTool`.
    static func account(_ root: String, _ name: String, _ limits: String...) throws -> LineProcess {
        let process = try starting(root, name, limits)
        #expect(try process.hear() == "ready")
        return process
    }

    /// The same before it has said that it is ready.
    static func starting(_ root: String, _ name: String, _ limits: String...) throws -> LineProcess
    {
        try starting(root, name, limits)
    }

    private static func starting(
        _ root: String,
        _ name: String,
        _ limits: [String]
    ) throws -> LineProcess {
        try tool(name, ["account", root, name] + limits)
    }

    /// A process that does one thing with a workspace; see `TaskTool`.
    static func task(_ root: String, _ words: [String]) throws -> LineProcess {
        try tool("task", ["task", root] + words)
    }

    /// A process that has a database open by SQLite alone, before the faulting VFS.
    static func plain(_ path: String) throws -> LineProcess {
        let process = try tool("plain", ["plain", path])
        #expect(try process.hear() == "ready")
        return process
    }

    /// A process that keeps or applies packets; see `InboxTool`.
    static func inbox(_ root: String, _ words: [String]) throws -> LineProcess {
        try tool("inbox", ["inbox", root] + words)
    }

    /// A process that has the other state of an account open; see `StateTool`.
    static func state(_ root: String, _ name: String, keys: String? = nil) throws -> LineProcess {
        let process = try tool(name, ["state", root, name] + (keys.map { [$0] } ?? []))
        #expect(try process.hear() == "ready")
        return process
    }

    private static func tool(_ name: String, _ arguments: [String]) throws -> LineProcess {
        // The package manager puts every executable into one folder.
        let own = try FileSystem.canonicalPath("/proc/self/exe")
        let program = "\(FileSystem.directory(of: own))/lockkeeper-store-tool"
        return try LineProcess(name, program, arguments)
    }
}

/// A program that knows nothing of Lockkeeper and has a database open.
enum ForeignProgram: String, Sendable, CaseIterable, CustomTestStringConvertible {
    /// The `sqlite3` shell.
    case shell
    /// Python's `sqlite3`.
    case python

    var testDescription: String { rawValue }

    /// Starts it on a database. It takes one line of SQL at a time: see ``LineProcess/run(_:)``.
    func open(_ path: String) throws -> LineProcess {
        let process =
            switch self {
            // Its output into a pipe would come only at its end.
            case .shell:
                try LineProcess("sqlite3", "stdbuf", ["-oL", "sqlite3", "-batch", path])
            case .python: try LineProcess("python", "python3", ["-c", Self.script, path])
            }
        _ = try process.run("PRAGMA busy_timeout = 20000; PRAGMA wal_autocheckpoint = 0")
        return process
    }

    private static let script = """
        import sqlite3, sys
        connection = sqlite3.connect(sys.argv[1], isolation_level=None)
        for line in sys.stdin:
            for statement in line.split(';'):
                for row in connection.execute(statement):
                    print('|'.join(map(str, row)), flush=True)
        """
}

extension LineProcess {
    /// Has a foreign program run statements that stand in one line, and gives the rows.
    func run(_ sql: String) throws -> [String] {
        tell("\(sql); SELECT 'done';")
        var rows: [String] = []
        while true {
            let row = try hear()
            if row == "done" { return rows }
            rows.append(row)
        }
    }
}

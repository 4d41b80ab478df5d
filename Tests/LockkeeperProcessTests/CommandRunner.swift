import Foundation
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation
import Synchronization
import Testing

/// The program under test, run as users run it.
enum CommandRunner {
    /// What a command printed, and how it ended.
    struct Result {
        let status: LockkeeperPlatform.ExitStatus
        /// The lines on standard output.
        let lines: [String]
        /// The lines on standard error.
        let errors: [String]

        /// The standard error as one text.
        var errorText: String { errors.joined(separator: "\n") }
    }

    /// The path of `lockkeeper`: what `LOCKKEEPER_BINARY` names, else the one beside the tests.
    static let program: String = {
        if let path = Environment.variable("LOCKKEEPER_BINARY") { return path }
        let folder = FileSystem.directory(of: Environment.programPath ?? ".")
        return "\(folder)/lockkeeper"
    }()

    /// Runs a command to its end.
    static func run(
        _ arguments: [String],
        input: [UInt8] = [],
        environment: [String: String] = [:]
    ) async throws -> Result {
        let command = try RunningCommand(arguments, environment: environment)
        command.send(input, lineCount: 0)
        command.closeInput()
        return await command.end()
    }

    /// Runs a command to its end, with text as its input.
    static func run(_ arguments: [String], input: String) async throws -> Result {
        try await run(arguments, input: Array(input.utf8))
    }
}

/// A command that runs, with its output as it comes. Killed when it hangs.
final class RunningCommand: Sendable {
    let process: ManagedProcess
    private let stream: AsyncStream<ManagedProcess.Occurrence>
    private let collected = Mutex(Collected())

    private struct Collected: Sendable {
        var lines: [String] = []
        var status: LockkeeperPlatform.ExitStatus?
    }

    /// Longer than anything here takes on a machine with other work.
    private static let hangingAfter: Duration = .seconds(120)

    init(
        _ arguments: [String],
        program: String = CommandRunner.program,
        environment: [String: String] = [:]
    ) throws {
        CurrentProcess.ignoreBrokenPipes()
        // What the tester's own shell says must not reach a test's workspace.
        let clean = ["LOCKKEEPER_ROOT": "", "LOCKKEEPER_ACCOUNT": "", "LOCKKEEPER_KEYS": ""]
        let (stream, continuation) = AsyncStream.makeStream(of: ManagedProcess.Occurrence.self)
        self.stream = stream
        let process = try ManagedProcess(
            name: arguments.first ?? "",
            program: program,
            arguments: arguments,
            environment: clean.merging(environment) { $1 },
            keptErrorCount: 10_000
        ) { occurrence in
            continuation.yield(occurrence)
            if case .ended = occurrence { continuation.finish() }
        }
        self.process = process
        let deadline = Deadline(after: Self.hangingAfter, from: SystemClock().now())
        _ = try WorkerThread.start(name: "test-watchdog") {
            if process.wait(until: deadline) == nil { try? process.signal(.kill) }
        }
    }

    /// Puts bytes in line for its input.
    func send(_ bytes: [UInt8], lineCount: Int = 1) { process.send(bytes, lineCount: lineCount) }

    /// Ends its input.
    func closeInput() { process.closeInput() }

    /// Waits for the next line of its output; `nil` once it has ended.
    func nextLine() async -> String? {
        for await occurrence in stream {
            switch occurrence {
            case .line(let line):
                let text = String(decoding: line, as: UTF8.self)
                collected.withLock { $0.lines.append(text) }
                return text
            case .ended(let status): collected.withLock { $0.status = status }
            }
        }
        return nil
    }

    /// Waits for its end.
    func end() async -> CommandRunner.Result {
        while await nextLine() != nil {}
        let collected = collected.withLock { $0 }
        guard let status = collected.status else {
            preconditionFailure("a stream that ended has told how")
        }
        return CommandRunner.Result(
            status: status,
            lines: collected.lines,
            errors: process.lastErrors
        )
    }
}

/// A folder that goes with the test. Its path is short: a socket's has at most 107 bytes.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = "/tmp/lkt-\(String(UInt64.random(in: 0...UInt64.max), radix: 36))"
        try FileSystem.makeDirectory(path)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// A path in the folder.
    func path(_ name: String) -> String { "\(path)/\(name)" }
}

/// A workspace in a folder of its own, with commands on it.
struct TestWorkspace {
    let folder: TemporaryFolder
    var root: String { folder.path("w") }

    /// A workspace with the active account alice.
    init(accountOptions: [String] = []) async throws {
        folder = try TemporaryFolder()
        let added = try await run(["account", "add", "alice", "--activate"] + accountOptions)
        try #require(added.status == .exited(0), "\(added.errorText)")
    }

    /// Runs a command on it to its end.
    func run(_ arguments: [String], input: [UInt8] = []) async throws -> CommandRunner.Result {
        try await CommandRunner.run(arguments + ["--root", root], input: input)
    }

    /// Runs `ingest` on some text.
    func ingest(_ text: String, _ options: [String] = []) async throws -> CommandRunner.Result {
        try await run(["ingest"] + options, input: Array(text.utf8))
    }

    /// Starts a command on it.
    func start(_ arguments: [String]) throws -> RunningCommand {
        try RunningCommand(arguments + ["--root", root])
    }

    /// Expects that the inspection which every store ends in finds nothing (I-16).
    func expectSound(account: String = "alice") async throws {
        let check = try await run(["check", "--deep", "--account", account])
        #expect(check.status == .exited(0), "\(check.lines)")
    }
}

/// JSON that a command printed, for expectations.
struct PrintedObject {
    private let fields: [String: Any]

    init(_ line: String) throws {
        let value = try JSONSerialization.jsonObject(with: Data(line.utf8))
        fields = try #require(value as? [String: Any], "no object: \(line)")
    }

    private init(_ fields: [String: Any]) { self.fields = fields }

    func object(_ key: String) throws -> PrintedObject {
        PrintedObject(try #require(fields[key] as? [String: Any], "no object \(key) in \(fields)"))
    }

    func objects(_ key: String) -> [PrintedObject] {
        (fields[key] as? [[String: Any]] ?? []).map(PrintedObject.init)
    }

    func int(_ key: String) -> Int? { fields[key] as? Int }
    func double(_ key: String) -> Double? { fields[key] as? Double }
    func ints(_ key: String) -> [Int]? { fields[key] as? [Int] }
    func string(_ key: String) -> String? { fields[key] as? String }
    func has(_ key: String) -> Bool { fields[key] != nil }
}

extension CommandRunner.Result {
    /// The summary of an `ingest`: its last line.
    var summary: PrintedObject {
        get throws { try PrintedObject(try #require(lines.last)).object("summary") }
    }
}

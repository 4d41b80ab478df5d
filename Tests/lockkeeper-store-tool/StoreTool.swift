import Glibc
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperSimulation
import LockkeeperTesting

/// A process that has a store open, for tests that let several of them meet, and stop and kill them.
///
///     lockkeeper-store-tool account ROOT NAME [LIMIT=NUMBER]…   as Lockkeeper has it: ``AccountTool``
///     lockkeeper-store-tool task ROOT TASK… POINT                one thing, and then its end: ``TaskTool``
///     lockkeeper-store-tool plain FILE                          as SQLite alone has it: ``PlainTool``
///     lockkeeper-store-tool state ROOT NAME [KEYS]              an account's other state: ``StateTool``
///     lockkeeper-store-tool inbox ROOT WORD…                    keeps and applies packets: ``InboxTool``
///
/// The last one says one line and ends, or dies. The others say "ready", then answer each line of their
/// input with one line; they end when their input does. They stand before the faulting VFS and understand
///
///     pause open|checkpoint|unfetch   the next such call on the database stands still: "paused"
///     await                           waits until it does: "stands" or "nothing stands"
///     release                         lets it go on: "released"
///     shortened                       how often the log file was truncated
@main
enum StoreTool {
    @MainActor
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch (arguments.first, arguments.count) {
        case ("account", 3...):
            let tool = try await AccountTool(
                root: arguments[1],
                name: arguments[2],
                limits: Array(arguments[3...])
            )
            say("ready")
            while let line = hear() { say(await tool.answer(to: line)) }
            await tool.close()
        case ("state", 3...4):
            let tool = try await StateTool(
                root: arguments[1],
                name: arguments[2],
                keys: arguments.count == 4 ? keys(in: arguments[3]) : nil
            )
            say("ready")
            while let line = hear() {
                if let answer = await tool.answer(to: line) { say(answer) }
            }
            await tool.close()
        case ("task", 4...):
            await TaskTool.run(arguments[1], Array(arguments[2...]))
        case ("plain", 2):
            let tool = PlainTool(path: arguments[1])
            say("ready")
            while let line = hear() { say(tool.answer(to: line)) }
        case ("inbox", 3...):
            say(try await InboxTool.run(root: arguments[1], Array(arguments[2...])))
        default: exit(64)
        }
    }
}

/// What a program does that knows nothing of Lockkeeper, with its calls under the test's control.
///
///     checkpoint      begins to copy the log on a connection of its own: "begun"
///     outcome         waits for the end of that: "complete", "incomplete" or "failed: " and why
struct PlainTool {
    private let path: String
    private let zone: FaultZone
    private let outcome = Monitor<String?>(nil)

    init(path: String) {
        self.path = path
        zone = FaultZone(folder: FileSystem.directory(of: path))
    }

    func answer(to line: String) -> String {
        switch line {
        case "checkpoint":
            outcome.withLock { $0 = nil }
            do {
                _ = try WorkerThread.start(name: "checkpoint") { [path, outcome] in
                    let text: String
                    do {
                        text = try Self.checkpoint(path) ? "complete" : "incomplete"
                    } catch {
                        text = "failed: \(error)"
                    }
                    outcome.withLock { $0 = text }
                    outcome.broadcast()
                }
                return "begun"
            } catch {
                return "failed: \(error)"
            }
        case "outcome": return outcome.wait(until: .never) { $0 } ?? "failed: no outcome"
        default: return zone.answer(to: line)
        }
    }

    private static func checkpoint(_ path: String) throws -> Bool {
        let clock = SystemClock()
        let connection = try Connection(
            path: path,
            mode: .readWrite,
            vfs: FaultZone.vfs,
            clock: clock,
            busyDeadline: Deadline(after: .seconds(10), from: clock.now()),
            jitterSeed: 1
        )
        try connection.enable(.noCheckpointOnClose)
        // A connection that has read nothing does not know that there is a log.
        _ = try connection.value("SELECT count(*) FROM sqlite_schema")
        let result = try connection.checkpoint(.passive)
        try connection.close()
        return result.isComplete
    }
}

extension FaultZone {
    /// Does what both kinds of tool understand.
    func answer(to line: String) -> String {
        switch line {
        case "pause open": pause(at: .open, of: .database)
        case "pause checkpoint": pause(at: .checkpoint, of: .database)
        case "pause unfetch": pause(at: .unfetch, of: .database)
        case "await": return awaitPause(within: .seconds(20)) ? "stands" : "nothing stands"
        case "release":
            release()
            return "released"
        case "shortened": return String(callCount(.truncate, of: .log))
        default: return "unknown: \(line)"
        }
        return "paused"
    }
}

/// Writes a line to standard output.
func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(1, bytes, bytes.count)
}

/// Reads a line of standard input; `nil` at its end.
func hear() -> String? {
    var line: [UInt8] = []
    var byte: UInt8 = 0
    while read(0, &byte, 1) == 1 {
        if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
        line.append(byte)
    }
    return nil
}

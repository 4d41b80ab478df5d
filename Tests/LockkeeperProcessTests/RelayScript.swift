import Foundation
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation
import Testing

/// A program that stands for somebody's sender: it logs what it is told, waits where a test says so,
/// and answers.
struct RelayScript {
    let folder: TemporaryFolder
    let root: String

    /// What the script wrote down, one line at a time.
    struct Entry: Equatable {
        let isStart: Bool
        /// The process that started the script.
        let relay: Int32
        /// The script itself.
        let script: Int32
        /// The key of what it was told.
        let key: String
        /// The line that it was told.
        let line: String
    }

    /// - Parameter answer: what it does at the end, as shell text in which `$key` is the key.
    init(
        in folder: TemporaryFolder,
        root: String,
        answer: String = #"echo "{\"id\":\"m-$key\",\"seq\":${key#k}}""#
    ) throws {
        self.folder = folder
        self.root = root
        try """
        read -r line
        key=$(printf '%s' "$line" | sed 's/.*"key":"\\([^"]*\\)".*/\\1/')
        printf 'start %s %s %s %s\\n' $PPID $$ "$key" "$line" >> \(folder.path("log"))
        while [ -e "\(folder.path("hold"))-$key" ]; do sleep 0.02; done
        printf 'end %s %s %s -\\n' $PPID $$ "$key" >> \(folder.path("log"))
        \(answer)
        """.write(toFile: folder.path("tell.sh"), atomically: true, encoding: .utf8)
    }

    /// The words of a command line that runs the script.
    func words(_ command: String, _ options: [String] = []) -> [String] {
        [command, "run", "--root", root] + options + ["--", "sh", folder.path("tell.sh")]
    }

    /// Tells everything that is due.
    func run(
        _ command: String = "outbox",
        _ options: [String] = []
    ) async throws -> CommandRunner.Result {
        try await CommandRunner.run(words(command, options))
    }

    /// Starts telling, and goes on until it is ended.
    func start(_ command: String = "outbox") throws -> RunningCommand {
        try RunningCommand(words(command, ["--follow"]))
    }

    /// Makes the script wait when it is told of a key.
    func hold(_ key: String) throws {
        try "".write(toFile: folder.path("hold-\(key)"), atomically: true, encoding: .utf8)
    }

    /// Lets it go on.
    func release(_ key: String) throws {
        try FileManager.default.removeItem(atPath: folder.path("hold-\(key)"))
    }

    /// What it wrote down so far.
    func log() throws -> [Entry] {
        guard let text = try? String(contentsOfFile: folder.path("log"), encoding: .utf8) else {
            return []
        }
        return try text.split(separator: "\n").map { line in
            let words = line.split(separator: " ", maxSplits: 4).map(String.init)
            return Entry(
                isStart: words[0] == "start",
                relay: try #require(Int32(words[1])),
                script: try #require(Int32(words[2])),
                key: words[3],
                line: words[4]
            )
        }
    }

    /// Waits until the script was told of a key so often. Nothing tells of a line in a file, so that it
    /// is looked for again and again.
    func awaitStart(of key: String, times: Int = 1) async throws -> Entry {
        for _ in 0..<3_000 {
            let starts = try log().filter { $0.isStart && $0.key == key }
            if starts.count >= times { return starts[times - 1] }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw NeverTold(key: key)
    }

    /// Kills a process that runs the script, and not the script, and waits until it is gone. Its output
    /// does not end with it: the script has its error stream.
    func kill(_ relay: RunningCommand) async throws {
        try relay.process.signal(.kill)
        // Nobody may have waited for it yet: what it held is free all the same.
        while let status = try? String(
            contentsOfFile: "/proc/\(relay.process.pid)/stat",
            encoding: .utf8
        ), !status.contains(") Z ") {
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    private struct NeverTold: Error {
        let key: String
    }
}

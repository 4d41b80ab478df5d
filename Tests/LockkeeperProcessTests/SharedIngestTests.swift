import Foundation
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation
import Testing

private let isWholeRun = Environment.variable("LOCKKEEPER_TEST_ALL") != nil

/// The data of one test run: the large log takes its time and comes with `Scripts/test --all`.
private let dataSets: [String] =
    ["irc-small", "irc-small-feed"] + (isWholeRun ? ["irc-large"] : [])

@Suite(
    "Real chat logs end in the expected state, whoever ingests them (I-5)",
    .serialized,
    .enabled(if: ChatData.isPresent, "the folder with the chat logs is not beside the package")
)
struct SharedIngestTests {
    @Test("ingested by one process", arguments: dataSets)
    func oneProcess(_ name: String) async throws {
        let data = ChatData(name: name)
        let workspace = try await TestWorkspace()
        let path = try data.shares(1, in: workspace.folder)[0]
        let result = try await workspace.run(["ingest", path])
        #expect(result.status == .exited(0), "\(result.errorText)")
        try await FinalState.expect(data, in: workspace)
    }

    @Test("ingested by four processes with every fourth line each", arguments: dataSets)
    func shares(_ name: String) async throws {
        let data = ChatData(name: name)
        let workspace = try await TestWorkspace()
        let paths = try data.shares(4, in: workspace.folder)
        let results = try await together(paths, in: workspace)
        // A share that ends while a page of it waits for another share's says so.
        for result in results {
            #expect([.exited(0), .exited(75)].contains(result.status), "\(result.errorText)")
        }
        try await FinalState.expect(data, in: workspace)
    }

    @Test("ingested by four processes that all send everything", arguments: dataSets)
    func everything(_ name: String) async throws {
        let data = ChatData(name: name)
        let workspace = try await TestWorkspace()
        let path = try data.shares(1, in: workspace.folder)[0]
        let results = try await together([path, path, path, path], in: workspace)
        for result in results { #expect(result.status == .exited(0), "\(result.errorText)") }
        let inserted = try results.map { try $0.summary.int("inserted") ?? 0 }
        #expect(inserted.reduce(0, +) == (try data.expected().messages))
        try await FinalState.expect(data, in: workspace)
    }

    // I-6, I-12, B56
    @Test(
        "with one of four killed at random moments and started again until it is done",
        arguments: isWholeRun ? Array(1...10) : [1, 2]
    )
    func killed(round: Int) async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("round \(round): seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let data = isWholeRun ? ChatData.large : ChatData.feed
        let workspace = try await TestWorkspace()
        let paths = try data.shares(4, in: workspace.folder)
        // After how many receipts each of the victim's lives ends.
        let mostReceipts = isWholeRun ? 400 : 4
        let lives = (0..<3).map { _ in Int.random(in: 0...mostReceipts, using: &generator) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for path in paths.dropFirst() {
                group.addTask { try await ingestToEnd(path, workspace) }
            }
            group.addTask {
                for receipts in lives {
                    let victim = try workspace.start(["ingest", paths[0], "--name", "victim"])
                    for _ in 0..<receipts where await victim.nextLine() == nil { break }
                    try? victim.process.signal(.kill)
                    _ = await victim.end()
                }
                try await ingestToEnd(paths[0], workspace)
            }
            try await group.waitForAll()
        }
        try await FinalState.expect(data, in: workspace)
    }

    // Memory of an ingesting helper: the queue is bounded, so it must not grow with the input.
    @Test(
        "a helper's memory does not grow with the length of its input",
        .enabled(if: isWholeRun, "needs the large log: runs with Scripts/test --all")
    )
    func memory() async throws {
        let workspace = try await TestWorkspace()
        let path = try ChatData.large.shares(1, in: workspace.folder)[0]
        let helper = try workspace.start(["ingest", path])
        var peaks: [Int] = []
        while await helper.nextLine() != nil {
            if let peak = peakMemory(of: helper.process.pid) { peaks.append(peak) }
        }
        #expect(await helper.end().status == .exited(0))
        let early = try #require(peaks.dropFirst(peaks.count / 8).first)
        let last = try #require(peaks.last)
        print("peak memory of an ingesting helper: \(early) KiB early, \(last) KiB at the end")
        #expect(Double(last) <= 1.25 * Double(early))
    }

    private func together(
        _ paths: [String],
        in workspace: TestWorkspace
    ) async throws -> [CommandRunner.Result] {
        try await withThrowingTaskGroup(of: CommandRunner.Result.self) { group in
            for (number, path) in paths.enumerated() {
                group.addTask {
                    try await workspace.run(["ingest", path, "--name", "helper-\(number)"])
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    /// The peak resident size of a process in KiB; `nil` once it has ended.
    private func peakMemory(of pid: Int32) -> Int? {
        guard let status = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") })
        else { return nil }
        return Int(line.split(separator: " ", omittingEmptySubsequences: true)[1])
    }
}

/// Ingests a file; a page of it may wait for another process's at the end.
private func ingestToEnd(_ path: String, _ workspace: TestWorkspace) async throws {
    let result = try await workspace.run(["ingest", path])
    #expect([.exited(0), .exited(75)].contains(result.status), "\(result.errorText)")
}

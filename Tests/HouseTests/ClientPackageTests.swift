import Foundation
import Testing

/// The package's own folder, found from this file.
private let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

private let isWholeRun = ProcessInfo.processInfo.environment["LOCKKEEPER_TEST_ALL"] != nil

@Suite("What a client package meets")
struct ClientPackageTests {
    @Test(
        "the example client builds and runs, beside targets named SQLite and Domain of its own",
        .enabled(if: isWholeRun, "builds everything once more: runs with Scripts/test --all")
    )
    func example() throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "lk-client-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.copyItem(
            at: root.appending(path: "Docs/Examples/client"),
            to: folder
        )
        for (path, text) in try files {
            let file = folder.appending(path: path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
        let (status, output) = try run(
            ["swift", "build", "--package-path", folder.path()],
            in: folder
        )
        #expect(status == 0, "\(output)")
        let (code, printed) = try run(
            [folder.path() + "/.build/debug/client", folder.path() + "/w"],
            in: folder
        )
        #expect(code == 0 && printed.contains("hello from alice"), "\(printed)")
        try runExample(in: folder)
        let (tested, verdict) = try run(
            ["swift", "test", "--package-path", folder.path()],
            in: folder
        )
        #expect(tested == 0 && verdict.contains("with 1 test"), "\(verdict)")
    }

    /// Starts the host, wakes both helpers, and reads what each of them says.
    private func runExample(in folder: URL) throws {
        let programs = folder.path() + "/.build/debug/"
        let workspace = folder.path() + "/chat"
        let host = Process()
        host.executableURL = URL(filePath: "/usr/bin/env")
        // Line by line: what a program prints into a pipe is kept back otherwise.
        host.arguments = ["stdbuf", "-oL", programs + "ChatHost", workspace]
        let pipe = Pipe()
        host.standardOutput = pipe
        try host.run()
        var heard = ""
        func hear(until text: String) {
            while !heard.contains(text) {
                let data = pipe.fileHandleForReading.availableData
                if data.isEmpty { break }
                heard += String(decoding: data, as: UTF8.self)
            }
            #expect(heard.contains(text), "\(heard)")
        }
        hear(until: "ready\n")
        let push = [programs + "NotificationHelper", workspace, "u2", "hello"]
        let (pushStatus, pushed) = try run(push, in: folder)
        #expect(pushStatus == 0 && pushed == "stored, durable: true\nnotify: hello\n", "\(pushed)")
        hear(until: "c1: u2: hello\n")
        let share = [programs + "ShareHelper", workspace, "c9", "a link"]
        let (shareStatus, shared) = try run(share, in: folder)
        #expect(shareStatus == 0 && shared.hasPrefix("in the outbox as "), "\(shared)")
        hear(until: "server: send in c9\n")
        hear(until: "c9: u1: a link\n")
        host.terminate()
        host.waitUntilExit()
    }

    /// The example's own manifest, with targets whose names are taken in the package as well.
    private var manifest: String {
        get throws {
            let path = root.appending(path: "Docs/Examples/client/Package.swift")
            return try String(contentsOf: path, encoding: .utf8)
                .replacing("path: \"../../..\"", with: "path: \"\(root.path())\"")
                .replacing(
                    "    targets: [\n",
                    with: """
                            targets: [
                                .target(name: "SQLite"),
                                .target(name: "Domain"),
                                .executableTarget(
                                    name: "client",
                                    dependencies: ["SQLite", "Domain"] + lockkeeper
                                ),

                        """
                )
        }
    }

    private var files: [String: String] {
        get throws {
            [
                "Package.swift": try manifest,
                "Sources/SQLite/SQLite.swift": "public struct Connection { public init() {} }",
                "Sources/Domain/Domain.swift": "public struct AccountID { public init() {} }",
                "Sources/client/Client.swift": """
                import Domain
                import Lockkeeper
                import LockkeeperMessages
                import SQLite

                @main
                struct Client {
                    static func main() async throws {
                        _ = (SQLite.Connection(), Domain.AccountID())
                        let workspace = try await Workspace.open(
                            at: CommandLine.arguments[1], name: "client",
                            schemas: [.messages])
                        if try await workspace.accounts().isEmpty {
                            try await workspace.addAccount("alice")
                        }
                        let messages = try MessageStore(try await workspace.activate("alice"))
                        let sent = try Timestamp("2026-11-30T09:00:00Z")
                        try await messages.ingest([
                            .message(
                                MessageEvent(
                                    conversation: "c1", id: "m1", sequence: 1, sender: "alice",
                                    sentAt: sent, body: "hello from alice"))
                        ])
                        for message in try await messages.timeline("c1", limit: 10) {
                            print(message.body ?? "")
                        }
                        await workspace.close()
                    }
                }
                """,
            ]
        }
    }

    private func run(_ command: [String], in folder: URL) throws -> (Int32, String) {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = command
        process.currentDirectoryURL = folder
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }
}

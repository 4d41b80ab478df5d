import Foundation
import Testing

/// The package's own folder, found from this file.
private let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

private let isWholeRun = ProcessInfo.processInfo.environment["LOCKKEEPER_TEST_ALL"] != nil

@Suite("What a client package meets")
struct ClientPackageTests {
    @Test(
        "a package with targets named SQLite and Domain of its own builds against the products",
        .enabled(if: isWholeRun, "builds everything once more: runs with Scripts/test --all")
    )
    func namesDoNotCollide() throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "lk-client-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        for (path, text) in files {
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
    }

    private var files: [String: String] {
        [
            "Package.swift": """
            // swift-tools-version: 6.1
            import PackageDescription
            let package = Package(
                name: "client",
                dependencies: [.package(name: "lockkeeper", path: "\(root.path())")],
                targets: [
                    .target(name: "SQLite"),
                    .target(name: "Domain"),
                    .executableTarget(
                        name: "client",
                        dependencies: [
                            "SQLite", "Domain",
                            .product(name: "Lockkeeper", package: "lockkeeper"),
                            .product(name: "MessageStore", package: "lockkeeper"),
                        ]),
                ])
            """,
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

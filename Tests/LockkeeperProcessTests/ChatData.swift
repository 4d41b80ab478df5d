import Foundation
import Lockkeeper
import LockkeeperCrypto
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import Testing

/// Real chat logs with their expected results, which lie beside the package and not in it.
struct ChatData {
    let name: String

    static let small = ChatData(name: "irc-small")
    static let feed = ChatData(name: "irc-small-feed")
    static let large = ChatData(name: "irc-large")

    private static let folder = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "shared/data")

    /// Whether the folder is there.
    static let isPresent = FileManager.default.fileExists(
        atPath: folder.appending(path: "irc-small.ndjson").path()
    )

    /// What the final state must be.
    struct Expected: Decodable {
        let messages: Int
        let stateDigest: String
        let cursor: String?

        private enum CodingKeys: String, CodingKey {
            case messages, cursor
            case stateDigest = "state_sha256"
        }
    }

    func expected() throws -> Expected {
        let file = Self.folder.appending(path: "\(name).expected.json")
        return try JSONDecoder().decode(Expected.self, from: Data(contentsOf: file))
    }

    /// The lines, each with its newline.
    func lines() throws -> [ArraySlice<UInt8>] {
        let plain = Self.folder.appending(path: "\(name).ndjson")
        var bytes: [UInt8]
        if FileManager.default.fileExists(atPath: plain.path()) {
            bytes = [UInt8](try Data(contentsOf: plain))
        } else {
            bytes = try unpack(plain.path() + ".gz")
        }
        if bytes.last != 10 { bytes.append(10) }
        var lines: [ArraySlice<UInt8>] = []
        var start = 0
        for (index, byte) in bytes.enumerated() where byte == 10 {
            lines.append(bytes[start...index])
            start = index + 1
        }
        return lines
    }

    /// Writes the lines, or every `count`th of them, to files in a folder, one per share.
    func shares(_ count: Int, in folder: TemporaryFolder) throws -> [String] {
        let lines = try lines()
        return try (0..<count).map { share in
            let path = folder.path("\(name)-\(share).ndjson")
            var bytes: [UInt8] = []
            for index in stride(from: share, to: lines.count, by: count) { bytes += lines[index] }
            try Data(bytes).write(to: URL(filePath: path))
            return path
        }
    }

    private func unpack(_ path: String) throws -> [UInt8] {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["gzip", "--decompress", "--stdout", path]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return [UInt8](data)
    }
}

/// The final state of an account, as the expected results describe it.
struct FinalState: Equatable {
    let messages: Int
    let digest: String
    let cursors: [StreamID: Cursor]

    /// Reads an account's state.
    init(root: String, account: AccountID = "alice") async throws {
        let workspace = try await Workspace.openApart(
            at: root,
            name: "judge",
            role: .tool,
            schemas: [.messages]
        )
        let session = try await workspace.inspectionSession(account)
        let (count, digest) = try await session.database.read { transaction in
            var text = ""
            let rows: [Void] = try transaction.query(
                """
                SELECT c.conversation_id, m.seq, m.message_id, m.version, m.body
                FROM lk_message m JOIN lk_conversation c ON c.id = m.conversation
                ORDER BY c.conversation_id, m.seq
                """
            ) { row in
                let body = SHA256.digest(of: row.text(4)).hexadecimal
                text +=
                    "\(row.text(0))\t\(row.integer(1))\t\(row.text(2))\t\(row.integer(3))\t\(body)\n"
            }
            return (rows.count, SHA256.digest(of: text).hexadecimal)
        }
        messages = count
        self.digest = digest
        cursors = try await MessageStore(session).cursors()
        await workspace.close()
    }

    /// Expects what the data's author computed.
    static func expect(_ data: ChatData, in workspace: TestWorkspace) async throws {
        let expected = try data.expected()
        let state = try await FinalState(root: workspace.root)
        #expect(state.messages == expected.messages)
        #expect(state.digest == expected.stateDigest)
        if let cursor = expected.cursor {
            #expect(state.cursors == ["history": try Cursor(cursor)])
        }
        try await workspace.expectSound()
    }
}

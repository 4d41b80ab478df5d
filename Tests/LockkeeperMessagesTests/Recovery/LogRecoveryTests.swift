import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperStorage
import LockkeeperTesting
import Testing

@testable import Lockkeeper

/// Files of a young account, whose database stands in its log but for the first page.
@Suite("Recovery of logs: what stands in a log is saved, and what is not there is told (5.8, I-11)")
struct LogRecoveryTests {
    private static let messageCount = 400
    private static let batchCount = 20

    /// Makes an account and closes it, with everything in its log.
    ///
    /// - Returns: what it exports.
    private func make(_ test: TestWorkspace) async throws -> [String] {
        let app = try await test.process("app")
        try await app.addAccount("alice", ownID: Array("me".utf8))
        let store = try MessageStore(try await app.activate("alice"))
        for batch in 0..<Self.batchCount {
            let size = Self.messageCount / Self.batchCount
            let events = (1...size).map { number in
                let seq = batch * size + number
                return message(AccountAtRest.messageID(seq), seq: Int64(seq), "message \(seq)")
            }
            let after = batch == 0 ? nil : Cursor(unchecked: Array("c\(batch - 1)".utf8))
            let next = Cursor(unchecked: Array("c\(batch)".utf8))
            try await store.ingest(
                events,
                closing: page(after, next, done: batch == Self.batchCount - 1),
                durability: .committed
            )
        }
        _ = try await store.send(
            OutgoingMessage(conversation: "c", body: "unsent", clientID: "client")
        )
        let exported = try await store.exported()
        await app.close()
        return exported
    }

    private func exported(_ app: Workspace) async throws -> [String] {
        try await MessageStore(try await app.session("alice")).exported()
    }

    private func messages(_ report: RepairReport) throws -> SalvageReport {
        try #require(report.databases.first { $0.kind == .messages })
    }

    private func codes(_ app: Workspace) async throws -> Set<String> {
        Set(try await app.inspect("alice").map(\.code))
    }

    // SQLite takes a database without bytes for an empty one, and removes the log beside it.
    @Test("a database without bytes is opened by nobody, and its log gives everything back")
    func emptied() async throws {
        try await TestWorkspace.with { test in
            let original = try await make(test)
            let path = AccountAtRest.database(in: test.root)
            let log = try FileSystem.contents(of: path + "-wal")
            try #require(log.count > 500_000)
            try FileDescriptor(opening: path, [.readWrite]).truncate(to: 0)
            let app = try await test.process("app")
            for _ in 1...2 {
                await expectDamaged { _ = try await app.session("alice") }
                await expectDamaged { _ = try await app.inspectionSession("alice") }
                await expectDamaged {
                    _ = try await app.backUp("alice", .messages, to: path + ".backup")
                }
                #expect(try await codes(app).contains("not-a-store"))
                _ = try await app.status()
            }
            #expect(try FileSystem.contents(of: path + "-wal") == log)
            let report = try await app.repair("alice")
            #expect(report.outcome == .repaired && report.isWhole, "\(report.lines)")
            let folder = try #require(report.folder)
            #expect(try FileSystem.contents(of: "\(folder)/messages-1.db-wal") == log)
            #expect(try await exported(app) == original)
        }
    }

    private func expectDamaged(_ body: () async throws -> Void) async {
        await #expect {
            try await body()
        } throws: { error in
            (error as? LockkeeperError)?.code == .damaged
        }
    }

    // B89
    @Test(
        "a database that was cut is read from its whole log",
        arguments: [0, 100, 4096, 20_480, 50_000]
    )
    func cut(size: Int64) async throws {
        try await TestWorkspace.with { test in
            let original = try await make(test)
            let path = AccountAtRest.database(in: test.root)
            let log = try FileSystem.contents(of: path + "-wal")
            // Every page stands in the database and in the log now.
            try AccountAtRest.checkpoint(path)
            try FileSystem.remove(path + "-shm")
            try FileSystem.replaceFile(at: path + "-wal", with: log)
            let whole = try #require(try FileSystem.status(path)?.size)
            try #require(whole > size)
            try FileDescriptor(opening: path, [.readWrite]).truncate(to: size)
            let app = try await test.process("app")
            let report = try await app.repair("alice")
            if report.outcome == .repaired { #expect(report.isWhole, "\(report.lines)") }
            #expect(try await exported(app) == original)
            #expect(try await codes(app).isEmpty)
        }
    }

    // B89: who opens a database without its log makes another one.
    @Test(
        "a log that was missing once is told until a repair, or until somebody says it held nothing"
    )
    func missingStaysKnown() async throws {
        for isAccepted in [true, false] {
            try await TestWorkspace.with { test in
                _ = try await make(test)
                let path = AccountAtRest.database(in: test.root)
                try AccountAtRest.checkpoint(path)
                try FileSystem.remove(path + "-wal")
                let app = try await test.process("app")
                _ = try await exported(app)
                await app.close()
                let next = try await test.process("next")
                #expect(try await codes(next) == ["log-missing"])
                #expect(try await codes(next) == ["log-missing"])
                if isAccepted {
                    #expect(try await next.acceptMissingLogs(of: "alice") == [.messages])
                    #expect(try await next.acceptMissingLogs(of: "alice") == [])
                    #expect(try await next.repair("alice").outcome == .nothingFound)
                } else {
                    let report = try await next.repair("alice")
                    #expect(try messages(report).log == .missing && !report.isWhole)
                    #expect(report.setBack.contains { $0.contains("stream inbox") })
                }
                #expect(try await codes(next).isEmpty)
            }
        }
    }

    @Test(
        "a young account whose schema stood in a log that is gone begins anew, and the loss is told"
    )
    func young() async throws {
        try await TestWorkspace.with { test in
            _ = try await make(test)
            let path = AccountAtRest.database(in: test.root)
            try #require(try FileSystem.status(path)?.size == 4096)
            try FileSystem.remove(path + "-wal")
            try FileSystem.remove(path + "-shm")
            let app = try await test.process("app")
            await expectDamaged { _ = try await app.session("alice") }
            let report = try await app.repair("alice")
            let messages = try messages(report)
            #expect(messages.log == .missing && messages.structure == .none && !report.isWhole)
            #expect(try await exported(app) == [])
            #expect(try await codes(app).isEmpty)
        }
    }

    @Test(
        "a changed byte in the log is told at the door, and commits behind it are saved",
        arguments: ["page", "frame", "header", "salt"]
    )
    func changedByte(place: String) async throws {
        try await TestWorkspace.with { test in
            let original = try await make(test)
            let path = AccountAtRest.database(in: test.root)
            let log = path + "-wal"
            let size = try #require(try FileSystem.status(log)?.size)
            let frame = 32 + (size / 4120 / 2) * 4120
            let offset = ["page": frame + 1_000, "frame": frame + 17, "header": 1, "salt": 18][
                place
            ]
            let file = try FileDescriptor(opening: log, [.readWrite])
            let wrong = try FileSystem.contents(of: log)[Int(try #require(offset))] ^ 0x55
            try file.write([wrong], at: try #require(offset))
            let app = try await test.process("app")
            await expectDamaged { _ = try await app.session("alice") }
            // Where the header is damaged not even a fence is read.
            let isInside = ["page", "frame"].contains(place)
            let codes = try await codes(app)
            #expect(isInside ? codes.contains("file.log") : !codes.isEmpty, "\(codes)")
            let report = try await app.repair("alice")
            #expect(try messages(report).log == .damaged && !report.isWhole, "\(report.lines)")
            #expect(report.setBack.contains { $0.contains("stream inbox") })
            #expect(try await app.inspect("alice").isEmpty)
            let saved = try await exported(app)
            // A page whose checksum alone is damaged is proven by the next one's.
            if place == "frame" { #expect(saved == original) }
            // One page may be older than it was; all that stands on others is there.
            #expect(Set(original).subtracting(saved).count < Self.messageCount / 4)
            #expect(saved.contains { $0.contains("message \(Self.messageCount)\"") })
            let store = try MessageStore(try await app.session("alice"))
            #expect(try await store.outbox().count == 1)
        }
    }

    @Test("frames of a process that died behind a shorter commit are no damage")
    func leftovers() async throws {
        try await TestWorkspace.with { test in
            let original = try await make(test)
            let path = AccountAtRest.database(in: test.root)
            let log = path + "-wal"
            let whole = try FileSystem.contents(of: log)
            // What was committed last, once more behind a frame that was overwritten.
            let frame = 4120
            let tail = Array(whole.suffix(8 * frame))
            var torn = tail.prefix(frame)
            torn[torn.startIndex + 100] ^= 0x55
            let file = try FileDescriptor(opening: log, [.readWrite])
            try file.write(Array(torn) + Array(tail.dropFirst(frame)), at: Int64(whole.count))
            let app = try await test.process("app")
            #expect(try await exported(app) == original)
            #expect(try await codes(app).isEmpty)
            #expect(try await app.repair("alice").outcome == .nothingFound)
        }
    }
}

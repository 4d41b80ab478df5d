import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import LockkeeperTesting
import Testing

@testable import Lockkeeper

@Suite(
    "Recovery: what can be read is saved, and the report is true against the original (5.8, I-11)"
)
struct RecoveryTests {
    /// Repairs a damaged copy, and expects that the report is true and the store sound.
    private func repair(
        _ damage: (_ path: String) throws -> Void,
        _ body: (
            _ report: RepairReport, _ messages: SalvageReport, _ app: Workspace
        ) async throws -> Void
    ) async throws {
        let account = try await AccountAtRest.shared.value
        try await account.damaged(damage) { test, original in
            let app = try await test.process("app")
            let report = try await app.repair("alice")
            #expect(report.outcome == .repaired)
            let number = Int(try #require(try numberOfMessages(test.root)))
            try expectTrue(report, original, AccountAtRest.database(in: test.root, number))
            let messages = try #require(report.databases.first)
            let aside = try FileSystem.list(try #require(report.folder))
            #expect(Set(aside).isSuperset(of: ["messages-1.db", "report.json", "report.txt"]))
            #expect(try await app.inspect("alice").isEmpty)
            try await body(report, messages, app)
        }
    }

    private func numberOfMessages(_ root: String) throws -> Int64? {
        let names = try FileSystem.list(AccountAtRest.folder(in: root))
        return names.compactMap { WorkspacePaths.Account.number(in: $0, of: .messages) }.max()
    }

    /// Ingests everything once more, as the server gives it to who has no cursor: what this account
    /// deleted for itself the server says nothing of.
    private func fetchAgain(_ app: Workspace) async throws -> [String] {
        let store = try MessageStore(try await app.session("alice"))
        for (events, page) in AccountAtRest.pages() {
            let events = events.filter { if case .delete = $0 { false } else { true } }
            try await store.ingest(events, closing: page, durability: .committed)
        }
        return try await store.exported()
    }

    @Test("three pages overwritten in the middle cost their rows alone, and those come again")
    func middle() async throws {
        let account = try await AccountAtRest.shared.value
        try await repair { path in
            let leaves = try pages(of: "lk_message", path)
            let quarter = leaves.count / 4
            for number in 1...3 { try overwrite(path, page: leaves[number * quarter]) }
        } _: { report, messages, app in
            #expect(messages.method == .salvaged && messages.structure == .own)
            let outbox = try #require(messages.tables.first { $0.name == "lk_outbox" })
            let packets = try #require(messages.tables.first { $0.name == "lk_inbox_packet" })
            #expect(outbox.keptCount == 5 && packets.keptCount == 3)
            let stored = try #require(messages.tables.first { $0.name == "lk_message" })
            #expect(!report.isWhole && stored.keptCount > 9_000)
            #expect(report.setBack.contains { $0.contains("stream inbox") })
            #expect(try await fetchAgain(app) == account.exported)
        }
    }

    @Test("a page above those with rows is gone, and the rows are found by their own pages")
    func pageAbove() async throws {
        try await repair { path in
            try overwrite(path, page: try rootPage(of: "lk_message", path) - 1)
        } _: { report, messages, _ in
            let stored = try #require(messages.tables.first { $0.name == "lk_message" })
            #expect(stored.keptCount == 10_000 && report.isWhole)
        }
    }

    @Test(
        "a page of the schema is gone, and its lines come from an empty store: every row is kept",
        arguments: ["zeros", "rubbish"]
    )
    func schemaPage(content: String) async throws {
        let zeros = [UInt8](repeating: 0, count: AccountAtRest.pageByteCount)
        for index in [1, 3] {
            try await repair { path in
                let leaves = try pages(below: 0, path)
                try overwrite(path, page: leaves[index], with: content == "zeros" ? zeros : nil)
            } _: { report, messages, _ in
                let stored = try #require(messages.tables.first { $0.name == "lk_message" })
                #expect(stored.keptCount == 10_000 && report.isWhole, "\(report.lines)")
                #expect(messages.structure == .fresh)
            }
        }
    }

    @Test("of messages whose rows are lost the deleted ones do not come again")
    func deleted() async throws {
        let account = try await AccountAtRest.shared.value
        try await repair { path in
            for (index, page) in try pages(of: "lk_message", path).enumerated() where index % 2 == 1
            {
                try overwrite(path, page: page)
            }
        } _: { _, messages, app in
            let stored = try #require(messages.tables.first { $0.name == "lk_message" })
            let lost = try #require(stored.lostCount)
            // Some hundreds, so that one of 173 that is deleted is among them.
            #expect(lost > 1_000 && stored.partialCount == lost)
            #expect(try await fetchAgain(app) == account.exported)
        }
    }

    // B89
    @Test("a header of zeros is written anew, and nothing is lost")
    func header() async throws {
        try await repair { path in
            let file = try FileDescriptor(opening: path, [.readWrite])
            try file.write([UInt8](repeating: 0, count: 100), at: 0)
        } _: { report, messages, _ in
            #expect(messages.structure == .header && report.isWhole)
        }
    }

    // B89
    @Test(
        "a first page of zeros is taken from an empty store, and from a backup where there is one"
    )
    func firstPage() async throws {
        let zeros = [UInt8](repeating: 0, count: AccountAtRest.pageByteCount)
        try await repair { path in
            try overwrite(path, page: 0, with: zeros)
        } _: { _, messages, _ in
            #expect(messages.structure == .fresh)
            let outbox = try #require(messages.tables.first { $0.name == "lk_outbox" })
            #expect(outbox.keptCount == 5)
        }
    }

    @Test("a last page of rubbish costs what stood on it")
    func lastPage() async throws {
        try await repair { path in
            // The index of texts frees pages whenever it merges; rubbish on a free one is no damage.
            let free = try freePages(path)
            let inUse = (0..<(try pageCount(path))).filter { !free.contains($0) }
            try overwrite(path, page: try #require(inUse.last))
        } _: { _, _, _ in
        }
    }

    // B89
    @Test("a file that was cut to an odd length is read as far as it goes")
    func truncated() async throws {
        try await repair { path in
            let size = try #require(try FileSystem.status(path)?.size)
            let file = try FileDescriptor(opening: path, [.readWrite])
            try file.truncate(to: size / 3 + 777)
        } _: { report, _, _ in
            #expect(!report.isWhole && !report.setBack.isEmpty)
        }
    }

    // B89
    @Test(
        "a file that was cut before pages of its schema begins anew with what it still holds",
        arguments: [1, 2, 3]
    )
    func truncatedSchema(_ index: Int) async throws {
        try await repair { path in
            let schema = try pages(below: 0, path).sorted()
            try #require(schema.count > index)
            let file = try FileDescriptor(opening: path, [.readWrite])
            try file.truncate(to: Int64(schema[index] * AccountAtRest.pageByteCount))
        } _: { report, messages, _ in
            #expect(!report.isWhole && messages.tables.contains { $0.name == "lk_effect" })
        }
    }

    // B89
    @Test("where the log is missing what it held is called unknown, and cursors are set back")
    func missingLog() async throws {
        try await repair { path in
            try FileSystem.remove(path + "-wal")
        } _: { report, messages, _ in
            #expect(messages.log == .missing && !report.isWhole)
            #expect(messages.tables.allSatisfy { $0.lostCount == 0 })
            #expect(report.setBack.contains { $0.contains("stream inbox") })
        }
    }

    // B89
    @Test("a log with a commit behind a damaged place is called damaged, and cursors are set back")
    func damagedLog() async throws {
        let account = try await AccountAtRest.shared.value
        try await account.damaged { _ in
        } _: { test, _ in
            let path = AccountAtRest.database(in: test.root)
            let app = try await test.process("app")
            let store = try MessageStore(try await app.session("alice"))
            let log = path + "-wal"
            try await store.ingest([message("first", seq: 20_001, "in the log")])
            let place = try #require(try FileSystem.status(log)?.size)
            for seq in 20_002...20_005 {
                let id = AccountAtRest.messageID(seq)
                try await store.ingest([message(id, seq: Int64(seq), "in the log")])
            }
            await app.close()
            // A frame of the second commit, which begins there, and a page of the database.
            let file = try FileDescriptor(opening: log, [.readWrite])
            try file.write([UInt8](repeating: 0xa5, count: 64), at: place + 1_000)
            try overwrite(path, page: try pages(of: "lk_message", path)[0])
            let next = try await test.process("next")
            let report = try await next.repair("alice")
            let messages = try #require(report.databases.first)
            #expect(messages.log == .damaged && !report.isWhole)
            #expect(report.setBack.contains { $0.contains("stream inbox") })
            #expect(report.lines.contains { $0.contains("the log was damaged") })
            let exported = try await MessageStore(try await next.session("alice")).exported()
            #expect(exported.contains { $0.contains("\"first\"") })
            // The commits behind the damaged frame wrote the same page once more.
            #expect(exported.contains { $0.contains("\"\(AccountAtRest.messageID(20_005))\"") })
        }
    }

    @Test("a sound account is left alone, every byte of it")
    func sound() async throws {
        let account = try await AccountAtRest.shared.value
        try await account.damaged { _ in
        } _: { test, _ in
            let path = AccountAtRest.database(in: test.root)
            let before = try FileSystem.contents(of: path)
            let app = try await test.process("app")
            let report = try await app.repair("alice")
            #expect(report.outcome == .nothingFound)
            #expect(try FileSystem.contents(of: path) == before)
            #expect(try FileSystem.status(AccountAtRest.folder(in: test.root) + "/damaged") == nil)
        }
    }

    @Test("entries that an index lost are made anew from its table, and no cursor is set back")
    func index() async throws {
        try await repair { path in
            // A leaf of an index without entries.
            var leaf = [UInt8](repeating: 0, count: AccountAtRest.pageByteCount)
            leaf[0] = 10
            leaf[5] = 16
            try overwrite(path, page: try rootPage(of: "lk_outbox_open", path) - 1, with: leaf)
        } _: { report, messages, _ in
            #expect(messages.method == .reindexed && report.isWhole && report.setBack.isEmpty)
        }
    }

    @Test("an index of rubbish costs nothing: its table has everything")
    func indexPages() async throws {
        try await repair { path in
            try overwrite(path, page: try rootPage(of: "lk_message_place", path) - 1)
        } _: { report, messages, _ in
            #expect(messages.method == .salvaged && report.isWhole && report.setBack.isEmpty)
        }
    }
}

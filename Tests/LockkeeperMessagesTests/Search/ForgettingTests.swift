import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperTesting
import Testing

@testable import Lockkeeper
@testable import LockkeeperMessages

@Suite("A recalled text leaves every byte of database and log (M-6, R-15)")
struct ForgettingTests {
    /// Characters of four bytes that stand nowhere else: where a part of a text is left, one of them
    /// is.
    private static let marks = ["𠜎", "𠜱", "𠝹", "𠱓", "𠱸", "𠲖", "𠳏", "𠳕"]

    @Test(
        "after upkeep and an empty log no byte of what was recalled, replaced or conflicted is left",
        arguments: [1, 600]
    )
    func forgotten(otherCount: Int) async throws {
        try await TestWorkspace.with { test in
            let first = try await test.process("first")
            try await first.addAccount("alice")
            try await say(otherCount, in: MessageStore(try await first.activate("alice")))
            // A database's files may be read only by who has closed them: closing another descriptor
            // of them takes this process's locks away.
            await first.close()
            #expect(try places(of: Self.marks, in: test) == Set(Self.marks))

            let second = try await test.process("second")
            let store = try MessageStore(try await second.session("alice"))
            try await store.ingest([
                recall("s1", version: 2), recall("s2", version: 2),
                edit("s3", version: 2, "harmless"),
            ])
            try await store.ingest([
                recall("s4", version: 2), recall("s5", version: 2), recall("s3", version: 3),
            ])
            try await store.catchUpSearch()
            // The index still knows the others.
            #expect(try await store.search(SearchQuery("words"), limit: 999).count == otherCount)
            try emptyLog(second)
            await second.close()
            #expect(try places(of: Self.marks, in: test) == [])
            #expect(try places(of: ["WORD of secrecy", "word of secrecy"], in: test) == [])
        }
    }

    @Test("text in the log of an account that no process had open goes once one has it and rests")
    func withoutHost() async throws {
        var limits = Limits()
        limits.upkeepIdleAfter = .seconds(3_600)
        try await TestWorkspace.with(limits: limits) { [limits] test in
            let first = try await test.process("first")
            try await first.addAccount("alice")
            let store = try MessageStore(try await first.activate("alice"))
            try await say(1, in: store)
            try await store.ingest(
                try (1...5).map { recall(try MessageID("s\($0)"), version: 2) }
            )
            try await store.catchUpSearch()
            await first.close()
            #expect(try places(of: Self.marks, in: test) == Set(Self.marks))

            // It only reads.
            var restful = limits
            restful.upkeepIdleAfter = .milliseconds(20)
            restful.checkpointIdleAfter = .milliseconds(100)
            let second = try await Workspace.open(
                at: test.root,
                name: "second",
                schemas: [.messages],
                limits: restful
            )
            let session = try await second.session("alice")
            let log =
                second.paths.account(directory: "alice").file(of: .messages, number: 1) + "-wal"
            for _ in 0..<3_000 where try FileSystem.status(log)?.size != 0 {
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(try FileSystem.status(log)?.size == 0)
            withExtendedLifetime(session) {}
            await second.close()
            #expect(try places(of: Self.marks, in: test) == [])
        }
    }

    /// Five messages that will be recalled among others, each in a segment of its own with others
    /// behind it.
    private func say(_ otherCount: Int, in store: MessageStore) async throws {
        try await store.ingest(
            try messages((1...otherCount).map { "other text number \($0) with words" })
        )
        let secret = Self.marks.joined(separator: " and ") + " WORD of secrecy"
        for number in 1...5 {
            let id = try MessageID("s\(number)")
            let seq = Int64(otherCount + number)
            try await store.ingest([
                message(id, seq: seq, "\(secret) \(number)", sentAt: 5_000),
                message(id, seq: seq, "\(secret) contradicted", sentAt: 5_000),
            ])
            try await store.catchUpSearch()
        }
        #expect(try await store.search(SearchQuery(Self.marks[0]), limit: 9).count == 5)
    }

    /// What an idle host does with a log.
    private func emptyLog(_ workspace: Workspace) throws {
        let outcome = try Checkpoint(
            attachment: workspace.attach("alice"),
            opener: StoreOpener(workspace: workspace, account: "alice")
        ).run(isIdle: true)
        #expect(outcome == .complete)
    }

    /// Which of some texts stand in some file of the workspace.
    private func places(of texts: [String], in test: TestWorkspace) throws -> Set<String> {
        var found: Set<String> = []
        for path in try files(test.root) {
            let bytes = try FileSystem.contents(of: path)
            for text in texts where !found.contains(text) {
                if SearchNeedles.find(Array(text.utf8), in: bytes, from: 0) != nil {
                    found.insert(text)
                }
            }
        }
        return found
    }

    private func files(_ folder: String) throws -> [String] {
        try FileSystem.list(folder).flatMap { name -> [String] in
            let path = "\(folder)/\(name)"
            switch try FileSystem.status(path)?.kind {
            case .directory: return try files(path)
            case .regular: return [path]
            default: return []
            }
        }
    }
}

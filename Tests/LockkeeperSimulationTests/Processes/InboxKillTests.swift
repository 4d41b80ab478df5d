import Glibc
import LockkeeperPlatform
import LockkeeperSimulation
import LockkeeperTestSupport
import Testing

extension RealProcesses {
    /// What a packet goes through is a row of calls of the kernel. A process may die before any of them:
    /// while the file has no name, before it is synced, before the packet is applied, before its file is
    /// removed, before its name is forgotten.
    @Suite(
        "A process that dies at any step of the inbox loses no kept packet and doubles none (I-12)"
    )
    struct InboxKillTests {
        private let folder: TemporaryDirectory
        private var root: String { folder.file("w") }

        init() throws { folder = try TemporaryDirectory() }

        /// What the account holds.
        private struct Contents {
            var rows: [String]
            var waitingCount: Int?
            var recordedCount: Int?
        }

        @Test("while it keeps: what it said to be kept is applied once, the rest at most once")
        func keeping() async throws {
            try await onOwnThread {
                #expect(try tell("add") == "added")
                var call = 1
                while call < 200, try tell("keep", "packet-\(call)", "\(call)") == nil {
                    // What is kept already costs calls as well.
                    #expect(try tell("drain", "0") == "drained")
                    call += 1
                }
                // Directories, file, sync, name, and the syncs of four folders.
                #expect(call > 10 && call < 200)
                #expect(try tell("keep", "last", "0") == "kept")
                #expect(try tell("drain", "0") == "drained")
                let contents = try contents()
                #expect(Set(contents.rows).count == contents.rows.count)
                #expect(contents.rows.contains("packet-\(call)") && contents.rows.contains("last"))
                #expect(contents.waitingCount == 0 && contents.recordedCount == 0)
                // One that was whole is applied although nobody was promised anything.
                #expect(contents.rows.count > 2)
            }
        }

        @Test("while it applies: the next one finishes, and the packet is there once")
        func draining() async throws {
            try await onOwnThread {
                #expect(try tell("add") == "added")
                var call = 1
                while call < 200 {
                    #expect(try tell("keep", "packet-\(call)", "0") == "kept")
                    let outcome = try tell("drain", "\(call)")
                    #expect(try tell("drain", "0") == "drained")
                    let contents = try contents()
                    #expect(contents.rows.count == call && Set(contents.rows).count == call)
                    #expect(contents.waitingCount == 0)
                    if outcome != nil { break }
                    call += 1
                }
                // Listing, reading, counting the attempt, looking, removing, syncing.
                #expect(call > 10 && call < 200)
                // What was recorded by those who died is forgotten by the next one.
                #expect(try tell("keep", "last", "0") == "kept")
                #expect(try tell("drain", "0") == "drained")
                #expect(try contents().recordedCount == 0)
            }
        }

        // 5.8: the inbox works on a full disk.
        @Test(
            "on a full disk a packet takes the reserve; the next one is refused and not half there"
        )
        func fullDisk() async throws {
            try await onOwnThread {
                #expect(try tell("add") == "added")
                #expect(try tell("full", "first") == "kept")
                #expect(try tell("full", "second") == "diskFull")
                #expect(try tell("drain", "0") == "drained")
                let contents = try contents()
                #expect(contents.rows == ["first"] && contents.waitingCount == 0)
                // With room again, and an account that was opened again, there is a reserve again.
                #expect(try tell("full", "third") == "kept")
                #expect(try tell("drain", "0") == "drained")
                #expect(try self.contents().rows == ["first", "third"])
            }
        }

        private func contents() throws -> Contents {
            let words = try #require(try tell("rows")).split(separator: " ").map(String.init)
            try #require(words.count >= 5 && words[0] == "rows")
            return Contents(
                rows: Array(words[1..<words.count - 4]),
                waitingCount: Int(words[words.count - 3]),
                recordedCount: Int(words[words.count - 1])
            )
        }

        /// Runs the tool to its end; `nil` where it was killed.
        private func tell(_ words: String...) throws -> String? {
            let process = try LineProcess.inbox(root, words)
            let answer = Result { try process.hear() }
            let status = try #require(process.end())
            if status == .exited(0) { return try answer.get() }
            #expect(status == .signalled(SIGKILL), "\(words): \(answer)")
            return nil
        }
    }
}

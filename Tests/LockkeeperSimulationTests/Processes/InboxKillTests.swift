import Glibc
import LockkeeperPlatform
import LockkeeperSimulation
import LockkeeperTestSupport
import Testing

private let isWholeRun = Environment.variable("LOCKKEEPER_TEST_ALL") != nil

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

        // Who keeps a packet holds no lock: the account may be removed at any of his steps, and added
        // again under the id. He goes on, or dies there.
        @Test(
            "while its account is removed: nothing of the packet stays, and no other account gets it"
        )
        func keepingForRemoved() async throws {
            let seed = Int.random(in: 0..<4)
            print("seed=\(seed)")
            try await onOwnThread {
                var call = 1
                var isThere = true
                while isThere, call < 200 {
                    let all = Array(0..<4)
                    for number in isWholeRun ? all : [all[(call + seed) % 4]] where isThere {
                        isThere = try removeWhileKeeping(
                            at: call,
                            isKilled: number.isMultiple(of: 2),
                            isAddedAgain: number > 1
                        )
                    }
                    call += 1
                }
                // Directories, file, sync, name, and the syncs of four folders.
                #expect(call > 10 && call < 200)
            }
        }

        /// Returns whether keeping a packet needs so many calls.
        private func removeWhileKeeping(
            at call: Int,
            isKilled: Bool,
            isAddedAgain: Bool
        ) throws -> Bool {
            #expect(try tell("add") == "added")
            let comment: Comment = "call \(call), killed: \(isKilled), added: \(isAddedAgain)"
            let keeper = try LineProcess.inbox(root, ["stand", "packet-\(call)", "\(call)"])
            let said = try keeper.hear()
            if said == "kept" { return false }
            try #require(said == "stands")
            #expect(try task("remove", "alice") == "done", comment)
            if isAddedAgain { #expect(try tell("add") == "added") }
            if isKilled {
                try keeper.kill()
            } else {
                keeper.tell("go on")
                #expect(try keeper.hear() == "accountRemoved", comment)
                #expect(keeper.end() == .exited(0))
            }
            if isAddedAgain {
                #expect(try tell("drain", "0") == "drained")
                let contents = try contents()
                #expect(contents.rows == [] && contents.waitingCount == 0, comment)
                #expect(try task("remove", "alice") == "done")
            } else {
                #expect(try task("open") == "done")
            }
            let left = try FileSystem.list("\(root)/accounts/alice")
            #expect(left == ["account.locks"], comment)
            return true
        }

        private func task(_ words: String...) throws -> String {
            try LineProcess.task(root, words + ["change=100000"]).hear()
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

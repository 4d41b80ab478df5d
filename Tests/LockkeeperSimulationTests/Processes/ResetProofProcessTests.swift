import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperSimulation
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

extension RealProcesses {
    /// The schedule of ``ResetProofTests``, in which checkpointers and writers are processes of their own
    /// (I-10). The test's own process only looks on: while it has the database open nobody rebuilds the
    /// log's index from the log, which would hide what was noted wrongly in it.
    @Suite("The WAL-reset defect between processes: Lockkeeper loses nothing (I-10)")
    struct ResetProofProcessTests {
        @Test("plain SQLite in three processes loses rows or fails its check")
        func plain() async throws {
            let database = try PlainDatabase()
            let damage = try await onOwnThread { try Self.runPlain(database) }
            print(
                "SQLite \(SQLiteLibrary.version), plain, in processes: \(damage ?? "nothing lost")"
            )
            if SQLiteLibrary.hasLogResetDefect {
                #expect(damage != nil, "this schedule proved nothing about the defect")
            } else {
                #expect(damage == nil, "a SQLite that has the fix loses rows")
            }
            try database.remove()
        }

        private static func runPlain(_ database: PlainDatabase) throws -> String? {
            let onlooker = try database.open()
            let writer = try ForeignProgram.python.open(database.path)
            let first = try ForeignProgram.shell.open(database.path)
            let second = try LineProcess.plain(database.path)
            try writer.insertForeign(1...40)
            // It has looked at the log before it asks for the lock, so that it finds the header changed.
            #expect(try second.ask("pause checkpoint") == "paused")
            #expect(try second.ask("checkpoint") == "begun")
            #expect(try second.ask("await") == "stands")
            try writer.insertForeign(41...41)
            #expect(try first.isCheckpointComplete())
            #expect(try second.ask("pause unfetch") == "paused")
            #expect(try second.ask("release") == "released")
            #expect(try second.ask("await") == "stands")
            try writer.insertForeign(42...50)
            #expect(try second.ask("release") == "released")
            print("the second checkpoint: \(try second.ask("outcome"))")
            try writer.insertForeign(51...60)
            _ = try first.run("PRAGMA wal_checkpoint(TRUNCATE)")
            for process in [writer, first, second] { _ = process.end() }
            try onlooker.close()
            return damageOf(database.path, rows: Set(1...60))
        }

        /// Who writes beside Lockkeeper's checkpoint, and what the log is when its reader begins.
        enum Schedule: Sendable, CaseIterable {
            /// Two processes of ours write, and another one asks for checkpoints.
            case ours
            /// A foreign program writes, and another one tries to checkpoint.
            case foreign
            /// The same, and the foreign one has just copied all of the log: the reader cannot keep it
            /// from beginning anew, but keeps the checkpoint from copying.
            case foreignAfterCopying
        }

        @Test(
            "Lockkeeper's checkpointer, stopped in the window while others write, loses nothing",
            arguments: Schedule.allCases
        )
        func lockkeeper(_ schedule: Schedule) async throws {
            try await SharedEntries.with { entries in
                let damage = try await onOwnThread { try Self.run(schedule, on: entries) }
                #expect(damage == nil)
            }
        }

        private static func run(_ schedule: Schedule, on entries: SharedEntries) throws -> String? {
            let onlooker = try PlainDatabase.open(entries.path)
            let writer = try LineProcess.account(entries.root, "writer", "mark=1000000")
            // It copies without WRITER, as it does with a long log: only then can others of ours write.
            let checkpointer = try LineProcess.account(
                entries.root,
                "first",
                "mark=200",
                "under=100"
            )
            #expect(try writer.ask("insert 1 120") == "inserted 120")
            let isCopied = schedule == .foreignAfterCopying
            #expect(try checkpointer.ask("pause \(isCopied ? "open" : "checkpoint")") == "paused")
            // Its commit finds the log above the mark.
            #expect(try checkpointer.ask("insert 121 121") == "inserted 1")
            #expect(try checkpointer.ask("await") == "stands")
            let others: any Others =
                schedule == .ours ? try Ours(entries, writer) : try Foreign(entries.path)
            if isCopied {
                #expect(try others.checkpoint())
                #expect(try checkpointer.ask("pause checkpoint") == "paused")
                #expect(try checkpointer.ask("release") == "released")
                #expect(try checkpointer.ask("await") == "stands")
            }
            try others.insert(122...122)
            // The reader that is held meanwhile keeps any other checkpoint from completing.
            #expect(try !others.checkpoint())
            #expect(try checkpointer.ask("pause unfetch") == "paused")
            #expect(try checkpointer.ask("release") == "released")
            #expect(try checkpointer.ask("await") == "stands")
            try others.insert(123...130)
            #expect(try checkpointer.ask("release") == "released")
            try others.insert(131...140)
            for process in [checkpointer, writer] { #expect(process.end() == .exited(0)) }
            let last = try ForeignProgram.python.open(entries.path)
            try last.insertForeign(141...150)
            #expect(try last.run("PRAGMA wal_checkpoint(TRUNCATE)").first?.hasPrefix("0|") == true)
            try onlooker.close()
            return entries.damage(
                rows: Set(1...150).union(schedule == .ours ? Set(1001...1020) : [])
            )
        }

        /// Those who write and checkpoint beside the checkpointer under test.
        private protocol Others {
            func insert(_ rows: ClosedRange<Int>) throws
            /// Returns whether the log was copied to its end.
            func checkpoint() throws -> Bool
        }

        private struct Ours: Others {
            let writer: LineProcess
            let entries: SharedEntries
            let other: LineProcess

            init(_ entries: SharedEntries, _ writer: LineProcess) throws {
                (self.entries, self.writer) = (entries, writer)
                other = try LineProcess.account(entries.root, "second", "mark=1", "under=1")
            }

            func insert(_ rows: ClosedRange<Int>) throws {
                #expect(
                    try writer.ask("insert \(rows.lowerBound) \(rows.upperBound)").hasPrefix("ins")
                )
            }

            /// Each of its commits asks for a checkpoint; MAINTENANCE keeps it from making one.
            func checkpoint() throws -> Bool {
                #expect(try other.ask("pause checkpoint") == "paused")
                #expect(try other.ask("insert 1001 1020") == "inserted 20")
                // Closing waits for the checkpoint that was asked for.
                #expect(other.end() == .exited(0))
                return false
            }
        }

        private struct Foreign: Others {
            let writer: LineProcess
            let checkpointer: LineProcess

            init(_ path: String) throws {
                writer = try ForeignProgram.python.open(path)
                checkpointer = try ForeignProgram.shell.open(path)
            }

            func insert(_ rows: ClosedRange<Int>) throws { try writer.insertForeign(rows) }
            func checkpoint() throws -> Bool { try checkpointer.isCheckpointComplete() }
        }
    }
}

extension LineProcess {
    /// Has a foreign program commit rows, one transaction for each.
    func insertForeign(_ rows: ClosedRange<Int>) throws {
        for row in rows {
            _ = try run("INSERT INTO entry VALUES (\(row), hex(zeroblob(250)))")
        }
    }

    /// Has a foreign program copy the log; whether it was copied to its end.
    func isCheckpointComplete() throws -> Bool {
        let answer = try #require(try run("PRAGMA wal_checkpoint(PASSIVE)").first)
        let numbers = answer.split(separator: "|")
        return numbers[0] == "0" && numbers[1] == numbers[2]
    }
}

import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

@testable import Lockkeeper

@Suite("Backups: one commit, one file, whoever writes; restoring is another store (5.5, I-8, I-11)")
struct BackupTests {
    private func folder(_ test: TestWorkspace) -> String { "\(test.root)/accounts/alice" }

    private func managed(_ test: TestWorkspace) throws -> [String] {
        try FileSystem.list("\(folder(test))/backups")
    }

    @Test(
        "a backup made while others write is complete to the commit that it states, and no further"
    )
    func whileOthersWrite() async throws {
        try await withNotes { test, app, alice in
            // Enough pages that it takes several steps.
            let text = String(repeating: "x", count: 4000)
            for _ in 1...1200 { try await alice.note(text) }
            let path = "\(test.root)/backup.db"
            let written = Monitor(0)
            let report = try await app.backUp("alice", to: path) { progress in
                #expect(progress.pagesDone <= progress.pageCount)
                // Somebody else commits between any two steps.
                written.withLock { $0 += 1 }
                let done = Monitor(false)
                Task.detached {
                    _ = try? await alice.note("meanwhile")
                    done.withLock { $0 = true }
                    done.broadcast()
                }
                _ = done.wait(until: .never) { $0 ? true : nil }
            }
            #expect(written.withLock { $0 } >= 3)
            let (backup, contents) = try BackupFile.open(path, app.environment)
            defer { try? backup.close() }
            #expect(contents.commit == report.position.commit)
            #expect(report.position.store == alice.database.store)
            #expect(report.position.commit == CommitNumber(1201))
            #expect(try backup.value("SELECT count(*) FROM note")?.integer == 1200)
            #expect(try backup.value("SELECT max(number) FROM lk_commit")?.integer == 1201)
            #expect(try backup.value("PRAGMA integrity_check") == "ok")
            #expect(try backup.value("PRAGMA journal_mode") == "delete")
            let status = try #require(try FileSystem.status(path))
            #expect(status.mode == 0o600 && status.size == report.byteCount)
            // A file that stands for itself has nothing beside it.
            let beside = try FileSystem.list(test.root).filter { $0.hasPrefix("backup.db") }
            #expect(beside == ["backup.db"])
            #expect(try await alice.notes().count == 1200 + written.withLock { $0 })
        }
    }

    @Test(
        "a name that is taken is refused, a failed backup leaves nothing, a cancelled one neither"
    )
    func nothingLeft() async throws {
        try await withNotes { test, app, alice in
            let text = String(repeating: "x", count: 4000)
            for _ in 1...600 { try await alice.note(text) }
            let path = "\(test.root)/backup.db"
            try FileSystem.replaceFile(at: path, with: [1])
            let error = await expect(.invalidInput) { _ = try await app.backUp("alice", to: path) }
            #expect(error?.subject == path)
            #expect(try FileSystem.contents(of: path) == [1])
            // What a killed one left in the same folder, with its text, goes with the next.
            let killed = "\(test.root)/other.db.4194303-x.lockkeeper-tmp"
            for suffix in ["", "-journal", "-mine"] {
                try FileSystem.replaceFile(at: killed + suffix, with: [1])
            }
            _ = try await app.backUp("alice", to: "\(test.root)/third.db")
            #expect(
                try FileSystem.list(test.root).filter { $0.contains("lockkeeper-tmp") }
                    == ["other.db.4194303-x.lockkeeper-tmp-mine"]
            )
            await expect(.fileMissing) {
                _ = try await app.backUp("alice", to: "\(test.root)/missing/backup.db")
            }
            let cancelled = "\(test.root)/cancelled.db"
            let began = Gate()
            let task = Task {
                try await app.backUp("alice", to: cancelled) { _ in
                    began.arrive()
                    began.waitUntilOpen()
                }
            }
            await began.arrived()
            task.cancel()
            began.open()
            await #expect(throws: CancellationError.self) { _ = try await task.value }
            let names = try FileSystem.list(test.root)
            #expect(!names.contains { $0.hasPrefix("cancelled") }, "\(names)")
        }
    }

    @Test(
        "whoever needs the account to himself does not wait for a backup; it is told to try again"
    )
    func givesWay() async throws {
        try await withNotes { test, app, alice in
            let text = String(repeating: "x", count: 4000)
            for _ in 1...600 { try await alice.note(text) }
            let began = Gate()
            let helper = try await test.process("helper")
            let task = Task {
                try await helper.backUp("alice", to: "\(test.root)/backup.db") { _ in
                    began.arrive()
                    began.waitUntilOpen()
                }
            }
            await began.arrived()
            let removal = Task { try await app.removeAccount("alice", waitMax: .seconds(3600)) }
            let attachment = try helper.attach("alice")
            let hasLeft = try await onOwnThreadEventually { !attachment.isOpen }
            #expect(hasLeft)
            began.open()
            await expect(.busy) { _ = try await task.value }
            try await removal.value
        }
    }

    @Test(
        "backups in the account's folder go by number and by time, and unfinished ones with their maker"
    )
    func retention() async throws {
        try await withNotes { test, app, alice in
            for number in 1...4 {
                test.wallClock.set(milliseconds: Int64(number) * 1000)
                try await alice.note("\(number)")
                let retention = BackupRetention(countMax: 2, timeMax: nil)
                _ = try await app.backUp("alice", retention: retention)
            }
            let names = try managed(test).sorted()
            #expect(names == ["messages-4-3000-manual.db", "messages-5-4000-manual.db"])
            let short = BackupRetention(countMax: nil, timeMax: .seconds(60))
            let report = try await app.backUp("alice", retention: short)
            #expect(report.path.hasSuffix("messages-5-4000-manual-until-64000.db"))
            _ = try await app.backUp("alice", .settings, retention: short)
            #expect(try managed(test).count == 4)
            // No process has this number.
            let unfinished =
                "\(folder(test))/backups/messages-9-9-manual.db.4194303-x.lockkeeper-tmp"
            for suffix in ["", "-journal"] {
                try FileSystem.replaceFile(at: unfinished + suffix, with: [1])
            }
            test.wallClock.set(milliseconds: 64_000)
            let opener = try await test.process("opener")
            _ = try await opener.session("alice")
            #expect(try managed(test).sorted() == names)
        }
    }

    // B23
    @Test(
        "a restored account is what it was, as another store: sessions are superseded, positions resync, and the log that was there is never met"
    )
    func restore() async throws {
        try await withNotes { test, app, alice in
            try await alice.note("one")
            let path = "\(test.root)/backup.db"
            let backup = try await app.backUp("alice", to: path)
            // All of this is in the log.
            for number in 1...50 { try await alice.note("later \(number)") }
            let helper = try await test.process("helper")
            let other = try await helper.session("alice")
            let before = try await other.database.head()
            let report = try await app.restore("alice", from: path)
            #expect(report.position == backup.position)
            #expect(report.generation > alice.account.generation)
            for session in [alice, other] {
                await expect(.superseded) { try await session.note("late") }
            }
            let session = try await helper.session("alice")
            #expect(try await session.notes() == ["one"])
            #expect(session.database.store != before.store)
            await expect(.resync) {
                for try await _ in session.changes(after: before) { break }
            }
            try await session.note("two")
            #expect(try await session.notes() == ["one", "two"])
            let names = Set(try FileSystem.list(folder(test)))
            #expect(names.isSuperset(of: ["messages-2.db", "settings-2.db", "damaged"]))
            #expect(!names.contains("messages-1.db-wal"))
            let aside = Set(try FileSystem.list("\(folder(test))/damaged"))
            #expect(aside.isSuperset(of: ["messages-1.db", "messages-1.db-wal"]))
            // The backup itself is as it was.
            #expect(try await app.restore("alice", from: path).position == backup.position)
        }
    }

    @Test(
        "what is no backup of this account, is newer, damaged or missing is refused, and nothing changes"
    )
    func refused() async throws {
        try await withNotes { test, app, alice in
            let text = String(repeating: "x", count: 4000)
            for _ in 1...100 { try await alice.note(text) }
            let path = "\(test.root)/backup.db"
            _ = try await app.backUp("alice", to: path)
            try await app.addAccount("bob")
            _ = try await app.activate("bob")
            let error = await expect(.invalidInput) { _ = try await app.restore("bob", from: path) }
            #expect(error?.explanation == "it is a backup of account alice, not bob")
            await expect(.fileMissing) { _ = try await app.restore("alice", from: path + "x") }
            let bytes = try FileSystem.contents(of: path)
            let rubbish = "\(test.root)/rubbish.db"
            for (damaged, code) in [
                (Array("no database".utf8), LockkeeperError.Code.damaged),
                (Array(bytes.prefix(bytes.count / 2)), .damaged),
                (
                    bytes.prefix(8192) + [UInt8](repeating: 7, count: 16_384)
                        + bytes.dropFirst(24_576),
                    .damaged
                ),
            ] {
                try FileSystem.replaceFile(at: rubbish, with: damaged)
                let error = await expect(code) {
                    _ = try await app.restore("alice", from: rubbish)
                }
                // It is the backup that is damaged, and not the account.
                #expect(error?.subject == rubbish)
                #expect(error?.answer == .fixEnvironment)
                #expect(error?.remedy.contains("another backup") == true)
            }
            let newer = "\(test.root)/newer.db"
            try FileSystem.replaceFile(at: newer, with: bytes)
            let connection = try Connection(
                path: newer,
                mode: .readWrite,
                clock: SystemClock(),
                busyDeadline: .never,
                jitterSeed: 1
            )
            try connection.execute(
                "INSERT INTO lk_migration VALUES ('lockkeeper', '999912312359_far', x'00', 0)"
            )
            try connection.close()
            await expect(.newerSchema) { _ = try await app.restore("alice", from: newer) }
            #expect(try await alice.notes().count == 100)
            try await alice.note("on")
        }
    }

    @Test(
        "a backup moves to another workspace, whose generations are lower, and an older schema is migrated"
    )
    func movesIn() async throws {
        try await withNotes { test, app, alice in
            for _ in 1...20 { _ = try await app.activate("alice") }
            let session = try await app.session("alice")
            try await session.note("moved")
            let path = "\(test.root)/backup.db"
            let backup = try await app.backUp("alice", to: path)
            try await TestWorkspace.with(schemas: []) { other in
                let poll = SchemaMigration("202611010900_poll", sql: "CREATE TABLE poll (a)")
                let there = try await Workspace.openApart(
                    at: other.root,
                    name: "there",
                    schemas: [Schema(owner: "polls", migrations: [poll])]
                )
                try await there.addAccount("alice")
                let report = try await there.restore("alice", from: path)
                #expect(report.generation > Generation(20))
                #expect(try await there.account("alice").state == .retired)
                let moved = try await there.activate("alice")
                #expect(moved.account.generation > report.generation)
                #expect(try await moved.notes() == ["moved"])
                #expect(moved.database.store != backup.position.store)
                try await moved.database.write { try $0.execute("INSERT INTO poll VALUES (1)") }
                await there.close()
            }
        }
    }

    @Test("an account's own database is refused as its backup, and nobody is asked to leave for it")
    func ownFile() async throws {
        try await withNotes { test, app, alice in
            try await alice.note("kept")
            let files = try FileSystem.list(folder(test)).filter { $0.contains(".db") }
            #expect(!files.isEmpty)
            for file in files {
                let error = await expect(.invalidInput) {
                    _ = try await app.restore("alice", from: "\(folder(test))/\(file)")
                }
                #expect(error?.explanation.contains("the account's own database") == true)
                #expect(error?.holders.isEmpty == true)
            }
            try await alice.note("still open")
            #expect(try await alice.notes().count == 2)
        }
    }

    @Test("damaged messages are restored beside sound settings")
    func damaged() async throws {
        try await withNotes { test, app, alice in
            try await alice.note("one")
            let path = "\(test.root)/backup.db"
            _ = try await app.backUp("alice", to: path)
            await app.close()
            // The log has every page: without it nothing is left.
            for suffix in ["-wal", "-shm"] {
                try FileSystem.remove("\(folder(test))/messages-1.db\(suffix)")
            }
            try FileSystem.replaceFile(at: "\(folder(test))/messages-1.db", with: [1, 2, 3])
            let tool = try await test.process("tool")
            await expect(.damaged) { _ = try await tool.session("alice") }
            _ = try await tool.restore("alice", from: path)
            #expect(try await tool.session("alice").notes() == ["one"])
            let aside = try FileSystem.contents(of: "\(folder(test))/damaged/messages-1.db")
            #expect(aside == [1, 2, 3])
        }
    }

    private func onOwnThreadEventually(
        _ condition: @escaping @Sendable () throws -> Bool
    ) async throws -> Bool {
        try await onOwnThread { try eventually(condition) }
    }
}

import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

@testable import Lockkeeper

@Suite("SQLite's busy codes are told apart, and name who is in the way")
struct BusyTests {
    /// A workspace with the kernel's clock: waits for SQLite's locks end by it.
    private func withKernelClock(
        _ body: (_ test: TestWorkspace, _ session: Session) async throws -> Void
    ) async throws {
        try await withNotes { test, _, _ in
            var limits = Limits()
            limits.admissionWaitMax = .milliseconds(200)
            let workspace = try await Workspace.openApart(
                at: test.root,
                name: "real",
                limits: limits
            )
            try await body(test, try await workspace.session("alice"))
            await workspace.close()
        }
    }

    private func start(_ script: String, _ database: String) async throws -> ForeignProgram {
        try await blocking("test") { try ForeignProgram(script, database: database) }
    }

    private func end(_ program: ForeignProgram) async throws {
        try await blocking("test") { try program.end() }
    }

    @Test("SQLITE_BUSY: a foreign writer is met within the deadline and named; reads go on")
    func busy() async throws {
        try await withKernelClock { test, session in
            let program = try await start(ForeignProgram.writer, test.database)
            let error = await expect(.busy) { try await session.note("n") }
            #expect(error?.answer == .retry)
            #expect(error?.holders.count == 1, "\(error?.holders ?? [])")
            #expect(error?.holders.first?.hasPrefix("pid \(program.pid) (python") == true)
            #expect(error?.holders.first?.contains("does not use Lockkeeper") == true)
            #expect((error?.cause as? SQLiteError)?.code == .busy)
            #expect(try await session.notes() == [])
            try await end(program)
            try await session.note("n")
            #expect(try await session.notes() == ["n"])
        }
    }

    // Found from outside: `status` itself failed after half a minute, and named nobody.
    @Test("a program that holds the registry is named to everybody who opens the workspace")
    func registry() async throws {
        try await withNotes { test, _, _ in
            let program = try await start(ForeignProgram.exclusive, "\(test.root)/workspace.db")
            var limits = Limits()
            limits.openWaitMax = .milliseconds(200)
            let error = await expect(.busy) {
                _ = try await Workspace.openApart(at: test.root, name: "real", limits: limits)
            }
            #expect(error?.holders.count == 1, "\(error?.holders ?? [])")
            #expect(error?.holders.first?.hasPrefix("pid \(program.pid) (python") == true)
            try await end(program)
        }
    }

    @Test("a journal mode that another program has changed is found, and turned back by opening")
    func journalMode() async throws {
        try await withNotes { test, app, alice in
            try await alice.note("kept", durability: .durable)
            await app.close()
            let foreign = try Connection(
                path: test.database,
                mode: .readWrite,
                clock: SystemClock(),
                busyDeadline: .never,
                jitterSeed: 1
            )
            #expect(try foreign.value("PRAGMA journal_mode = DELETE")?.text == "delete")
            try foreign.close()
            let next = try await test.process("next")
            #expect(try await next.inspect("alice").map(\.code) == ["log-mode"])
            let again = try await next.session("alice")
            #expect(try await again.notes() == ["kept"])
            try await again.note("after", durability: .durable)
            #expect(try await next.inspect("alice").isEmpty)
        }
    }

    @Test("SQLITE_BUSY_RECOVERY: a process that builds the index anew is named, and waited for")
    func recovery() async throws {
        try await withKernelClock { test, session in
            let program = try await start(ForeignProgram.recoverer, test.database)
            for attempt in ["read", "write"] {
                let error = await expect(.busy) {
                    if attempt == "read" {
                        _ = try await session.notes()
                    } else {
                        try await session.note("n")
                    }
                }
                #expect((error?.cause as? SQLiteError)?.code == .busyRecovery, "\(attempt)")
                #expect(error?.remedy.contains("building the log's index") == true)
                #expect(error?.holders.first?.hasPrefix("pid \(program.pid) ") == true)
            }
            try await end(program)
            // Whoever comes next builds it anew: nothing is lost.
            try await session.note("n")
            #expect(try await session.notes() == ["n"])
        }
    }

    @Test("SQLITE_LOCKED: a connection in its own way is the program's to mend, at once")
    func locked() async throws {
        try await withNotes { _, _, session in
            try await session.note("n")
            let error = await expect(.statement) {
                try await session.database.write { transaction in
                    _ = try transaction.query("SELECT text FROM note") { _ in
                        try transaction.execute("DROP TABLE note")
                    }
                }
            }
            #expect((error?.cause as? SQLiteError)?.code == .locked)
            #expect(error?.answer == .fixProgram && error?.holders.isEmpty == true)
            #expect(try await session.notes() == ["n"])
        }
    }

    @Test("SQLITE_BUSY_SNAPSHOT, _TIMEOUT and a shared cache's lock are others' and have sentences")
    func sentences() {
        let remedies = [
            ResultCode.busy, .busyRecovery, .busySnapshot, .busyTimeout, .lockedSharedCache,
            .protocolError,
        ].map { code -> String in
            #expect(code.isOfOthers)
            let cause = SQLiteError(code: code, message: "m", operation: .begin)
            let error = ErrorMapping.map(BusyDatabase(cause: cause, holders: []), subject: "s")
            let mapped = error as? LockkeeperError
            #expect(mapped?.code == .busy && mapped?.answer == .retry)
            return mapped?.remedy ?? ""
        }
        #expect(Set(remedies).count == 3)
        #expect(!ResultCode.locked.isOfOthers && !ResultCode.ioError.isOfOthers)
    }
}

@Suite("What a check says of files that are not as they should be")
struct MissingFileTests {
    @Test("a missing file and one that is no store are findings, and the other file is looked at")
    func findings() async throws {
        try await withNotes { test, app, session in
            await session.close()
            let settings = "\(test.root)/accounts/alice/settings-1.db"
            let suffixes = ["", "-wal", "-shm"]
            for suffix in suffixes {
                try FileSystem.rename(settings + suffix, to: settings + ".away" + suffix)
            }
            let missing = try await app.inspect("alice")
            #expect(missing.map(\.code) == ["file-missing"])
            #expect(missing.first?.subject == settings)
            let error = await expect(.fileMissing) { _ = try await app.session("alice") }
            #expect(error?.subject == settings && error?.answer == .recover)
            try FileDescriptor(opening: settings, [.writeOnly, .create])
                .write(Array(repeating: 7, count: 8_192))
            #expect(try await app.inspect("alice").map(\.code) == ["not-a-store"])
            for suffix in suffixes {
                try FileSystem.rename(settings + ".away" + suffix, to: settings + suffix)
            }
            #expect(try await app.inspect("alice").isEmpty)
        }
    }

    // B23
    @Test(
        "a database that was deleted beside its log is not made anew: the log stays, and both together have every row"
    )
    func deletedBesideLog() async throws {
        try await withNotes { test, app, session in
            for number in 1...20 { try await session.note("\(number)") }
            await app.close()
            let path = "\(test.root)/accounts/alice/messages-1.db"
            let log = try FileSystem.contents(of: path + "-wal")
            #expect(log.count > 20 * 4096)
            try FileSystem.rename(path, to: path + ".away")
            let next = try await test.process("next")
            for _ in 1...2 {
                await expect(.fileMissing) { _ = try await next.session("alice") }
                #expect(try FileSystem.status(path) == nil)
                #expect(try FileSystem.contents(of: path + "-wal") == log)
            }
            try FileSystem.rename(path + ".away", to: path)
            #expect(try await next.session("alice").notes() == (1...20).map(String.init))
            await next.close()
        }
    }
}

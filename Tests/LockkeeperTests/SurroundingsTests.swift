import CLockkeeperSQLite
import Glibc
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

@testable import Lockkeeper

// One after the other: a second SQLite in the process is seen by all.
@Suite("What a store stands in, and files that somebody else touched", .serialized)
struct SurroundingsTests {
    private func folder(_ test: TestWorkspace) -> String { "\(test.root)/accounts/alice" }

    private func codes(_ app: Workspace) async throws -> [String] {
        try await app.surroundings(of: "alice").findings.map(\.code)
    }

    // B27, B29
    @Test("other owners' rights, second names, links and leftovers are found, each with what to do")
    func files() async throws {
        try await withNotes { test, app, alice in
            let whole = try await app.surroundings(of: "alice")
            #expect(whole.findings == [], "\(whole.findings)")
            let facts = Set(whole.facts.map(\.name))
            #expect(
                facts.isSuperset(of: ["file-system", "free-bytes", "sqlite", "sees-lost-writes"])
            )
            let document = "\(folder(test))/documents/note.json"
            try FileSystem.makeDirectory("\(folder(test))/documents")
            try FileSystem.replaceFile(at: document, with: [1])
            chmod(document, 0o640)
            let file = "\(folder(test))/messages-1.db"
            link(file, "\(test.root)/other-name.db")
            chmod(file + "-wal", 0o644)
            symlink("/dev/null", "\(folder(test))/messages-0.db")
            let surroundings = try await app.surroundings(of: "alice")
            let found = surroundings.findings.map { finding in
                "\(finding.code) \(finding.subject.split(separator: "/").last ?? "")"
            }
            #expect(
                found == [
                    "file-links other-name.db", "file-mode note.json",
                    "file-link messages-0.db", "file-links messages-1.db",
                    "file-mode messages-1.db-wal",
                    "leftover messages-0.db",
                ]
            )
            #expect(surroundings.findings.allSatisfy { $0.remedy.hasSuffix(".") })
        }
    }

    // B29
    @Test(
        "a file of another user's is found by name",
        .enabled(if: Environment.userID == 0, "giving files away takes root")
    )
    func owner() async throws {
        try await withNotes { test, app, alice in
            chown("\(folder(test))/messages-1.db-shm", 65_534, 65_534)
            let findings = try await app.surroundings(of: "alice").findings
            #expect(findings.map(\.code) == ["file-owner"])
            #expect(findings[0].explanation.contains("uid 65534"))
            chown("\(folder(test))/messages-1.db-shm", 0, 0)
        }
    }

    // B28
    @Test(
        "a database that is mounted alone into the folder is found",
        .enabled(if: Environment.userID == 0, "mounting takes root")
    )
    func mounts() async throws {
        try await withNotes { test, app, alice in
            let file = "\(folder(test))/messages-1.db"
            guard mount(file, file, nil, UInt(MS_BIND), nil) == 0 else { return }
            defer { umount2(file, Int32(MNT_DETACH)) }
            let findings = try await app.surroundings(of: "alice").findings
            #expect(findings.map(\.code) == ["mount"])
            #expect(findings.map(\.subject) == [file])
        }
    }

    // B21
    @Test("a second copy of SQLite in a process of the account is found")
    func copies() async throws {
        try await withNotes { test, app, alice in
            let own = ProcessView.mappedFiles(pid: getpid())
            let name = SQLiteLibrary.canEncrypt ? "libsqlcipher.so" : "libsqlite3.so"
            let library = try #require(own.first { $0.contains("/\(name)") })
            let copy = "\(test.root)/\(name).copy"
            try FileSystem.replaceFile(at: copy, with: try FileSystem.contents(of: library))
            let handle = try #require(dlopen(copy, RTLD_NOW | RTLD_LOCAL))
            defer { dlclose(handle) }
            let findings = try await app.surroundings(of: "alice").findings
            #expect(findings.map(\.code) == ["sqlite-copies"])
            #expect(findings[0].explanation.contains(copy))
        }
    }

    // B31
    @Test(
        "a log index that another tool cut or removed while all were idle ends writing and reading, and reopening has every row",
        arguments: [true, false]
    )
    func index(isRemoved: Bool) async throws {
        try await withNotes { test, app, alice in
            let helper = try await test.process("helper")
            let other = try await helper.session("alice")
            for number in 1...20 { try await alice.note("\(number)") }
            _ = try await other.notes()
            let index = "\(folder(test))/messages-1.db-shm"
            if isRemoved {
                try FileSystem.remove(index)
            } else {
                #expect(truncate(index, 0) == 0)
            }
            for session in [alice, other] {
                let error = await expect(.fileReplaced) { try await session.note("lost") }
                #expect(error?.subject == index)
                await expect(.fileReplaced) { _ = try await session.notes() }
            }
            await app.close()
            await helper.close()
            let next = try await test.process("next")
            let session = try await next.session("alice")
            #expect(try await session.notes() == (1...20).map(String.init))
            try await session.note("on")
        }
    }

    // B86
    @Test(
        "after a rollback that failed the next write has a connection of its own, and nothing joins it"
    )
    func failedRollback() async throws {
        struct Stop: Error {}
        try await withNotes { test, app, alice in
            let head = try await alice.database.head()
            await #expect(throws: Stop.self) {
                try await alice.database.write { transaction in
                    try transaction.execute("INSERT INTO note VALUES ('never')")
                    // A new authoriser makes SQLite prepare ROLLBACK again, which this one refuses.
                    transaction.connection.withUnsafeHandle { handle in
                        _ = sqlite3_set_authorizer(handle, { _, _, _, _, _, _ in SQLITE_DENY }, nil)
                    }
                    throw Stop()
                }
            }
            #expect(try await alice.database.head() == head)
            let receipt = try await alice.note("next")
            #expect(receipt.commit == head.commit.next)
            #expect(try await alice.notes() == ["next"])
        }
    }

    @Test(
        "each level's result stands in the status with when it was run; a cancelled one changes nothing"
    )
    func levels() async throws {
        try await withNotes { test, app, alice in
            test.wallClock.set(milliseconds: 5000)
            let fresh = try await app.status().accounts[0].inspections
            #expect(fresh.map(\.level) == [.open, .open])
            let report = try await app.inspection(of: "alice", level: .quick)
            #expect(report.findings == [] && report.level == .quick)
            try await alice.database.write { transaction in
                try transaction.execute("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
                try transaction.execute("CREATE TABLE child (a REFERENCES parent)")
            }
            let foreign = try Connection(
                path: "\(folder(test))/messages-1.db",
                mode: .readWrite,
                clock: SystemClock(),
                busyDeadline: .never,
                jitterSeed: 1
            )
            try foreign.execute("INSERT INTO child VALUES (7)")
            try foreign.close()
            test.wallClock.set(milliseconds: 9000)
            #expect(try await app.inspection(of: "alice", level: .deep).findings.count == 1)
            let after = try await app.status().accounts[0].inspections
            let lines = after.filter { $0.kind == .messages && $0.level != .open }.map {
                "\($0.level.rawValue) \($0.endedAt) \($0.findingCount) \($0.codes)"
            }
            #expect(lines == ["quick 5000 0 []", "deep 9000 1 [\"foreign-key\"]"])
            let cancelled = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await app.inspection(of: "alice", level: .quick)
            }
            await #expect(throws: CancellationError.self) { _ = try await cancelled.value }
            #expect(try await app.status().accounts[0].inspections.map(\.endedAt).contains(9000))
            try await alice.database.write { try $0.execute("DROP TABLE child") }
        }
    }
}

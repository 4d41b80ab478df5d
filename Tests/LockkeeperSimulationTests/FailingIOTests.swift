import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperSimulation
import LockkeeperTesting
import Testing

@Suite(
    "A write that the disk refuses: whole or not at all, told as what it is, and the next one is free"
)
struct FailingIOTests {
    private typealias Kind = (call: FaultZone.Call, file: FaultZone.File)

    private func withNotes(
        _ body: (_ zone: FaultZone, _ test: TestWorkspace, _ alice: Session) async throws -> Void
    ) async throws {
        try await TestWorkspace.with(schemas: []) { test in
            let zone = FaultZone(folder: test.root)
            let app = try await test.process("app", vfs: FaultZone.vfs)
            try await app.addAccount("alice")
            let alice = try await app.activate("alice")
            try await alice.database.write { transaction in
                try transaction.execute("CREATE TABLE note (n INTEGER PRIMARY KEY, text TEXT)")
            }
            try await body(zone, test, alice)
        }
    }

    /// A batch of a hundred rows, of several pages.
    private func batch(_ number: Int, _ session: Session) async throws -> CommitReceipt {
        try await session.database.write(durability: .committed) { transaction in
            for row in 0..<100 {
                try transaction.execute(
                    "INSERT INTO note VALUES (?1, ?2)",
                    SQLValue(number * 100 + row),
                    SQLValue(String(repeating: "x", count: 500))
                )
            }
        }.receipt
    }

    private func count(_ session: Session) async throws -> Int64 {
        try await session.database.read { transaction in
            try transaction.query("SELECT count(*) FROM note") { $0.integer(0) }
        }[0]
    }

    // B82
    @Test(
        "whichever write of the log fails: no row, no commit number, nothing announced; the same batch succeeds afterwards",
        arguments: [
            (FaultZone.Failure.diskFull, LockkeeperError.Code.diskFull),
            (.shortWrite(byteCount: 100), .diskFull), (.ioError, .ioFailed),
        ]
    )
    func writes(failure: FaultZone.Failure, code: LockkeeperError.Code) async throws {
        try await withNotes { zone, _, alice in
            let start = try await alice.database.head()
            var number = 0
            for skipCount in 0..<1000 {
                zone.fail(.write, of: .log, after: skipCount, with: failure)
                do {
                    _ = try await batch(number, alice)
                    // Fewer writes than were to succeed: the failure was never met.
                    zone.heal(.write, of: .log)
                    number += 1
                    break
                } catch let error as LockkeeperError {
                    #expect(error.code == code, "\(error)")
                    #expect(try await count(alice) == number * 100)
                    let receipt = try await batch(number, alice)
                    number += 1
                    #expect(receipt.commit?.rawValue == start.commit.rawValue + Int64(number))
                }
            }
            #expect(number > 10)
            // What was announced is what was committed, each once.
            var heard: [CommitNumber] = []
            for try await range in alice.changes(after: start) {
                heard += (range.first.rawValue...range.last.rawValue).map {
                    CommitNumber($0)
                }
                if heard.count >= number { break }
            }
            #expect(heard.map(\.rawValue) == (1...Int64(number)).map { start.commit.rawValue + $0 })
        }
    }

    @Test(
        "a read of the database that fails within a transaction: the same, and the connection goes on"
    )
    func reads() async throws {
        try await withNotes { zone, test, alice in
            for number in 0..<5 { _ = try await batch(number, alice) }
            // Nothing is in a cache of a process that has just come.
            let helper = try await test.process("helper", vfs: FaultZone.vfs)
            let session = try await helper.session("alice")
            zone.fail(.read, of: .log, times: nil, with: .ioError)
            zone.fail(.read, of: .database, times: nil, with: .ioError)
            let error = await #expect(throws: LockkeeperError.self) {
                _ = try await session.database.write { try $0.execute("DELETE FROM note") }
            }
            #expect(error?.code == .ioFailed, "\(String(describing: error))")
            for file in [FaultZone.File.log, .database] { zone.heal(.read, of: file) }
            #expect(try await count(session) == 500)
            _ = try await batch(5, session)
            #expect(try await count(alice) == 600)
        }
    }

    /// Where pages are read from: the log, or, once it was copied, the database's file.
    private static let readFailures: [(FaultZone.File, FaultZone.Failure)] = [
        (.log, .ioError), (.log, .shortRead(byteCount: 100)), (.database, .ioError),
    ]

    // B82
    @Test(
        "whichever read of a write fails, that of BEGIN before all others: no row, no commit number, an I/O error; the same batch succeeds afterwards",
        arguments: readFailures
    )
    func everyRead(file: FaultZone.File, failure: FaultZone.Failure) async throws {
        try await withNotes { zone, test, alice in
            let path = "\(test.root)/accounts/alice/messages-1.db"
            // Its commits make old what others have in their caches, so that BEGIN reads.
            let other = try await test.process("other").session("alice")
            var (number, failureCount, isMet) = (0, 0, true)
            while isMet {
                try await other.database.write(durability: .committed) { [number] transaction in
                    try transaction.execute(
                        "INSERT INTO note VALUES (?1, '')",
                        SQLValue(-1 - number)
                    )
                }
                if file == .database {
                    let plain = try PlainDatabase.open(path)
                    #expect(try plain.checkpoint(.passive).isComplete)
                    try plain.close()
                }
                let head = try await other.database.head()
                zone.fail(.read, of: file, after: failureCount, with: failure)
                do {
                    _ = try await batch(number, alice)
                    zone.heal(.read, of: file)
                    isMet = false
                } catch let error as LockkeeperError {
                    #expect(error.code == .ioFailed, "\(error)")
                    failureCount += 1
                    #expect(try await other.database.head() == head)
                    let receipt = try await batch(number, alice)
                    #expect(receipt.commit == head.commit.next)
                }
                number += 1
                #expect(try await count(other) == number * 101)
            }
            #expect(failureCount > 1, "nothing was read")
        }
    }

    // B86
    @Test(
        "a rollback on a disk that refuses everything leaves nothing behind: the next write is alone",
        arguments: [FaultZone.Failure.ioError, .diskFull]
    )
    func rollback(failure: FaultZone.Failure) async throws {
        struct Stop: Error {}
        try await withNotes { zone, _, alice in
            _ = try await batch(0, alice)
            let head = try await alice.database.head()
            let calls: [Kind] = [
                (.write, .log), (.write, .database), (.read, .log), (.read, .database),
            ]
            await #expect(throws: (any Error).self) {
                try await alice.database.write { transaction in
                    // More than the cache holds, so that pages are in the log already.
                    try transaction.execute(
                        """
                        WITH n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 9000)
                        INSERT INTO note SELECT i, hex(zeroblob(500)) FROM n
                        """
                    )
                    for (call, file) in calls {
                        let isRead = call == .read
                        zone.fail(call, of: file, times: nil, with: isRead ? .ioError : failure)
                    }
                    throw Stop()
                }
            }
            for (call, file) in calls { zone.heal(call, of: file) }
            #expect(try await alice.database.head() == head)
            let receipt = try await batch(1, alice)
            #expect(receipt.commit == head.commit.next)
            #expect(try await count(alice) == 200)
        }
    }

    // B84
    @Test("on a full disk a migration changes nothing and says so, and a backup leaves nothing")
    func migration() async throws {
        try await withNotes { zone, test, alice in
            _ = try await batch(0, alice)
            let step = SchemaMigration(
                "202611010900_poll",
                sql: "CREATE TABLE poll AS SELECT * FROM note"
            )
            func newer() async throws -> Workspace {
                try await Workspace.openApart(
                    at: test.root,
                    name: "newer",
                    schemas: [Schema(owner: "polls", migrations: [step])],
                    vfs: FaultZone.vfs
                )
            }
            for file in [FaultZone.File.database, .log] {
                let program = try await newer()
                zone.fail(.write, of: file, times: nil, with: .diskFull)
                let migrating = await #expect(throws: LockkeeperError.self) {
                    _ = try await program.session("alice")
                }
                zone.heal(.write, of: file)
                #expect(migrating?.code == .diskFull, "\(file): \(String(describing: migrating))")
                await program.close()
                #expect(try await count(alice) == 100)
            }
            let program = try await newer()
            _ = try await program.session("alice")
            await program.close()
        }
    }
}

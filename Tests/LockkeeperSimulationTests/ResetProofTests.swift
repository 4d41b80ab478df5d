import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperSimulation
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

/// The WAL-reset defect of SQLite 3.7.0 to 3.51.2, and what Lockkeeper does against it (I-10).
///
///     first checkpointer   second checkpointer          writer
///     copies all N frames
///                          reads the header: N frames
///                          (stands in xUnfetch)
///                                                       commits: all is copied, so the log
///                                                       begins anew with k < N frames
///                          finds 0 of N frames copied,
///                          copies, notes "N copied"
///                                                       commits up to frame N: counted as copied
///
/// A log that is believed to be copied is not read and is begun anew: those commits are lost.
@Suite("The WAL-reset defect: plain SQLite loses rows, Lockkeeper does not (I-10)")
struct ResetProofTests {
    private static let wait = Duration.seconds(20)

    @Test(
        "plain SQLite loses rows or fails its check when a second checkpoint meets a restarted log"
    )
    func plain() async throws {
        let database = try PlainDatabase()
        let damage = try await onOwnThread { try Self.runPlain(database) }
        print("SQLite \(SQLiteLibrary.version), plain: \(damage ?? "nothing lost")")
        if SQLiteLibrary.hasLogResetDefect {
            #expect(damage != nil, "this schedule proved nothing about the defect")
        } else {
            #expect(damage == nil, "a SQLite that has the fix loses rows")
        }
        try database.remove()
    }

    @Test(
        "Lockkeeper's checkpoint in the same schedule, beside a plain SQLite writer, loses nothing",
        arguments: [LogBefore.grows, .isCopied]
    )
    func lockkeeper(_ before: LogBefore) async throws {
        #expect(try await Self.damageBesideLockkeeper(before) == nil)
    }

    // A proof that a wrong checkpoint passes is worth nothing.
    @Test("a checkpoint that nobody keeps the log still for is seen to let it begin anew")
    func planted() async {
        await #expect(processExitsWith: .exitCode(17)) {
            PlantedDefect.checkpointWithoutReader.plant()
            _ = try await ResetProofTests.damageBesideLockkeeper(.grows)
        }
    }

    /// What is damaged after Lockkeeper's checkpoint in the same schedule; `nil` for nothing.
    private static func damageBesideLockkeeper(_ before: LogBefore) async throws -> String? {
        let found = Monitor<String?>(nil)
        var limits = Limits()
        limits.checkpointFrameCountWithoutHost = 200
        try await TestWorkspace.with(limits: limits) { test in
            let zone = FaultZone(folder: test.root)
            let app = try await test.process("app", vfs: FaultZone.vfs)
            try await app.addAccount("alice")
            let alice = try await app.activate("alice")
            try await alice.database.write {
                try $0.execute("CREATE TABLE entry (id INTEGER PRIMARY KEY, text TEXT)")
            }
            let path = try SharedEntries.messagesPath(in: test.root)
            // While somebody has the database open nobody rebuilds the log's index from the log, which
            // would hide what was noted wrongly in it.
            let onlooker = try await onOwnThread { try Onlooker(path) }
            let count = try await onOwnThread { try Self.growLog(path, to: 200) }
            zone.pause(at: before == .grows ? .checkpoint : .open, of: .database)
            // Its commit finds the log above the mark and asks for a checkpoint.
            try await alice.database.write(durability: .committed) {
                try $0.execute("INSERT INTO entry VALUES (0, 'ours')")
            }
            let last = try await onOwnThread {
                try Self.disturb(zone, path, from: count + 1, before)
            }
            await alice.close()
            let damage = try await onOwnThread {
                let foreign = try PlainDatabase.open(path)
                try foreign.insertRows((last + 1)...(last + 10))
                #expect(try foreign.checkpoint(.truncate).isComplete)
                try foreign.close()
                return damageOf(path, rows: Set(0...(last + 10)))
            }
            found.withLock { $0 = damage }
            try await onOwnThread { try onlooker.leave() }
        }
        return found.withLock { $0 }
    }

    /// What the log is when the checkpoint's reader begins.
    enum LogBefore: Sendable {
        /// Some of it is to be copied. The reader pins it: it cannot begin anew.
        case grows
        /// A foreign program has just copied all of it. The reader cannot keep it from beginning
        /// anew, but keeps the checkpoint from copying.
        case isCopied
    }

    private static func runPlain(_ database: PlainDatabase) throws -> String? {
        let (zone, writer) = (database.zone, try database.open())
        try writer.insertRows(1...40)
        zone.pause(at: .checkpoint, of: .database)
        let second = try Background {
            // It has looked at the log before, so that it will find the header changed.
            let connection = try database.open()
            _ = try connection.checkpoint(.passive)
            try connection.close()
        }
        try #require(zone.awaitPause(within: wait))
        try writer.insertRows(41...41)
        let first = try database.open()
        try #require(try first.checkpoint(.passive).isComplete)
        zone.pause(at: .unfetch, of: .database)
        zone.release()
        try #require(zone.awaitPause(within: wait))
        try writer.insertRows(42...50)
        zone.release()
        try second.value()
        try writer.insertRows(51...60)
        // Its view of the log may be refused by now; what counts is what is there afterwards.
        _ = try? first.checkpoint(.truncate)
        for connection in [writer, first] { try connection.close() }
        return damageOf(database.path, rows: Set(1...60))
    }

    /// Lets a foreign program write until the log has so many frames; gives the last row's number.
    private static func growLog(_ path: String, to frameCount: Int) throws -> Int {
        let foreign = try PlainDatabase.open(path)
        var number = 0
        while foreign.logFrameCount < frameCount {
            number += 1
            try foreign.insertRows(number...number)
        }
        try foreign.close()
        return number
    }

    /// Does beside Lockkeeper's checkpoint what loses rows beside a plain one, and gives the last
    /// row's number.
    private static func disturb(
        _ zone: FaultZone,
        _ path: String,
        from number: Int,
        _ before: LogBefore
    ) throws -> Int {
        try #require(zone.awaitPause(within: wait))
        let (foreign, other) = (try PlainDatabase.open(path), try PlainDatabase.open(path))
        if before == .isCopied {
            try #require(try other.checkpoint(.passive).isComplete)
            zone.pause(at: .checkpoint, of: .database)
            zone.release()
            try #require(zone.awaitPause(within: wait))
        }
        try foreign.insertRows(number...number)
        // The reader that is held meanwhile keeps also a foreign checkpoint from completing.
        let copied = try? other.checkpoint(.passive)
        if PlantedDefect.checkpointWithoutReader.isPlanted {
            // All is copied, so that the next commit begins the log anew under our checkpoint.
            CurrentProcess.exit(copied?.isComplete == true ? 17 : 0)
        }
        #expect(copied?.isComplete != true)
        zone.pause(at: .unfetch, of: .database)
        zone.release()
        try #require(zone.awaitPause(within: wait))
        try foreign.insertRows((number + 1)...(number + 9))
        zone.release()
        for connection in [foreign, other] { try connection.close() }
        return number + 9
    }
}

/// Somebody who has a database open and does nothing.
private final class Onlooker: Sendable {
    private let mayLeave = Monitor(false)
    private let watching: Background<Void>

    init(_ path: String) throws {
        let hasOpened = Monitor<Bool>(false)
        watching = try Background { [mayLeave] in
            let connection = Result { try PlainDatabase.open(path) }
            hasOpened.withLock { $0 = true }
            hasOpened.broadcast()
            _ = mayLeave.wait(until: .never) { $0 ? true : nil }
            try connection.get().close()
        }
        _ = hasOpened.wait(until: .never) { $0 ? true : nil }
    }

    func leave() throws {
        mayLeave.withLock { $0 = true }
        mayLeave.broadcast()
        try watching.value()
    }
}

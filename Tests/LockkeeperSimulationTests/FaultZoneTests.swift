import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperSimulation
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

@Suite("A zone of faults: it does what it is set to do, and only there")
struct FaultZoneTests {
    @Test("the nth call fails as often as was said, and what was counted is what was made")
    func nth() async throws {
        try await withDatabase { database in
            let (zone, connection) = (database.zone, try database.open())
            try connection.insertRows(1...1)
            let before = zone.callCount(.write, of: .log)
            zone.fail(.write, of: .log, after: 2, with: .ioError)
            let insert = "INSERT INTO entry SELECT 1 + max(id), hex(zeroblob(3000)) FROM entry"
            let error = #expect(throws: SQLiteError.self) { try connection.execute(insert) }
            #expect(error?.code.primary == .ioError)
            #expect(zone.callCount(.write, of: .log) == before + 3)
            try connection.execute(insert)
            #expect(try connection.rowNumbers() == [1, 2])
            try connection.close()
        }
    }

    @Test("a failing sync fails until it is healed, and a full disk says so after some bytes")
    func forEver() async throws {
        try await withDatabase { database in
            let (zone, connection) = (database.zone, try database.open())
            try connection.execute("PRAGMA synchronous = FULL")
            try connection.insertRows(1...1)
            zone.fail(.sync, of: .log, times: nil, with: .ioError)
            for _ in 0..<3 {
                let error = #expect(throws: SQLiteError.self) { try connection.syncLog() }
                #expect(error?.code.primary == .ioError)
            }
            zone.heal(.sync, of: .log)
            try connection.syncLog()
            zone.beginRecording()
            zone.fail(.write, of: .log, with: .shortWrite(byteCount: 10))
            let error = #expect(throws: SQLiteError.self) { try connection.insertRows(2...2) }
            #expect(error?.code.primary == .full)
            let sizes = zone.endRecording().steps.map { step -> Int in
                if case .write(_, _, let bytes) = step { bytes.count } else { 0 }
            }
            #expect(sizes.contains(10))
            #expect(try connection.rowNumbers() == [1])
            try connection.close()
        }
    }

    @Test("a sync takes as much longer as was said")
    func delay() async throws {
        try await withDatabase { database in
            let connection = try database.open()
            try connection.insertRows(1...1)
            database.zone.delaySyncs(by: .milliseconds(30))
            let began = SystemClock().now()
            try connection.syncLog()
            #expect(SystemClock().now().duration(since: began) >= .milliseconds(30))
            try connection.close()
        }
    }

    @Test("a file outside of the zone, and one that is opened after its end, obeys nothing")
    func elsewhere() async throws {
        try await withDatabase { database in
            var inner: FaultZone? = FaultZone(folder: database.folder)
            inner?.fail(.open, of: .database, times: nil, with: .ioError)
            #expect(throws: SQLiteError.self) { try database.open() }
            inner = nil
            try database.open().close()
            try withExtendedLifetime(FaultZone(folder: database.folder + "/pla")) { zone in
                zone.fail(.open, of: .database, times: nil, with: .ioError)
                try database.open().close()
            }
        }
    }

    // The images are taken from a recording of SQLite itself, so that they are what it writes.
    @Test("an image without unsynced writes holds every commit that was synced before the cut")
    func images() async throws {
        try await withDatabase { database in
            let (zone, connection) = (database.zone, try database.open())
            try connection.execute("PRAGMA synchronous = FULL")
            // A file's content when recording begins counts as synced, as it is here.
            let initial = try Dictionary(
                uniqueKeysWithValues: ["", "-wal"].map { suffix in
                    (database.path + suffix, try FileSystem.contents(of: database.path + suffix))
                }
            )
            zone.beginRecording()
            for number in 1...20 {
                try connection.insertRows(number...number)
                zone.mark(number)
                if number == 10 { _ = try connection.checkpoint(.passive) }
            }
            let recorded = zone.endRecording(initial: initial)
            try connection.close()
            var seen: Set<Int> = []
            let seeds = [DiskImage.Fate.lost, .kept] + (1...3).map { .drawn(seed: $0) }
            for end in stride(from: 0, through: recorded.steps.count, by: 3) {
                for fate in seeds {
                    let count = try rowCount(after: recorded, cutAt: end, fate)
                    #expect(count >= recorded.marks(before: end).count, "cut at \(end), \(fate)")
                    seen.insert(count)
                }
            }
            #expect(seen.count >= 10, "the cuts hardly differ")
            // Without its syncs the same recording must lose what was acknowledged.
            var unsynced = recorded
            unsynced.steps.removeAll { if case .sync = $0 { true } else { false } }
            #expect(try rowCount(after: unsynced, cutAt: unsynced.steps.count, .lost) == 0)
        }
    }

    private func rowCount(
        after recorded: RecordedWrites,
        cutAt end: Int,
        _ fate: DiskImage.Fate
    ) throws -> Int {
        let folder = "/tmp/lk-image-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
        try FileSystem.makeDirectory(folder, mode: 0o700)
        defer { try? FileSystem.removeTree(folder) }
        try DiskImage(of: recorded, cutAt: end, fate: fate).write(to: folder)
        let connection = try PlainDatabase.open(folder + "/plain.db")
        defer { try? connection.close() }
        #expect(try connection.integrity() == "ok")
        let rows = try connection.rowNumbers()
        #expect(rows.isEmpty || rows == Set(1...rows.count), "no prefix of the commits")
        return rows.count
    }

    private func withDatabase(
        _ test: @escaping @Sendable (PlainDatabase) throws -> Void
    ) async throws {
        let database = try PlainDatabase()
        try await onOwnThread { try test(database) }
        try database.remove()
    }
}

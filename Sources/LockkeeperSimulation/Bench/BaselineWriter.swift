import CLockkeeperBaseline
import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages

/// The baseline's database and one writer of it: a face on `CLockkeeperBaseline`.
struct BaselineWriter: ~Copyable {
    private let writer: OpaquePointer
    private let path: String

    /// Makes the database with the tables of messages.
    ///
    /// - Throws: ``SimulationError/baselineFailed(path:code:)``.
    static func create(_ path: String, vfs: String?) throws(SimulationError) {
        let code = lk_baseline_create(path, vfs, Schema.messages.sql)
        guard code == 0 else { throw .baselineFailed(path: path, code: code) }
    }

    /// The messages in the database.
    ///
    /// - Throws: ``SimulationError/baselineFailed(path:code:)``.
    static func messageCount(_ path: String, vfs: String?) throws(SimulationError) -> Int {
        let count = lk_baseline_count(path, vfs)
        guard count >= 0 else { throw .baselineFailed(path: path, code: 1) }
        return Int(count)
    }

    /// Opens a writer.
    ///
    /// - Parameters:
    ///   - durability: whether its commits are synced.
    ///   - effects: whether each message gets the row by which somebody is told of it.
    /// - Throws: ``SimulationError/baselineFailed(path:code:)``.
    init(
        _ path: String,
        vfs: String?,
        number: Int,
        busyTimeout: Duration,
        durability: Durability = .durable,
        effects: EffectPolicy = .decide
    ) throws(SimulationError) {
        var code: Int32 = 0
        let milliseconds = Int32(busyTimeout.wholeNanoseconds / 1_000_000)
        let writer = lk_baseline_open(
            path,
            vfs,
            milliseconds,
            Int32(number),
            durability == .durable ? 1 : 0,
            effects == .decide ? 1 : 0,
            &code
        )
        guard let writer else { throw .baselineFailed(path: path, code: code) }
        self.writer = writer
        self.path = path
    }

    deinit { lk_baseline_close(writer) }

    /// Writes the next messages in one transaction; false where SQLite gave up waiting.
    ///
    /// - Throws: ``SimulationError/baselineFailed(path:code:)``.
    borrowing func write(count: Int, holding hold: Duration) throws(SimulationError) -> Bool {
        let microseconds = UInt32(clamping: hold.wholeNanoseconds / 1000)
        let code = lk_baseline_write(writer, Int32(count), microseconds)
        // SQLITE_BUSY, whatever its extension.
        if code & 0xff == 5 { return false }
        guard code == 0 else { throw .baselineFailed(path: path, code: code) }
        return true
    }
}

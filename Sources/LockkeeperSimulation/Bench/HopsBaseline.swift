import CLockkeeperBaseline
import LockkeeperDomain

/// The floor of a notice in plain C: a face on `CLockkeeperHops`.
enum HopsBaseline {
    /// Where its database lies in a benchmark's folder.
    static func databasePath(in root: String) -> String { "\(root)/hops.db" }
    /// Where its hub listens.
    private static func socketPath(in root: String) -> String { "\(root)/hops.sock" }

    /// Makes its database.
    ///
    /// - Throws: ``SimulationError/baselineFailed(path:code:)``.
    static func create(in root: String) throws(SimulationError) {
        try check(lk_hops_create(databasePath(in: root)), root)
    }

    /// Is its hub until the writer has ended.
    ///
    /// - Parameter ready: called once it listens.
    /// - Throws: ``SimulationError/baselineFailed(path:code:)``; what `ready` throws.
    static func serve(in root: String, ready: () throws -> MonotonicInstant) throws {
        let listener = lk_hops_listen(socketPath(in: root))
        try check(min(0, listener), root)
        _ = try ready()
        try check(lk_hops_serve(listener), root)
    }

    /// Is the writer or the reader.
    ///
    /// - Parameter ready: called once it is connected; it begins when that returns.
    /// - Returns: nanoseconds of the monotonic clock, one for each row.
    /// - Throws: ``SimulationError/baselineFailed(path:code:)``; what `ready` throws.
    static func run(
        writing: Bool,
        count: Int,
        in root: String,
        ready: () throws -> Void
    ) throws -> [Int64] {
        var code: Int32 = 0
        guard let hops = lk_hops_open(databasePath(in: root), socketPath(in: root), &code) else {
            throw SimulationError.baselineFailed(path: databasePath(in: root), code: code)
        }
        defer { lk_hops_close(hops) }
        try ready()
        var instants = [Int64](repeating: 0, count: count)
        let rowCount = Int32(count)
        let end =
            writing
            ? lk_hops_write(hops, rowCount, &instants) : lk_hops_read(hops, rowCount, &instants)
        try check(end, root)
        return instants
    }

    private static func check(_ code: Int32, _ root: String) throws(SimulationError) {
        guard code == 0 else {
            throw .baselineFailed(path: databasePath(in: root), code: code)
        }
    }
}

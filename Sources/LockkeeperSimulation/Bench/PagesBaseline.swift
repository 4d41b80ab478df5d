import CLockkeeperBaseline

/// Pages of a conversation, and of the list of them, read in plain C from a store's own file: a face on `CLockkeeperPages`.
struct PagesBaseline: ~Copyable {
    private let pages: OpaquePointer
    private let path: String

    /// Opens a store's database.
    ///
    /// - Throws: ``SimulationError/baselineFailed(path:code:)``.
    init(_ path: String) throws(SimulationError) {
        var code: Int32 = 0
        guard let pages = lk_pages_open(path, &code) else {
            throw .baselineFailed(path: path, code: code)
        }
        self.pages = pages
        self.path = path
    }

    deinit { lk_pages_close(pages) }

    /// Reads a page; how many messages it has.
    ///
    /// - Throws: ``SimulationError/baselineFailed(path:code:)``.
    borrowing func read(
        _ conversation: String,
        before sequence: Int64,
        limit: Int
    ) throws(SimulationError) -> Int {
        var sum: Int64 = 0
        return try checked(lk_pages_read(pages, conversation, sequence, Int32(limit), &sum))
    }

    /// Reads a page of the list; how many conversations it has.
    ///
    /// - Parameter instant: in milliseconds; those are read whose last message came before it.
    /// - Throws: ``SimulationError/baselineFailed(path:code:)``.
    borrowing func list(before instant: Int64, limit: Int) throws(SimulationError) -> Int {
        var sum: Int64 = 0
        return try checked(lk_pages_list(pages, instant, Int32(limit), &sum))
    }

    private borrowing func checked(_ count: Int32) throws(SimulationError) -> Int {
        guard count >= 0 else { throw .baselineFailed(path: path, code: -count) }
        return Int(count)
    }
}

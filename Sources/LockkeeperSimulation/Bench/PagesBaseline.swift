import CLockkeeperBaseline
import LockkeeperMessages

/// Pages of a conversation read in plain C from a store's own file: a face on `CLockkeeperPages`.
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
        let count = lk_pages_read(pages, conversation, sequence, Int32(limit), &sum)
        guard count >= 0 else { throw .baselineFailed(path: path, code: -count) }
        return Int(count)
    }
}

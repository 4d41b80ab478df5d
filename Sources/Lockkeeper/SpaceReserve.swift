import LockkeeperSQLite
import LockkeeperStorage
import Synchronization

/// Space of the disk that an account holds for times when the disk is full, so that packets can be
/// kept and rows deleted then (5.8). Whoever needs it takes all of it; the next commit that finds room
/// on the disk takes it back.
final class SpaceReserve: Sendable {
    private let folder: InboxFolder
    private let byteCount: Int64
    private let isMissing = Atomic<Bool>(false)

    init(folder: InboxFolder, byteCount: Int64) {
        self.folder = folder
        self.byteCount = byteCount
    }

    /// Takes the space, where that was not done. A disk that has none now is asked again.
    func keep() {
        folder.makeReserve(byteCount: byteCount)
        // A file system that cannot keep room for a file is not asked with each commit.
        isMissing.store(
            !folder.hasReserve && !folder.hasRoom(byteCount: 2 * byteCount),
            ordering: .relaxed
        )
    }

    /// Whether it is gone, and the disk has not the room to take it again. One system call or two.
    var isUsedUp: Bool { !folder.hasReserve && !folder.hasRoom(byteCount: byteCount) }

    /// Gives it to who needs it now. Returns whether there was any.
    func release() -> Bool {
        isMissing.store(true, ordering: .relaxed)
        return folder.releaseReserve()
    }

    /// A commit has found room: there may be some for the reserve as well.
    func committed() {
        if isMissing.load(ordering: .relaxed) { keep() }
    }

    /// Whether a transaction failed because the disk is full.
    static func isDiskFull(_ error: any Error) -> Bool {
        switch error {
        case let error as SQLiteError: .full ~= error.code || error.code == .ioErrorIndexSize
        case StorageError.sqlite(let error): isDiskFull(error)
        default: false
        }
    }
}

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
    func keep() { folder.makeReserve(byteCount: byteCount) }

    /// Gives it to who needs it now. Returns whether there was any.
    func release() -> Bool {
        isMissing.store(true, ordering: .relaxed)
        return folder.releaseReserve()
    }

    /// A commit has found room: there may be some for the reserve as well.
    func committed() {
        guard isMissing.load(ordering: .relaxed) else { return }
        keep()
        if folder.hasReserve { isMissing.store(false, ordering: .relaxed) }
    }

    /// Whether a transaction failed because the disk is full.
    static func isDiskFull(_ error: any Error) -> Bool {
        switch error {
        case let error as SQLiteError: .full ~= error.code
        case StorageError.sqlite(let error): .full ~= error.code
        default: false
        }
    }
}

import LockkeeperDomain
import LockkeeperPlatform
import Synchronization

/// Makes the feeds of a session, and ends them with it.
final class FeedFactory: Sendable {
    private let parts: FeedReader.Parts
    private let readers = Mutex<[Weak<FeedReader>]>([])
    private let isClosed = Atomic<Bool>(false)

    /// - Parameter parts: what a feed needs; position and excluded origin are set for each.
    init(parts: FeedReader.Parts) { self.parts = parts }

    func feed(
        of database: AccountDatabase,
        after position: Position?,
        without origin: String?
    ) -> ChangeFeed {
        var parts = parts
        parts.after = position
        parts.excludedOrigin = origin
        return ChangeFeed(database: database) { [self, parts] in
            let reader = FeedReader.start(parts)
            readers.withLock { readers in
                readers.removeAll { $0.value == nil }
                readers.append(Weak(reader))
            }
            return reader
        }
    }

    /// Waits on a thread until the process is at the account again after it has left it.
    ///
    /// - Returns: `false` once the task was cancelled or this was closed.
    /// - Throws: ``LockkeeperError`` with the code `accountRemoved`.
    func isHereAgain() async throws -> Bool {
        let isCancelled = CancellationMark()
        let attachment = parts.attachment
        return try await withTaskCancellationHandler {
            try await blocking("lk-observe") { [self] in
                let stay = try attachment.stay(unless: {
                    isCancelled.isSet || isClosed.load(ordering: .acquiring)
                })
                return stay != nil
            }
        } onCancel: {
            isCancelled.set()
            attachment.wakeThoseWhoWait()
        }
    }

    func close() {
        isClosed.store(true, ordering: .releasing)
        parts.attachment.wakeThoseWhoWait()
        let readers = readers.withLock { $0.compactMap(\.value) }
        for reader in readers { reader.stop() }
    }
}

/// Says that a task was cancelled, to the thread that works for it.
private final class CancellationMark: Sendable {
    private let mark = Atomic<Bool>(false)

    var isSet: Bool { mark.load(ordering: .acquiring) }

    func set() { mark.store(true, ordering: .releasing) }
}

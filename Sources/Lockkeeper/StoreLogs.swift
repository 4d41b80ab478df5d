import LockkeeperDomain
import LockkeeperLocking
import LockkeeperNotifier
import LockkeeperPlatform
import LockkeeperStorage
import Synchronization

/// Reads the commit logs of accounts' files for the hub, on the hub's reading thread.
///
/// A reader is opened when a file is asked for and kept; where it fails it is opened anew for
/// the next question, and where the process leaves the account it is closed.
///
/// Lock rule: the mutex of a reader is held while it reads, by the hub's one reading thread; who
/// leaves the account waits for that.
final class StoreLogs: HubSource {
    private weak let workspace: Workspace?
    private let readers = Mutex<[StreamName: LogReader]>([:])

    /// Commits that are read from a log at once.
    private static let readMax = 256
    /// How long the reading thread, which serves all accounts, waits for one that others have to
    /// themselves.
    private static let patience = Duration.milliseconds(1)

    init(_ workspace: Workspace) { self.workspace = workspace }

    func read(_ stream: StreamName, after position: Position?) throws -> LogReading? {
        guard let workspace,
            let record = try workspace.registry.use({ try $0.account(stream.account) }),
            record.fileNumber(of: stream.kind) > 0
        else {
            readers.withLock { $0[stream] = nil }
            return nil
        }
        let log = try reader(of: stream, in: workspace)
        // Read before the log: what it says of is in there.
        let known = log.durable
        return try log.use { try read($0, after: position, durableUpTo: known) }
    }

    private func read(
        _ reader: StoreReader,
        after position: Position?,
        durableUpTo known: Position?
    ) throws -> LogReading {
        guard let position else { return try reading(reader, ranges: []) }
        switch try reader.catchUp(after: position, limit: Self.readMax) {
        case .ranges(let ranges, _):
            return try reading(reader, ranges: ranges.map { $0.durable(upTo: known) })
        case .resync: return try reading(reader, ranges: nil)
        }
    }

    private func reading(_ reader: StoreReader, ranges: [ChangeRange]?) throws -> LogReading {
        LogReading(
            head: try storeHead(reader.head(), reader),
            ranges: ranges,
            logPath: reader.logPath
        )
    }

    private func storeHead(_ head: StoreReader.Head, _ reader: StoreReader) throws -> StoreHead {
        StoreHead(
            store: reader.store,
            generation: head.generation,
            state: head.state,
            head: head.position.commit,
            oldest: head.oldest
        )
    }

    private func reader(of stream: StreamName, in workspace: Workspace) throws -> LogReader {
        if let known = readers.withLock({ $0[stream] }), !known.isOfRemoved { return known }
        let attachment = try workspace.attach(stream.account)
        let opener = StoreOpener(
            workspace: workspace,
            account: stream.account,
            kind: stream.kind
        )
        let reader = LogReader(attachment, stream.kind) { [weak attachment] in
            guard let attachment else { throw LockingError.closed }
            let kernel = SystemClock()
            let soon = Deadline(after: Self.patience, from: kernel.now())
            return try opener.reader(try attachment.stay(until: soon), for: .hub)
        }
        readers.withLock { $0[stream] = reader }
        return reader
    }
}

/// The hub's reader of one file of an account.
// Safe to share because the reader is touched only under the mutex.
private final class LogReader: Occupant, @unchecked Sendable {
    private let attachment: AccountAttachment
    private let kind: StoreKind
    private let open: @Sendable () throws -> StoreOpener.Reader
    private let mutex = Mutex(())
    private var reader: StoreOpener.Reader?

    init(
        _ attachment: AccountAttachment,
        _ kind: StoreKind,
        open: @escaping @Sendable () throws -> StoreOpener.Reader
    ) {
        self.attachment = attachment
        self.kind = kind
        self.open = open
        attachment.add(self)
    }

    /// Whether the account that it reads was removed; one that was added since is another.
    var isOfRemoved: Bool { attachment.isRemoved }

    /// What this process has synced of the account.
    var durable: Position? { attachment.durable(of: kind).position }

    func use<Value>(_ body: (StoreReader) throws -> Value) throws -> Value {
        try mutex.withLock { _ in
            do {
                let opened = try reader ?? open()
                reader = opened
                return try body(opened.store)
            } catch {
                close()
                throw error
            }
        }
    }

    func vacate(_ absence: AccountAttachment.Absence, until deadline: Deadline) -> Bool {
        mutex.withLock { _ in close() }
        return true
    }

    func comeBack() {}

    private func close() {
        // Closing fails only while a statement is held, and none outlives its read.
        try? reader?.store.close()
        reader = nil
    }
}

public import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import Synchronization

/// That a database of an account was found damaged, by whatever call met it first. The app decides
/// whether it is repaired now, by ``Workspace/repair(_:waitMax:beginsAnew:progress:)``, or later; until
/// then nothing of its files is changed, and packets for the account are kept as files.
public struct DamageNotice: Sendable, Hashable {
    /// The account.
    public let account: AccountID
    /// Which of its databases.
    public let database: StoreKind
    /// The file.
    public let path: String
    /// What was met, as a sentence without message text.
    public let explanation: String
    /// When, in milliseconds since 1970 by the wall clock; for people.
    public let millisecondsSince1970: Int64
}

/// What was found damaged, for whoever listens.
///
/// Lock rule: the mutex is held for single steps; listeners are told outside of it.
final class DamageBoard: Sendable {
    private struct State: Sendable {
        var known: [String: DamageNotice] = [:]
        var listeners: [UInt64: AsyncStream<DamageNotice>.Continuation] = [:]
        var count: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Notes damage, and tells of it where this file's was not known.
    func note(_ notice: DamageNotice) {
        let listeners = state.withLock { state in
            guard state.known.updateValue(notice, forKey: notice.path) == nil else {
                return [AsyncStream<DamageNotice>.Continuation]()
            }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.yield(notice) }
    }

    /// What is known, and then what comes to be known.
    func notices() -> AsyncStream<DamageNotice> {
        let (stream, continuation) = AsyncStream.makeStream(of: DamageNotice.self)
        let (number, known) = state.withLock { state in
            state.count += 1
            state.listeners[state.count] = continuation
            return (state.count, Array(state.known.values))
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.listeners.removeValue(forKey: number) }
        }
        for notice in known.sorted(by: { $0.path < $1.path }) { continuation.yield(notice) }
        return stream
    }

    /// Ends every stream.
    func close() {
        let listeners = state.withLock { state in
            defer { state.listeners = [:] }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.finish() }
    }
}

extension Workspace {
    /// Tells of each database that this process finds damaged, at once, and of those that it has found
    /// before. It ends when the workspace is closed.
    public func damageNotices() -> AsyncStream<DamageNotice> { damage.notices() }

    /// Notes that a call met damage in a file of an account.
    ///
    /// - Returns: the error that says so; the same one where it is about something else.
    func noteDamage(_ error: any Error, _ account: AccountID, _ kind: StoreKind?) -> any Error {
        guard let error = error as? LockkeeperError, error.code == .damaged,
            let (kind, path) = damagedFile(of: account, kind)
        else { return error }
        damage.note(
            DamageNotice(
                account: account,
                database: kind,
                path: path,
                explanation: error.explanation,
                millisecondsSince1970: wallClock.milliseconds()
            )
        )
        // A sound file that lies where it does not belong is not for a repair.
        if (error.cause as? StorageError)?.isMisplaced == true { return error }
        return LockkeeperError.damaged(account, path: path, error)
    }

    /// The file that is meant; where nobody knows which, the one whose door shows it.
    private func damagedFile(
        of account: AccountID,
        _ known: StoreKind?
    ) -> (kind: StoreKind, path: String)? {
        guard let record = try? registry.record(of: account) else { return nil }
        let paths = paths.account(directory: record.directory)
        let path = { (kind: StoreKind) in
            paths.file(of: kind, number: record.fileNumber(of: kind))
        }
        if let known { return (known, path(known)) }
        // Nobody replaces the files while they are looked at.
        guard let files = try? AccountFiles(account, of: self) else { return nil }
        defer { withExtendedLifetime(files) {} }
        let met = StoreKind.allCases.first { kind in
            do throws(StorageError) {
                let connection = try StoreFile.open(
                    path(kind),
                    for: .reading,
                    environment: environment,
                    busyDeadline: deadlineOfOpening()
                )
                defer { try? connection.close() }
                _ = try Fence.read(from: connection, path: path(kind))
                return try StoreInspection(migrations: migrations(for: kind))
                    .run(on: connection, path: path(kind), level: .open).contains(where: \.isDamage)
            } catch {
                return error.isDamage
            }
        }
        return (met ?? .messages, path(met ?? .messages))
    }
}

import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

/// Who uses an account's databases, as the kernel tells it: everybody who holds one of SQLite's
/// locks, or has a file open, whether it knows of Lockkeeper or not.
///
/// The files are only looked at from outside: closing a descriptor of a database would take SQLite's
/// own locks of this process away. The answers are for sentences; nothing is decided by them.
struct DatabaseUsers: Sendable {
    private let membership: LockFileMembership
    private let paths: @Sendable () throws -> [String]

    /// - Parameter paths: gives the present database files, without the suffixes of logs and
    ///   indexes. After exclusive work they are others.
    init(membership: LockFileMembership, paths: @escaping @Sendable () throws -> [String]) {
        self.membership = membership
        self.paths = paths
    }

    /// Who keeps the logs from being copied: holders of readers' marks, oldest read first. The reader
    /// that a checkpoint holds for its own safety is left out.
    func pins() throws -> [LogPin] {
        let files = try Set(paths().compactMap { try Self.file(StoreFiles($0).index) })
        let pids = try KernelLock.all().filter { lock in
            files.contains(lock.file) && lock.kind == .process && !lock.isExclusive
                && lock.bytes.overlaps(FileLockBytes.readers)
        }.map(\.pid)
        let pins = try pins(of: Set(pids), members: try membership.members())
        guard pins.contains(where: { $0.age == nil && !$0.isForeign }) else { return pins }
        let copying = try membership.holders(of: .maintenance).map(\.identity.pid)
        return pins.filter { $0.age != nil || !copying.contains($0.pid) }
    }

    /// Processes that have a database open and no record in the lock file: programs that do not use
    /// Lockkeeper. A process that uses it and opens the file beside it as well is not told apart.
    ///
    /// Somebody who is found is looked for once more: a process that is just ending may have lost
    /// its record already.
    func foreign() throws -> [ForeignProcess] {
        let first = try pidsWithoutRecord()
        if first.isEmpty { return [] }
        let kernel = SystemClock()
        kernel.sleep(until: Deadline(after: Self.secondLookAfter, from: kernel.now()))
        return try first.intersection(pidsWithoutRecord()).sorted().compactMap { pid in
            let condition = try ProcessIdentity.read(pid: pid)?.condition() ?? .gone
            guard condition != .gone, condition != .zombie else { return nil }
            return ForeignProcess(
                pid: pid,
                program: ProcessIdentity.programName(pid: pid) ?? "unknown",
                condition: condition.rawValue
            )
        }
    }

    /// Longer than the end of a process takes between its lock files and its other files.
    private static let secondLookAfter = Duration.milliseconds(100)

    /// Runs a closure; where SQLite was busy until the deadline, the error says who was in the way.
    /// Blocks for the looking; called where the closure blocked too.
    func naming<Value>(_ body: () throws -> Value) throws -> Value {
        do { return try body() } catch { throw named(error) }
    }

    /// The error; where SQLite was busy until the deadline, with who was in the way.
    func named(_ error: any Error) -> any Error {
        switch error {
        case let error as SQLiteError where error.code.isOfOthers:
            BusyDatabase(cause: error, holders: holders())
        case StorageError.sqlite(let error) where error.code.isOfOthers:
            BusyDatabase(cause: error, holders: holders())
        default: error
        }
    }

    /// As ``naming(_:)``, for who wants a database to himself: everybody who has it open is in the way.
    func namingAnybody<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try naming(body)
        } catch let error as BusyDatabase {
            let foreign = (try? foreign()) ?? []
            let sentences = foreign.map { Self.foreignDescription($0.pid) }
            throw BusyDatabase(
                cause: error.cause,
                holders: error.holders + sentences.filter { !error.holders.contains($0) }
            )
        }
    }

    /// Makes sure that no program that does not use Lockkeeper has a database open. For files of which
    /// SQLite cannot say it because they are damaged.
    ///
    /// - Throws: ``LockkeeperError`` with the code `busy`, which names them.
    func requireNobody() throws {
        let foreign = try foreign()
        if foreign.isEmpty { return }
        throw LockkeeperError(
            .busy,
            subject: try paths().joined(separator: ", "),
            explanation: "another program has it open",
            holders: foreign.map { Self.foreignDescription($0.pid) },
            answer: .retry,
            remedy: "End that program, then try again."
        )
    }

    /// Whoever keeps this process from SQLite's lock, one sentence each: who holds WRITER by our
    /// records, and whoever holds SQLite's writer's, checkpointer's or recovery's lock, or keeps
    /// the database file for itself. Never this membership itself.
    func holders() -> [String] {
        // For the sentence only: that it cannot be made must not hide what it is about.
        guard let members = try? membership.members(includingSelf: false),
            let writers = try? membership.holders(of: .writer, includingSelf: false),
            let pids = try? pidsInTheWay()
        else { return [] }
        let own = membership.process.identity.pid
        // A process with several memberships is named by the one that says that it writes.
        let ours = members.filter { member in
            pids.contains(member.identity.pid)
                && (member.identity.pid != own || member.activity == .writing)
        }
        var sentences: [String] = []
        for member in writers + ours where !sentences.contains(member.description) {
            sentences.append(member.description)
        }
        let known = Set(members.map(\.identity.pid) + [own])
        for pid in pids.subtracting(known).sorted() {
            sentences.append(Self.foreignDescription(pid))
        }
        return sentences
    }

    // MARK: - Looking

    private func pins(of pids: Set<Int32>, members: [Holder]) throws -> [LogPin] {
        try pids.map { pid in
            let ofProcess = members.filter { $0.identity.pid == pid }
            let reading = ofProcess.filter { $0.oldestRead != nil }
            guard
                let member = reading.min(by: { Self.began($0) < Self.began($1) }) ?? ofProcess.first
            else {
                return LogPin(
                    pid: pid,
                    program: ProcessIdentity.programName(pid: pid) ?? "unknown",
                    name: nil,
                    role: nil,
                    reads: nil,
                    age: nil,
                    condition: (try ProcessIdentity.read(pid: pid)?.condition() ?? .gone).rawValue
                )
            }
            let read = member.oldestRead
            return LogPin(
                pid: pid,
                program: member.program,
                name: member.processName,
                role: member.role.name,
                reads: read?.purpose.name,
                age: read.map { max(.zero, member.observedAt.duration(since: $0.since)) },
                condition: member.condition.rawValue
            )
        }.sorted { ($0.age ?? .zero, $1.pid) > ($1.age ?? .zero, $0.pid) }
    }

    private static func began(_ member: Holder) -> MonotonicInstant {
        member.oldestRead?.since ?? MonotonicInstant(nanoseconds: .max)
    }

    private func pidsInTheWay() throws -> Set<Int32> {
        let databases = try Set(paths().compactMap { try Self.file($0) })
        let indexes = try Set(paths().compactMap { try Self.file(StoreFiles($0).index) })
        let writing = [
            FileLockBytes.writer, FileLockBytes.checkpointer, FileLockBytes.recovery,
        ]
        // The kernel gives the list a page at a time, by places in it: a lock is left out where others
        // before it end meanwhile. Who is in the way stands still, and is in one of several readings.
        var pids: Set<Int32> = []
        for _ in 0..<Self.readingCount {
            let locks = try KernelLock.all().filter { lock in
                guard lock.kind == .process, lock.isExclusive else { return false }
                return indexes.contains(lock.file) && writing.contains(where: lock.covers)
                    || databases.contains(lock.file) && lock.bytes.overlaps(FileLockBytes.database)
            }
            pids.formUnion(locks.map(\.pid))
        }
        return pids
    }

    private static let readingCount = 4

    private func pidsWithoutRecord() throws -> Set<Int32> {
        let files = try Set(
            paths().flatMap { path in
                try StoreFiles(path).open.compactMap { try Self.file($0) }
            }
        )
        let locking = try KernelLock.all().filter { files.contains($0.file) && $0.kind == .process }
        let found = Set(locking.map(\.pid)).union(Self.pids(havingOpen: files))
        // The records are read last: who came meanwhile has one.
        return found.subtracting(try membership.members().map(\.identity.pid))
    }

    /// The processes that have one of the files open, as far as this user may look.
    private static func pids(havingOpen files: Set<FileIdentity>) -> Set<Int32> {
        guard let names = try? FileSystem.list("/proc") else { return [] }
        return Set(
            names.compactMap { Int32($0) }.filter { pid in
                // What cannot be read has ended meanwhile, or is another user's.
                let numbers = (try? FileSystem.list("/proc/\(pid)/fd")) ?? []
                return numbers.contains { number in
                    guard let status = try? FileSystem.status("/proc/\(pid)/fd/\(number)") else {
                        return false
                    }
                    return files.contains(status.identity)
                }
            }
        )
    }

    private static func file(_ path: String) throws -> FileIdentity? {
        try FileSystem.status(path)?.identity
    }

    private static func foreignDescription(_ pid: Int32) -> String {
        let program = ProcessIdentity.programName(pid: pid) ?? "unknown"
        let condition = (try? ProcessIdentity.read(pid: pid)?.condition()) ?? .gone
        return "pid \(pid) (\(program), which does not use Lockkeeper), \(condition.rawValue)"
    }
}

/// SQLite's lock was not free before the deadline.
struct BusyDatabase: Error {
    /// What SQLite said.
    let cause: SQLiteError
    /// Who was in the way, one sentence each; empty where nobody was found.
    let holders: [String]
}

/// A reader that keeps an account's log from being copied and begun anew.
public struct LogPin: Sendable, Hashable {
    /// Its process id.
    public let pid: Int32
    /// Its program's file name.
    public let program: String
    /// The name under which it commits; `nil` for a program that does not use Lockkeeper.
    public let name: String?
    /// "host", "helper" or "tool"; `nil` for a program that does not use Lockkeeper.
    public let role: String?
    /// What it reads: "query", "feed", "hub", "export", "inspection"; `nil` where it has not
    /// written it down, because it began only now or was stopped as it began.
    public let reads: String?
    /// For how long it has been reading; `nil` as ``reads``.
    public let age: Duration?
    /// "running", "stopped", "zombie", "frozen" or "gone".
    public let condition: String

    /// Whether it is a program that does not use Lockkeeper.
    public var isForeign: Bool { name == nil }
}

/// A process that has an account's database open and does not use Lockkeeper.
public struct ForeignProcess: Sendable, Hashable {
    /// Its process id.
    public let pid: Int32
    /// Its program's name.
    public let program: String
    /// "running", "stopped" or "frozen".
    public let condition: String

    /// What its being there means, for people.
    public static let consequence =
        "I-10 is not guaranteed while it is there: where it checkpoints with a SQLite that has the"
        + " WAL-reset fault, commits can be lost"
}

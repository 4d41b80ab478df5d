import CLockkeeperPlatform
import Glibc
import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperSimulation
import LockkeeperTesting

/// A process that has the account "alice" open, with its table
/// `entry (id INTEGER PRIMARY KEY, text TEXT)`.
///
///     insert A B      commits the rows A to B, each by itself and durably: "inserted N"
///     hold A          stands inside a transaction that inserts the row A: "inside", and when the next
///                     line has been read "inserted 1"
///     fork A          the same with a forked child that sleeps: "inside PID", the child's
///     use A           inserts the row A, and in the same transaction forks a child that tries to use the
///                     connection: "child CODE inserted 1"; the code is 0 where it was refused
///     loop A MICROS   inserts A, A + 1, … without a pause, each transaction taking so long: "looping"
///     stop            ends the loop: "looped COUNT", and " without A B …", the rows among them that
///                     were not acknowledged because a file was replaced
///     increment N     adds one to the row 0 as often, by reading and then writing: "incremented N"
///     work N MICROS   commits N rows, each taking so long: "worked MILLISECONDS MEDIAN", the wall
///                     time and the median wait for admission
///     count           how many rows there are
///
/// What fails is answered by "failed CODE: " and the error's sentences.
@MainActor
final class AccountTool {
    private let opening: Opening
    private let zone: FaultZone
    private let store: OpenStore
    private var loop: Task<String, Never>?
    private let isStopped = Monitor(false)

    init(root: String, name: String, limits options: [String]) async throws {
        zone = FaultZone(folder: root)
        opening = Opening(root: root, name: name, limits: Self.limits(options))
        store = try await opening.open()
    }

    private static func limits(_ options: [String]) -> Limits {
        var limits = Limits()
        // A test says by itself who waits for how long.
        limits.admissionWaitMax = .seconds(600)
        for option in options {
            let parts = option.split(separator: "=")
            guard parts.count == 2, let number = Int(parts[1]) else { exit(64) }
            switch parts[0] {
            case "mark": limits.checkpointFrameCountWithoutHost = number
            case "under": limits.checkpointFrameCountUnderWriter = number
            case "degraded": limits.logByteCountDegraded = number
            default: exit(64)
            }
        }
        return limits
    }

    func answer(to line: String) async -> String {
        let words = line.split(separator: " ").map(String.init)
        let numbers = words.dropFirst().compactMap(Int.init)
        do {
            switch (words.first, numbers.count) {
            case ("insert", 2): return try await insert(numbers[0]...numbers[1])
            case ("hold", 1): return try await hold(numbers[0]) { "inside" }
            case ("fork", 1):
                return try await hold(numbers[0]) { "inside \(lk_fork_sleeping_child())" }
            case ("use", 1): return try await useInChild(numbers[0])
            case ("loop", 2): return startLoop(from: numbers[0], taking: numbers[1])
            case ("stop", 0): return await stopLoop()
            case ("increment", 1): return try await increment(numbers[0])
            case ("work", 2): return try await work(numbers[0], taking: numbers[1])
            case ("count", 0): return try await count()
            default: return zone.answer(to: line)
            }
        } catch let error as LockkeeperError {
            return "failed \(error.code.rawValue): \(error)"
        } catch {
            return "failed otherwise: \(error)"
        }
    }

    func close() async {
        if loop != nil { _ = await stopLoop() }
        await store.workspace.close()
    }

    private func insert(_ rows: ClosedRange<Int>) async throws -> String {
        for row in rows {
            try await store.database.write { try $0.insert(row) }
        }
        return "inserted \(rows.count)"
    }

    private func hold(
        _ row: Int,
        _ inside: @escaping @Sendable () -> String
    ) async throws -> String {
        try await store.database.write { transaction in
            try transaction.insert(row)
            say(inside())
            _ = hear()
        }
        return "inserted 1"
    }

    private func useInChild(_ row: Int) async throws -> String {
        let code = try await store.database.write { transaction in
            try transaction.insert(row)
            let context = Unmanaged.passUnretained(transaction.connection).toOpaque()
            let child = lk_fork_calling(useInheritedConnection, context)
            var status: Int32 = 0
            waitpid(child, &status, 0)
            return lk_wait_exit_code(status)
        }.value
        return "child \(code) inserted 1"
    }

    private func increment(_ count: Int) async throws -> String {
        for _ in 0..<count {
            try await store.database.write { transaction in
                let read = try transaction.query("SELECT text FROM entry WHERE id = 0") {
                    $0.text(0)
                }
                guard let number = Int(read.first ?? "") else { return }
                try transaction.execute(
                    "UPDATE entry SET text = ?1 WHERE id = 0",
                    SQLValue(String(number + 1))
                )
            }
        }
        return "incremented \(count)"
    }

    private func work(_ count: Int, taking microseconds: Int) async throws -> String {
        let clock = SystemClock()
        let began = clock.now()
        var waits: [Duration] = []
        for _ in 0..<count {
            let receipt = try await store.database.write(durability: .committed) { transaction in
                try transaction.execute("INSERT INTO entry (text) VALUES ('work')")
                spend(.microseconds(microseconds))
            }.receipt
            waits.append(receipt.waited)
        }
        let wall = clock.now().duration(since: began).milliseconds
        return "worked \(wall) \(waits.sorted()[count / 2].milliseconds)"
    }

    private func count() async throws -> String {
        let rows = try await store.database.read { transaction in
            try transaction.query("SELECT count(*) FROM entry") { $0.integer(0) }
        }
        return String(rows[0])
    }

    // MARK: - The loop

    private func startLoop(from first: Int, taking microseconds: Int) -> String {
        isStopped.withLock { $0 = false }
        let (store, opening, isStopped) = (store, opening, isStopped)
        loop = Task.detached {
            var loop = WriteLoop(store: store, opening: opening, next: first)
            do {
                while !isStopped.withLock({ $0 }) {
                    try await loop.step(taking: .microseconds(microseconds))
                }
                return loop.outcome(from: first)
            } catch {
                return "failed: \(error)"
            }
        }
        return "looping"
    }

    private func stopLoop() async -> String {
        isStopped.withLock { $0 = true }
        defer { loop = nil }
        return await loop?.value ?? "nothing loops"
    }
}

/// How the account is opened, the first time and again.
struct Opening: Sendable {
    let root: String
    let name: String
    let limits: Limits

    func open() async throws -> OpenStore {
        let workspace = try await Workspace.openApart(
            at: root,
            name: name,
            limits: limits,
            vfs: FaultZone.vfs
        )
        return OpenStore(
            workspace: workspace,
            session: try await workspace.session("alice")
        )
    }
}

/// The account as it is open.
struct OpenStore: Sendable {
    let workspace: Workspace
    /// Held, so that closing the workspace waits for what the session has under way.
    let session: Session

    var database: AccountDatabase { session.database }
}

/// One row after the other, for as long as it is asked.
private struct WriteLoop: Sendable {
    var store: OpenStore
    let opening: Opening
    var next: Int
    var last: CommitNumber?
    var unacknowledged: [Int] = []

    /// Inserts the next row. A replaced file is opened anew, as its error says; whether the row is
    /// there is not known then.
    mutating func step(taking duration: Duration) async throws {
        let row = next
        next += 1
        do {
            let receipt = try await store.database.write { transaction in
                try transaction.insert(row)
                spend(duration)
            }.receipt
            // One's own numbers rise, whoever else commits (I-8).
            guard let commit = receipt.commit, last.map({ $0 < commit }) ?? true else {
                preconditionFailure("commit \(receipt) came after \(String(describing: last))")
            }
            last = commit
        } catch let error as LockkeeperError where error.code == .fileReplaced {
            unacknowledged.append(row)
            await store.workspace.close()
            store = try await reopened()
        }
    }

    /// The account opened again; the file may be replaced once more while that goes on.
    private func reopened() async throws -> OpenStore {
        var attempt = 1
        while true {
            do {
                return try await opening.open()
            } catch let error as LockkeeperError where error.code == .fileReplaced {
                guard attempt < 100 else { throw error }
                attempt += 1
            }
        }
    }

    func outcome(from first: Int) -> String {
        let missing = unacknowledged.map { " \($0)" }.joined()
        return "looped \(next - first)" + (missing.isEmpty ? "" : " without" + missing)
    }
}

/// What a forked child does: uses the connection that its parent has open. Gives 0 where every use was
/// refused, and the number of the first one that was not.
private let useInheritedConnection: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = {
    context in
    alarm(10)
    guard let context else { return 64 }
    let connection = Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue()
    let uses: [() throws -> Void] = [
        { try connection.userStatement("DELETE FROM entry").run() },
        { try connection.begin(.immediate) },
        { try connection.begin(.deferred) },
    ]
    for (index, use) in uses.enumerated() {
        do {
            try use()
            return Int32(index + 1)
        } catch let error as SQLiteError where error.code == .misuse {
            continue
        } catch {
            return Int32(index + 101)
        }
    }
    return 0
}

/// Keeps the processor for a while, as work inside a transaction does.
private func spend(_ duration: Duration) {
    guard duration > .zero else { return }
    let clock = SystemClock()
    let end = Deadline(after: duration, from: clock.now())
    while !end.hasPassed(at: clock.now()) {}
}

extension Transaction {
    /// Inserts a row of half a kilobyte, so that the log grows.
    fileprivate func insert(_ row: Int) throws {
        try execute(
            "INSERT INTO entry VALUES (?1, ?2)",
            SQLValue(row),
            SQLValue(String(repeating: "x", count: 500))
        )
    }
}

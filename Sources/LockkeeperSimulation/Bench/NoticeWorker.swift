import CLockkeeperBaseline
import Lockkeeper
package import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import Synchronization

/// One process of a benchmark of notices.
package struct NoticeWorker: Sendable {
    private let assignment: NoticeAssignment
    private let root: String
    private let clock = SystemClock()

    /// The table of an app's own that its rows go into.
    static let table = LK_HOPS_TABLE

    /// A worker in a benchmark's folder, given by its canonical path.
    package init(_ assignment: NoticeAssignment, root: String) {
        self.assignment = assignment
        self.root = root
    }

    /// Does the work. May block the thread that it is called on.
    ///
    /// - Parameter ready: says that the worker is ready, and returns the instant at which it is to
    ///   start.
    /// - Returns: what it counted: nanoseconds of the monotonic clock for each row, or the number of
    ///   ranges that the feeds were told.
    /// - Throws: ``SimulationError`` or what the store throws.
    package func run(ready: () throws -> MonotonicInstant) async throws -> [Int64] {
        switch (assignment.store, assignment.role) {
        case (.baseline, .hub):
            try HopsBaseline.serve(in: root, ready: ready)
            return []
        case (.baseline, .writer), (.baseline, .reader):
            return try HopsBaseline.run(
                writing: assignment.role == .writer,
                count: assignment.count,
                in: root
            ) { clock.sleep(until: Deadline(at: try ready())) }
        case (.lockkeeper, .hub): try await serve(ready)
        case (.lockkeeper, .writer): return try await write(ready)
        case (.lockkeeper, .reader): return try await read(ready)
        case (.lockkeeper, .subscriber): return [try await listen(ready)]
        case (.baseline, .subscriber):
            preconditionFailure("the baseline tells one reader, and nobody else")
        }
    }

    /// Keeps the hub until it is killed, in the folder of a run that is over then.
    private func serve(_ ready: () throws -> MonotonicInstant) async throws -> Never {
        let workspace = try await BenchWorker.open(root, name: "hub")
        let host = try await workspace.serve()
        _ = try ready()
        while true {
            clock.sleep(until: .never)
            withExtendedLifetime(host) {}
        }
    }

    private func write(_ ready: () throws -> MonotonicInstant) async throws -> [Int64] {
        let noting = NotingClock()
        let workspace = try await BenchWorker.open(root, name: "writer", clock: noting)
        let database = try await workspace.session(BenchWorker.account).database
        clock.sleep(until: Deadline(at: try ready()))
        var committed: [Int64] = []
        committed.reserveCapacity(assignment.count)
        for _ in 0..<assignment.count {
            // As the baseline's writer rests.
            let rest = Duration.microseconds(Int64.random(in: 1000..<2000))
            clock.sleep(until: Deadline(after: rest, from: clock.now()))
            // The baseline does not sync either.
            try await database.write(durability: .committed) { transaction in
                try transaction.execute(LK_HOPS_INSERT)
                noting.begin()
            }
            committed.append(noting.committed.nanoseconds)
        }
        await workspace.close()
        return committed
    }

    private func read(_ ready: () throws -> MonotonicInstant) async throws -> [Int64] {
        let workspace = try await BenchWorker.open(root, name: "reader")
        let session = try await workspace.session(BenchWorker.account)
        let clock = clock
        let seen = Mutex<[Int64]>([])
        // Each run reads what is new, and gives how much was read so far.
        let rows = session.database.observe { transaction in
            let last = seen.withLock { SQLValue($0.count) }
            let instants = try transaction.query(LK_HOPS_SELECT, last) { _ in
                clock.now().nanoseconds
            }
            return seen.withLock { seen in
                seen += instants
                return seen.count
            }
        }.makeAsyncIterator()
        // It follows the log from its first value.
        _ = try await rows.next()
        _ = try ready()
        while let count = try await rows.next(), count < assignment.count {}
        await workspace.close()
        return seen.withLock { $0 }
    }

    // MARK: - Subscribers

    /// What the feeds of a process were told.
    private struct Told: Sendable {
        var positions: [CommitNumber]
        var rangeCount: Int64 = 0
        var failure: (any Error)?
    }

    /// Listens with all feeds, and waits until each was told everything.
    private func listen(_ ready: () throws -> MonotonicInstant) async throws -> Int64 {
        let workspace = try await BenchWorker.open(root, name: "subscriber-\(CurrentProcess.pid)")
        let session = try await workspace.session(BenchWorker.account)
        let start = try await session.database.head()
        let told = Monitor(Told(positions: Array(repeating: start.commit, count: assignment.count)))
        for index in 0..<assignment.count {
            Task { await Self.follow(session.changes(after: start), told, at: index) }
        }
        // A commit of its own, which each of them has heard of then: all are connected.
        let receipt = try await session.database.write { try $0.execute(LK_HOPS_INSERT) }.receipt
        try wait(told, until: receipt.commit, atMost: .seconds(30))
        let end = try ready().advanced(by: assignment.time)
        clock.sleep(until: Deadline(at: end))
        try wait(told, until: try await session.database.head().commit, atMost: .seconds(30))
        let rangeCount = told.withLock { $0.rangeCount }
        await workspace.close()
        return rangeCount
    }

    private static func follow(
        _ feed: ChangeFeed,
        _ told: Monitor<Told>,
        at index: Int
    ) async {
        do {
            for try await range in feed {
                told.withLock { told in
                    told.positions[index] = range.last
                    told.rangeCount += 1
                }
                told.broadcast()
            }
        } catch {
            told.withLock { $0.failure = error }
            told.broadcast()
        }
    }

    private func wait(
        _ told: Monitor<Told>,
        until commit: CommitNumber?,
        atMost time: Duration
    ) throws {
        guard let commit else { return }
        let deadline = Deadline(after: time, from: clock.now())
        let end = told.wait(until: deadline) { told -> Result<Void, any Error>? in
            if let failure = told.failure { return .failure(failure) }
            return told.positions.allSatisfy { $0 >= commit } ? .success(()) : nil
        }
        guard let end else {
            throw SimulationError.tookTooLong(
                process: "a subscriber",
                awaited: "being told of commit \(commit)",
                lastErrors: []
            )
        }
        try end.get()
    }
}

/// A clock that knows when a COMMIT had returned, which no caller of a write is told.
///
/// Behind the caller's closure the writer's thread reads the clock twice before anybody is told of the
/// commit: for the commit's row, and once the transaction has ended, to see whether more may follow
/// under the same admission. Other threads of a process that only writes read it every few seconds.
private final class NotingClock: MonotonicClock {
    private let system = SystemClock()
    private let readings = Mutex<[MonotonicInstant]>([])

    /// The instant at which the last COMMIT had returned.
    var committed: MonotonicInstant {
        readings.withLock { readings in
            precondition(readings.count == Self.readingCount, "the clock is read behind a COMMIT")
            return readings[Self.readingCount - 1]
        }
    }

    private static let readingCount = 2

    /// Begins to note what is read.
    func begin() { readings.withLock { $0.removeAll(keepingCapacity: true) } }

    func now() -> MonotonicInstant {
        let instant = system.now()
        readings.withLock { readings in
            if readings.count < Self.readingCount { readings.append(instant) }
        }
        return instant
    }
}

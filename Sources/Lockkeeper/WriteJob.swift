import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import Synchronization

/// One unit of work for the writer's thread: a closure that runs inside a fenced transaction, and
/// somebody who is told what came of it.
///
/// ```
/// waiting ──admitted──▶ running ──COMMIT──▶ committed ──sync──▶ done
///    │ deadline, withdrawn   │ error, cancelled                  ▲
///    └───────────────────────┴───────────────────────────────────┘
/// ```
///
/// `perform`, `finish` and `fail` are called by the writer's thread, each at most once, and either
/// `fail` or the other two; the completion is called exactly once.
final class WriteJob<Value: Sendable>: AdmittedWork {
    typealias Body = @Sendable (Connection, inout TopicSet) throws -> Value
    typealias Completion = @Sendable (Result<(Value, CommitReceipt), any Error>) -> Void

    private let writer: AccountWriter
    private let durability: Durability
    private let deadline: Deadline
    private let body: Body
    private let completion: Completion
    private let cancelled = Atomic<Bool>(false)
    private let state = Mutex<State>(.waiting)

    private enum State {
        case waiting
        case committed(Value, CommitReceipt, CommittedChange?)
        case failed(any Error)
    }

    init(
        writer: AccountWriter,
        durability: Durability,
        deadline: Deadline,
        body: @escaping Body,
        completion: @escaping Completion
    ) {
        self.writer = writer
        self.durability = durability
        self.deadline = deadline
        self.body = body
        self.completion = completion
    }

    /// Asks that the transaction is not committed. It counts until COMMIT begins.
    func cancel() { cancelled.store(true, ordering: .relaxed) }

    /// Ends a job that was never admitted because its task was cancelled.
    func giveUp() { completion(.failure(CancellationError())) }

    func perform(waited: Duration) {
        let outcome: State
        writer.noteAdmission(waited)
        do {
            let done = try writer.transaction(
                deadline: deadline,
                isCancelled: { cancelled.load(ordering: .relaxed) },
                body: body
            )
            let receipt = CommitReceipt(
                token: writer.token,
                store: writer.store,
                commit: done.change?.commits.upperBound,
                durability: durability,
                waited: waited
            )
            outcome = .committed(done.value, receipt, done.change)
        } catch {
            outcome = .failed(error)
        }
        state.withLock { $0 = outcome }
    }

    func finish(before following: Following) {
        complete()
        if following != .sameAdmission { writer.syncCommitted(othersWait: following == .line) }
    }

    private func complete() {
        switch state.withLock({ $0 }) {
        case .waiting: preconditionFailure("finished before it was performed")
        case .failed(let error): completion(.failure(error))
        case .committed(let value, let receipt, let change):
            do {
                try writer.checkFiles()
            } catch {
                return completion(.failure(error))
            }
            Failpoint.beforeAnnouncement.reach()
            if let change { writer.announce(change) }
            Failpoint.afterAnnouncement.reach()
            writer.makeDurable(durability, upTo: receipt.commit) { [completion] result in
                completion(result.map { (value, receipt) })
                Failpoint.afterAcknowledgement.reach()
            }
        }
    }

    func fail(_ error: LockingError) { completion(.failure(error)) }
}

import LockkeeperDomain
import LockkeeperPlatform

/// A process that writes beside what is measured, until it is told to end.
final class PacedWriter {
    private let supervisor: Supervisor
    private let progress = Monitor(Progress())
    private let clock = SystemClock()

    private struct Progress: Sendable {
        var isReady = false
        var ending: String?
    }

    /// How long a process may take to be ready.
    private static let readyWaitMax: Duration = .seconds(60)

    /// Starts a worker and waits until it writes. Blocks the thread.
    ///
    /// - Throws: ``SimulationError`` when it does not come to that.
    init(_ assignment: BenchAssignment, program: String, folder: String) throws {
        supervisor = Supervisor(program: program, root: folder)
        let part = assignment.part
        let progress = progress
        let process = try supervisor.start(part.name, part.arguments) { occurrence in
            progress.withLock { progress in
                switch occurrence {
                case .line: progress.isReady = true
                case .ended(let status): progress.ending = status.sentence
                }
            }
            progress.broadcast()
        }
        let deadline = Deadline(after: Self.readyWaitMax, from: clock.now())
        let isReady = progress.wait(until: deadline) { progress in
            progress.isReady || progress.ending != nil ? progress.isReady : nil
        }
        guard isReady == true else {
            supervisor.endAll()
            throw SimulationError.tookTooLong(
                process: part.name,
                awaited: "being ready",
                lastErrors: process.lastErrors
            )
        }
        process.send(Array("\(clock.now().nanoseconds)\n".utf8), lineCount: 1)
        process.closeInput()
    }

    /// Ends it.
    ///
    /// - Throws: ``SimulationError`` when it had ended by itself: then nobody wrote meanwhile.
    func end() throws {
        let ending = progress.withLock { $0.ending }
        supervisor.endAll()
        if let ending {
            throw SimulationError.endedUnexpectedly(
                process: "the writer",
                ending: ending,
                lastErrors: []
            )
        }
    }

    deinit { supervisor.endAll() }
}

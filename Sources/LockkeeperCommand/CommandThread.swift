import LockkeeperDomain
import LockkeeperPlatform

/// Runs a command's task on the thread that calls ``run(_:)``: the program's first one.
///
/// A command reads pipes and writes to them, and both may wait. On the cooperative pool that would
/// take a thread from everybody; here only the command itself waits. It also leaves the main thread
/// out of Dispatch's hands, whose main queue would unblock the signals that a host waits for.
///
/// Lock rule: the monitor guards the list of jobs alone; jobs run outside of it.
final class CommandThread: TaskExecutor {
    private let state = Monitor(State())

    private struct State: Sendable {
        var jobs: [UnownedJob] = []
        var exitCode: ExitCode?
    }

    private enum Step {
        case run([UnownedJob])
        case end(ExitCode)
    }

    /// Runs a task to its end and returns what it returned. Blocks the calling thread.
    static func run(_ body: @escaping @Sendable () async -> ExitCode) -> ExitCode {
        let thread = CommandThread()
        Task.detached(executorPreference: thread) {
            let exitCode = await body()
            thread.state.withLock { $0.exitCode = exitCode }
            thread.state.signal()
        }
        return thread.drain()
    }

    /// Puts a job into the list; called by the runtime on any thread.
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.jobs.append(job) }
        state.signal()
    }

    private func drain() -> ExitCode {
        while true {
            let step = state.wait(until: .never) { state -> Step? in
                if !state.jobs.isEmpty {
                    defer { state.jobs.removeAll() }
                    return .run(state.jobs)
                }
                return state.exitCode.map(Step.end)
            }
            switch step {
            case .run(let jobs):
                for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
            case .end(let exitCode): return exitCode
            case nil: preconditionFailure("a wait without deadline ended without a step")
            }
        }
    }
}

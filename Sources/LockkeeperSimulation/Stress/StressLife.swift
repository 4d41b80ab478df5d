import LockkeeperDomain
import LockkeeperPlatform

/// What the processes of a stress run have done so far, as far as the run itself must know it.
///
/// Lock rule: the monitor guards the state alone.
final class StressLife: Sendable {
    private let state = Monitor(State())

    private struct State: Sendable {
        var beats: [Int: Int] = [:]
        var endings: [StressProcess: ExitStatus] = [:]
        var marks: [StressMark] = []
    }

    /// Takes what happened to a process.
    func observe(_ process: StressProcess, _ occurrence: ManagedProcess.Occurrence) {
        state.withLock { state in
            switch occurrence {
            case .line: state.beats[process.worker, default: 0] += 1
            case .ended(let status): state.endings[process] = status
            }
        }
        state.broadcast()
    }

    /// Notes something that was done to the run.
    func note(_ mark: StressMark) { state.withLock { $0.marks.append(mark) } }

    /// Everything that was done to the run.
    var marks: [StressMark] { state.withLock { $0.marks } }

    /// How the processes ended.
    var endings: [StressProcess: ExitStatus] { state.withLock { $0.endings } }

    /// How much each worker has done.
    var beats: [Int: Int] { state.withLock { $0.beats } }

    /// Waits until workers have done more than they had; returns those that have not at the deadline.
    /// Blocks the thread.
    func waitForProgress(
        of workers: Set<Int>,
        beyond earlier: [Int: Int],
        until deadline: Deadline
    ) -> Set<Int> {
        let allHave = state.wait(until: deadline) { state -> Bool? in
            Self.idle(workers, beyond: earlier, state).isEmpty ? true : nil
        }
        if allHave == true { return [] }
        return state.withLock { Self.idle(workers, beyond: earlier, $0) }
    }

    private static func idle(
        _ workers: Set<Int>,
        beyond earlier: [Int: Int],
        _ state: State
    ) -> Set<Int> {
        workers.filter { state.beats[$0] ?? 0 <= earlier[$0] ?? 0 }
    }
}

/// Something that was done to a run, for its report.
package struct StressMark: Sendable, Hashable {
    /// When, in microseconds of the kernel's monotonic clock.
    package let time: Int64
    /// To which process; `nil` where it was done to all.
    package let process: StressProcess?
    /// What, as words that fit behind the name.
    package let what: String
}

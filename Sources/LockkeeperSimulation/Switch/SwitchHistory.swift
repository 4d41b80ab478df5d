import LockkeeperDomain
import LockkeeperPlatform

/// Everything that was done to and said by the workers of a simulation, in the order in which it
/// was heard.
///
/// Lock rule: the monitor guards the history alone.
final class SwitchHistory: Sendable {
    private let state = Monitor(State())

    /// What is known.
    struct State: Sendable {
        /// What workers said.
        var entries: [Entry] = []
        /// What was done to them.
        var interventions: [Intervention] = []
        /// How processes ended.
        var endings: [Process: ExitStatus] = [:]
        /// A line that could not be understood.
        var unreadable: (process: Process, line: String)?

        /// Whether a process said something, from an entry on.
        func first<Result>(
            of process: Process,
            from index: Int,
            _ match: (SwitchLine.Statement) -> Result?
        ) -> Result? {
            for entry in entries.dropFirst(index) where entry.process == process {
                if let result = match(entry.line.statement) { return result }
            }
            return nil
        }
    }

    /// One process of a worker.
    struct Process: Sendable, Hashable, CustomStringConvertible {
        /// The worker: 0 is the host.
        let worker: Int
        /// Which of its processes.
        let life: Int

        /// The name in reports.
        var description: String {
            (worker == 0 ? "the host" : "helper \(worker)") + (life > 1 ? " (life \(life))" : "")
        }
    }

    /// Something that a worker said.
    struct Entry: Sendable {
        let process: Process
        let line: SwitchLine
    }

    /// Something that was done to a worker.
    struct Intervention: Sendable {
        let process: Process
        let time: MonotonicInstant
        /// What: a word that fits behind "was".
        let what: String
    }

    /// The state as it is.
    var present: State { state.withLock { $0 } }

    /// How many things were said.
    var count: Int { state.withLock { $0.entries.count } }

    /// Takes what happened to a process.
    func observe(_ process: Process, _ occurrence: ManagedProcess.Occurrence) {
        state.withLock { state in
            switch occurrence {
            case .ended(let status): state.endings[process] = status
            case .line(let bytes):
                if let line = SwitchLine(bytes) {
                    state.entries.append(Entry(process: process, line: line))
                } else {
                    state.unreadable = (process, String(decoding: bytes, as: UTF8.self))
                }
            }
        }
        state.broadcast()
    }

    /// Notes what is done to a process.
    func note(_ what: String, _ process: Process, at time: MonotonicInstant) {
        state.withLock {
            $0.interventions.append(Intervention(process: process, time: time, what: what))
        }
    }

    /// Waits until the state satisfies a condition; `nil` at the deadline. Blocks the thread.
    func wait<Result>(until deadline: Deadline, for predicate: (State) -> Result?) -> Result? {
        state.wait(until: deadline) { predicate($0) }
    }
}

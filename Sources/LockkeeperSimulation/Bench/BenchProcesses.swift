import LockkeeperDomain
import LockkeeperPlatform

/// The processes of one measurement: real processes of this program, which say when they are ready,
/// are told one instant to start at, and say what they counted.
///
///     started ──"ready"──▶ ready, stopped where that is asked for ──all are──▶ told the start ──▶
///     one line with what it counted ──all awaited ones have──▶ whatever still lives is killed
struct BenchProcesses: Sendable {
    /// One of the processes.
    struct Part: Sendable {
        /// Its name in errors.
        var name: String
        /// Its command and options; the folder is added.
        var arguments: [String]
        /// Whether it says what it counted; else it goes on until the others have.
        var counts = true
        /// Whether it is stopped once it is ready, and stays so.
        var isStopped = false
    }

    private let program: String
    private let folder: String
    private let timeMax: Duration
    private let clock = SystemClock()

    /// From the moment in which all are ready to the start: long enough for the word to reach them.
    private static let headStart: Duration = .milliseconds(50)
    /// How much longer than planned a process may take before it counts as hanging.
    private static let hangingAfter: Duration = .seconds(60)

    /// Processes in a folder.
    ///
    /// - Parameters:
    ///   - program: the path of `lockkeeper`.
    ///   - time: how long they are planned to run.
    init(program: String, folder: String, time: Duration) {
        self.program = program
        self.folder = folder
        timeMax = time + Self.hangingAfter
    }

    /// Runs processes to their ends. Blocks the thread.
    ///
    /// - Parameter oneByOne: whether each is started once the one before is ready.
    /// - Returns: the lines of those that count, in their order.
    /// - Throws: ``SimulationError`` when one ends early, hangs, or cannot be started.
    func run(_ parts: [Part], oneByOne: Bool = false) throws -> [String] {
        let supervisor = Supervisor(program: program, root: folder)
        defer { supervisor.endAll() }
        let progress = Monitor(parts.map { Progress(counts: $0.counts) })
        var processes: [ManagedProcess] = []
        for (index, part) in parts.enumerated() {
            processes.append(
                try supervisor.start(part.name, part.arguments) { occurrence in
                    progress.withLock { $0[index].note(occurrence, of: part.name) }
                    progress.broadcast()
                }
            )
            guard oneByOne else { continue }
            try wait(for: progress, processes, "being ready") { $0[index].isReady }
        }
        try wait(for: progress, processes, "being ready") { $0.allSatisfy(\.isReady) }
        for (part, process) in zip(parts, processes) where part.isStopped {
            try process.signal(.stop)
        }
        let start = clock.now().advanced(by: Self.headStart)
        for process in processes {
            process.send(Array("\(start.nanoseconds)\n".utf8), lineCount: 1)
            process.closeInput()
        }
        try wait(for: progress, processes, "what it counted") { all in
            all.allSatisfy { !$0.counts || $0.line != nil }
        }
        return progress.withLock { $0.filter(\.counts).compactMap(\.line) }
    }

    /// What is known of a process.
    private struct Progress: Sendable {
        let counts: Bool
        var isReady = false
        var line: String?
        var failure: SimulationError?

        mutating func note(_ occurrence: ManagedProcess.Occurrence, of process: String) {
            switch occurrence {
            case .line(let bytes):
                let text = String(decoding: bytes, as: UTF8.self)
                if !isReady, text == "ready" {
                    isReady = true
                } else if isReady, line == nil {
                    line = text
                } else {
                    failure = .unreadableOutput(process: process, line: text)
                }
            case .ended(let status):
                guard line == nil, failure == nil else { return }
                failure = .endedUnexpectedly(process: process, ending: "\(status)", lastErrors: [])
            }
        }
    }

    private func wait(
        for progress: Monitor<[Progress]>,
        _ processes: [ManagedProcess],
        _ awaited: String,
        until isDone: ([Progress]) -> Bool
    ) throws(SimulationError) {
        let deadline = Deadline(after: timeMax, from: clock.now())
        let end = progress.wait(until: deadline) { all -> Result<Void, SimulationError>? in
            if let failure = all.lazy.compactMap(\.failure).first { return .failure(failure) }
            return isDone(all) ? .success(()) : nil
        }
        guard let end else {
            throw .tookTooLong(process: "a worker", awaited: awaited, lastErrors: [])
        }
        if case .failure(.endedUnexpectedly(let process, let ending, _)) = end {
            let errors = processes.flatMap(\.lastErrors)
            throw .endedUnexpectedly(process: process, ending: ending, lastErrors: errors)
        }
        try end.get()
    }
}

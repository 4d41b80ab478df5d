package import LockkeeperDomain
package import LockkeeperPlatform

/// Starts processes of one program on one workspace, and leaves none of them behind.
///
/// Lock rule: the monitor guards the list alone.
package final class Supervisor: Sendable {
    /// The workspace's folder.
    package let root: String
    private let program: String
    private let processes = Monitor<[ManagedProcess]>([])

    /// A supervisor of nothing yet.
    ///
    /// - Parameter program: the path of `lockkeeper`.
    package init(program: String, root: String) {
        // Children die while they are being written to.
        CurrentProcess.ignoreBrokenPipes()
        self.program = program
        self.root = root
    }

    /// Starts a command in a process of its own.
    ///
    /// - Parameters:
    ///   - name: the process's name in reports.
    ///   - arguments: the command and its options; the workspace is added.
    ///   - observe: told what the process prints, and how it ends.
    /// - Throws: ``SystemCallError`` when it cannot be started.
    package func start(
        _ name: String,
        _ arguments: [String],
        observe: @escaping @Sendable (ManagedProcess.Occurrence) -> Void
    ) throws(SystemCallError) -> ManagedProcess {
        // What stands behind `--` is another program's.
        let own = arguments.prefix { $0 != "--" }
        let process = try ManagedProcess(
            name: name,
            program: program,
            arguments: own + ["--root", root] + arguments.dropFirst(own.count),
            observe: observe
        )
        processes.withLock { $0.append(process) }
        return process
    }

    /// Waits for a process's end and says how it ended.
    ///
    /// - Throws: ``SimulationError`` when it lives on at the deadline.
    package func awaitEnd(
        of process: ManagedProcess,
        until deadline: Deadline
    ) throws(SimulationError) -> ExitStatus {
        if let status = process.wait(until: deadline) { return status }
        throw .tookTooLong(
            process: process.name,
            awaited: "its end",
            lastErrors: process.lastErrors
        )
    }

    /// Kills whatever still lives and waits for it.
    package func endAll() {
        let all = processes.withLock { $0 }
        for process in all {
            // A process that has ended already takes no signal, which is what is wanted.
            _ = try? process.signal(.kill)
        }
        for process in all { _ = process.wait(until: .never) }
    }
}

import LockkeeperDomain
import LockkeeperPlatform

/// The largest memory that `ingest` needs for many messages, which it gets through a pipe.
///
/// It is looked at while the process still waits for more: what the kernel tells of a child that has
/// ended counts its parent's pages from before the child became a program of its own.
struct IngestMemory {
    let site: BenchSite

    fileprivate struct Progress: Sendable {
        var storedCount = 0
        var failure: SimulationError?
    }

    /// How long the process may take.
    private static let waitMax: Duration = .seconds(600)

    /// Measures, in MiB. Blocks the thread.
    ///
    /// - Throws: ``SimulationError`` when the process fails or does not store everything.
    func measure(_ messageCount: Int, in folder: String) throws -> Double {
        let supervisor = Supervisor(program: site.program, root: folder)
        defer { supervisor.endAll() }
        let progress = Monitor(Progress())
        let process = try supervisor.start("ingest", ["ingest"]) { occurrence in
            progress.withLock { $0.note(occurrence) }
            progress.broadcast()
        }
        var messages = BenchMessages(number: 0)
        let clock = SystemClock()
        for first in stride(from: 0, to: messageCount, by: 1000) {
            let count = min(1000, messageCount - first)
            process.send(messages.nextLines(count), lineCount: count)
            // No more than a little ahead, so that this process stays small as well.
            try wait(until: first + count - 10_000, progress, clock)
        }
        try wait(until: messageCount, progress, clock)
        let status = try FileSystem.contents(of: "/proc/\(process.pid)/status")
        let line = String(decoding: status, as: UTF8.self).split(separator: "\n")
            .first { $0.hasPrefix("VmHWM:") }
        guard let kibibytes = line?.split(separator: " ").dropLast().last.flatMap({ Double($0) })
        else {
            throw SimulationError.unreadableOutput(process: "the kernel", line: "\(line ?? "")")
        }
        return kibibytes / 1024
    }

    private func wait(
        until count: Int,
        _ progress: Monitor<Progress>,
        _ clock: SystemClock
    ) throws(SimulationError) {
        let deadline = Deadline(after: Self.waitMax, from: clock.now())
        let end = progress.wait(until: deadline) { progress -> Result<Void, SimulationError>? in
            if let failure = progress.failure { return .failure(failure) }
            return progress.storedCount >= count ? .success(()) : nil
        }
        guard let end else {
            throw .tookTooLong(process: "ingest", awaited: "\(count) messages", lastErrors: [])
        }
        try end.get()
    }
}

extension IngestMemory.Progress {
    fileprivate mutating func note(_ occurrence: ManagedProcess.Occurrence) {
        switch occurrence {
        case .line(let bytes):
            guard case .receipt(let receipt)? = try? CommandOutput(bytes) else { return }
            storedCount = receipt.lines.upperBound
        case .ended(let status):
            failure = .endedUnexpectedly(
                process: "ingest",
                ending: status.sentence,
                lastErrors: []
            )
        }
    }
}

import LockkeeperDomain
import LockkeeperLocking
import LockkeeperNotifier
import LockkeeperPlatform
import LockkeeperStorage

/// What the host sees of one account's log, and what is to be done about it.
///
/// ```
/// short ──grew past the mark──▶ long ──copied──▶ copied ──changed──▶ long
///   ▲                             │                │
///   └──────emptied──── idle ◀─────┴──unchanged for a while
/// ```
///
/// The file is looked at from outside: its size and the time of its last change, which is only
/// compared for equality. Its size says nothing of how much is in it, because it stays when the log
/// begins anew; so a file that was copied counts as short until it changes.
struct LogWatch: Equatable {
    /// What `stat` says of the file.
    struct Stamp: Equatable {
        let byteCount: Int64
        let modified: Int64
    }

    /// What is to be done.
    enum Step: Equatable {
        case nothing
        /// Copy it, where it holds enough.
        case copy
        /// Nobody writes: copy it and empty the file.
        case empty
    }

    private var stamp: Stamp?
    private var changed = MonotonicInstant(nanoseconds: 0)
    private var copied: Stamp?
    private var nextAttempt: MonotonicInstant?
    private var incompleteCount = 0

    /// Notes what the file is now.
    mutating func look(_ stamp: Stamp, now: MonotonicInstant, limits: Limits) -> Step {
        if stamp != self.stamp {
            self.stamp = stamp
            changed = now
        }
        if stamp.byteCount == 0 { return .nothing }
        if let nextAttempt, now < nextAttempt { return .nothing }
        if now.duration(since: changed) >= limits.checkpointIdleAfter { return .empty }
        let isLong = stamp.byteCount / Self.frameByteCountMin >= Int64(limits.checkpointFrameCount)
        return isLong && stamp != copied ? .copy : .nothing
    }

    /// Notes how a step ended that the last look asked for; `nil` for an error.
    mutating func end(_ outcome: Checkpoint.Outcome?, now: MonotonicInstant, retry: Backoff) {
        switch outcome {
        case .complete, .notDue:
            copied = stamp
            nextAttempt = nil
            incompleteCount = 0
        case .elsewhere: break
        case .pinned, .noRoom, nil:
            nextAttempt = now.advanced(by: retry.ceiling(attempt: incompleteCount))
            incompleteCount += 1
        }
    }

    /// A page's worth of the log.
    private static let frameByteCountMin: Int64 = 4096
}

/// The host's care for the logs of its accounts, whoever writes them: it copies those that have grown
/// and empties those that rest, so that no helper has to (5.4).
struct LogUpkeep: Sendable {
    private let ticker: HostTicker

    /// Starts the thread.
    ///
    /// - Parameter tick: what else the host does with each tick, on the same thread.
    init(
        _ workspace: Workspace,
        tick: @escaping @Sendable (Workspace) -> Void = { _ in }
    ) throws {
        let memory: [StreamName: LogWatch] = [:]
        ticker = try HostTicker("lk-upkeep", workspace, memory: memory) { workspace, watches in
            tick(workspace)
            // What cannot be read now is looked at again with the next tick.
            let records = (try? workspace.registry.use { try $0.accounts() }) ?? []
            for record in records {
                for kind in StoreKind.allCases where record.fileNumber(of: kind) > 0 {
                    let name = StreamName(record.id, kind)
                    var watch = watches[name] ?? LogWatch()
                    Self.look(at: record, kind, in: workspace, &watch, SystemClock())
                    watches[name] = watch
                }
            }
        }
    }

    /// Ends the thread after the checkpoint that runs.
    func close() { ticker.close() }

    private static func look(
        at record: AccountRecord,
        _ kind: StoreKind,
        in workspace: Workspace,
        _ watch: inout LogWatch,
        _ clock: SystemClock
    ) {
        let paths = workspace.paths.account(directory: record.directory)
        let log = StoreFiles(paths.file(of: kind, number: record.fileNumber(of: kind))).log
        guard let status = try? FileSystem.status(log) else { return }
        let stamp = LogWatch.Stamp(byteCount: status.size, modified: status.modified)
        let step = watch.look(stamp, now: clock.now(), limits: workspace.limits)
        if step == .nothing { return }
        // The place at the account is given up again afterwards, so that a host that only serves
        // stands in nobody's way.
        let outcome = try? Checkpoint(
            attachment: workspace.attach(record.id),
            opener: StoreOpener(workspace: workspace, account: record.id, kind: kind)
        ).run(isIdle: step == .empty)
        watch.end(outcome, now: clock.now(), retry: workspace.limits.checkpointRetry)
    }
}

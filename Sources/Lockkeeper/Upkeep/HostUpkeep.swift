import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperStorage

/// The host's upkeep of all active accounts, whoever writes them: what each schema has to do at any
/// time. An account whose log has not changed since everything was done costs one `stat` per tick.
struct HostUpkeep: Sendable {
    private let ticker: HostTicker

    /// What the host remembers of an account.
    private struct Watch {
        /// The log at the last tick.
        var seen: LogWatch.Stamp?
        /// The log when everything was done.
        var done: LogWatch.Stamp?
    }

    /// Starts the thread.
    init(_ workspace: Workspace) throws {
        let memory: [AccountID: Watch] = [:]
        ticker = try HostTicker("lk-tidies", workspace, memory: memory) { workspace, watches in
            let steps = workspace.schemas.flatMap(\.upkeep)
            guard !steps.isEmpty else { return }
            // What cannot be read now is looked at again with the next tick.
            let records = (try? workspace.registry.use { try $0.accounts() }) ?? []
            for record in records where record.state == .active && record.messagesFile > 0 {
                var watch = watches[record.id] ?? Watch()
                Self.look(at: record, in: workspace, steps, &watch)
                watches[record.id] = watch
            }
        }
    }

    /// Ends the thread after the pass that runs.
    func close() { ticker.close() }

    private static func look(
        at record: AccountRecord,
        in workspace: Workspace,
        _ steps: [UpkeepStep],
        _ watch: inout Watch
    ) {
        let paths = workspace.paths.account(directory: record.directory)
        let log = StoreFiles(paths.file(of: .messages, number: record.messagesFile)).log
        let stamp = stamp(of: log)
        guard stamp != watch.done else { return }
        let isRested = stamp == watch.seen
        watch.seen = stamp
        // An account that cannot be opened or written now is looked at again with the next tick.
        guard let session = try? workspace.openSession(record.id) else { return }
        let limits = workspace.limits
        let pass = UpkeepPass(
            session,
            steps: steps,
            timeMax: isRested ? limits.upkeepTimeMax : limits.upkeepTimeMaxBesideOthers,
            timeMaxBesideOthers: limits.upkeepTimeMaxBesideOthers
        )
        let isDone = (try? pass.run { true }) ?? false
        watch.seen = Self.stamp(of: log)
        watch.done = isDone ? watch.seen : nil
    }

    private static func stamp(of log: String) -> LogWatch.Stamp? {
        guard let status = (try? FileSystem.status(log)) ?? nil else { return nil }
        return LogWatch.Stamp(byteCount: status.size, modified: status.modified)
    }
}

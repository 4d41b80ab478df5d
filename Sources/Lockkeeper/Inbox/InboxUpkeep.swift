import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperStorage

/// The host's care for packets that wait: once per tick it looks at the inbox of each
/// active account and applies what waits, whoever kept it.
struct InboxUpkeep: Sendable {
    private let ticker: HostTicker

    /// Starts the thread.
    init(_ workspace: Workspace) throws {
        let memory: [AccountID: InboxPatience] = [:]
        ticker = try HostTicker("lk-inboxes", workspace, memory: memory) { workspace, patiences in
            guard workspace.packetIntake != nil else { return }
            // What cannot be read now is looked at again with the next tick.
            let records = (try? workspace.registry.use { try $0.accounts() }) ?? []
            for record in records where record.state == .active {
                var patience = patiences[record.id] ?? InboxPatience()
                Self.look(at: record, in: workspace, &patience)
                patiences[record.id] = patience
            }
        }
    }

    /// Ends the thread after what runs.
    func close() { ticker.close() }

    private static func look(
        at record: AccountRecord,
        in workspace: Workspace,
        _ patience: inout InboxPatience
    ) {
        let folder = workspace.inboxFolder(of: record)
        let clock = SystemClock()
        guard let stamp = Self.stamp(of: folder), patience.isDue(stamp, now: clock.now()) else {
            return
        }
        workspace.drainInboxIfActive(of: record.id)
        let rest = Self.stamp(of: folder)
        patience.end(
            rest,
            isEmpty: rest == nil,
            now: clock.now(),
            retry: workspace.limits.inboxRetry
        )
    }

    /// The last change of what says that packets wait, as files or as rows; `nil` where none does.
    private static func stamp(of folder: InboxFolder) -> Int64? {
        let files = (try? folder.waitingStamp()) ?? nil
        let rows = (try? folder.rowsStamp()) ?? nil
        guard files != nil || rows != nil else { return nil }
        return (files ?? 0) &+ (rows ?? 0)
    }
}

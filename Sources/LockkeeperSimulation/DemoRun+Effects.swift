import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform

// Two processes ingest the same pushes and two show notifications: each message is shown once, and what
// was recalled or read is withdrawn once (M-11).
extension DemoRun {
    /// - Throws: ``SimulationError`` when a process does not do what it should.
    mutating func notifyOnce() throws {
        let relays = try (1...2).map { number in
            try supervisor.start(
                "notifier-\(number)",
                [
                    "effects", "run", "--follow", "--json", "--account", "\(Self.alice)", "--",
                    "echo", "{}",
                ],
                observe: effects.observe
            )
        }
        // Both are given everything, as an app and its push helper are.
        let pushes = try ["app", "push-helper"].map { name in
            let process = try startIngest(name)
            feed(plan.pushedEvents[...], to: process)
            process.closeInput()
            return process
        }
        for process in pushes { try expectEnd(of: process, .exited(0)) }
        try awaitTold(plan.pushedMessages.count, relays)
        let other = try startIngest("other-device")
        feed(plan.withdrawingEvents[...], to: other)
        other.closeInput()
        try expectEnd(of: other, .exited(0))
        try awaitTold(plan.pushedMessages.count + plan.withdrawnMessages.count, relays)
        for relay in relays {
            try relay.signal(.terminate)
            try expectEnd(of: relay, .exited(0))
        }
        evidence.notifiable = plan.pushedMessages
        evidence.withdrawable = plan.withdrawnMessages
        evidence.told = effects.told
        note(
            "two processes ingested the same \(plan.pushedMessages.count) messages, two showed"
                + " notifications: \(plan.pushedMessages.count) shown,"
                + " \(plan.withdrawnMessages.count) withdrawn"
        )
    }

    private func startIngest(_ name: String) throws -> ManagedProcess {
        try supervisor.start(
            name,
            ["ingest", "-", "--account", "\(Self.alice)", "--name", name],
            observe: { _ in }
        )
    }

    private func awaitTold(
        _ count: Int,
        _ relays: [ManagedProcess]
    ) throws(SimulationError) {
        if effects.wait(for: count, until: deadline) { return }
        throw .tookTooLong(
            process: relays[0].name,
            awaited: "\(count) effects",
            lastErrors: relays.flatMap(\.lastErrors)
        )
    }
}

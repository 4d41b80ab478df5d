import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform

// The means of the steps: starting, feeding and awaiting processes; and what is read at the end.
extension DemoRun {
    // Few enough lines for feeding to be smooth, enough for few writes.
    private static let fedCount = 500

    /// Starts a helper's next life and feeds it everything of its share that has no receipt.
    func start(_ helper: HelperLog, for account: AccountID) throws -> ManagedProcess {
        let rest = helper.beginLife()
        let process = try supervisor.start(
            helper.name,
            // It fetches history: the pushes are what notifies.
            ["ingest", "-", "--account", "\(account)", "--name", helper.name, "--no-effects"],
            observe: helper.observe
        )
        feed(rest, to: process)
        return process
    }

    /// Puts events in line for a process's input.
    func feed(_ events: ArraySlice<Event>, to process: ManagedProcess) {
        for start in stride(from: events.startIndex, to: events.endIndex, by: Self.fedCount) {
            let end = min(start + Self.fedCount, events.endIndex)
            var encoder = EventEncoder()
            for event in events[start..<end] { encoder.append(event) }
            process.send(encoder.bytes, lineCount: end - start)
        }
    }

    /// Waits until a helper's sums satisfy a condition.
    ///
    /// - Throws: ``SimulationError`` when it ends before, prints something strange, or hangs.
    func awaitSums(
        of helper: HelperLog,
        _ process: ManagedProcess,
        _ awaited: String,
        _ isReached: (HelperLog.State) -> Bool
    ) throws(SimulationError) {
        let outcome = helper.wait(until: deadline) { sums -> Bool? in
            if sums.unreadable != nil { return false }
            if isReached(sums) { return true }
            return sums.ending == nil ? nil : false
        }
        if outcome == true { return }
        let sums = helper.sums
        if let line = sums.unreadable {
            throw .unreadableOutput(process: helper.name, line: line)
        }
        if let ending = sums.ending {
            throw .endedUnexpectedly(
                process: helper.name,
                ending: ending.sentence,
                lastErrors: process.lastErrors
            )
        }
        throw .tookTooLong(
            process: helper.name,
            awaited: awaited,
            lastErrors: process.lastErrors
        )
    }

    /// Waits for a process's end and notes it for the verdict.
    ///
    /// - Throws: ``SimulationError`` when it lives on.
    mutating func expectEnd(
        of process: ManagedProcess,
        _ expected: ExitStatus,
        feeding helper: HelperLog? = nil
    ) throws(SimulationError) {
        let actual = try supervisor.awaitEnd(of: process, until: deadline)
        helper?.countSent(process.writtenLineCount)
        evidence.endings.append(
            DemoEvidence.Ending(
                process: process.name,
                expected: expected.sentence,
                actual: actual.sentence
            )
        )
    }

    /// Reads what the databases say, once every process has ended.
    mutating func collect() async throws {
        evidence.sent = plan.events + plan.pushedEvents + plan.withdrawingEvents
        evidence.unacknowledgedCount = helpers.reduce(0) {
            $0 + $1.share.count - min($1.share.count, $1.sums.acknowledgedCount)
        }
        evidence.acknowledgedCommits = helpers.flatMap { $0.sums.commits }
        evidence.ranges = tail.seen.ranges
        evidence.sentToOther = plan.otherEvents
        let workspace = try await openWorkspace()
        let alice = try await workspace.inspectionSession(Self.alice)
        let bob = try await workspace.inspectionSession(Self.bob)
        evidence.commitHead = try await alice.database.head().commit.rawValue
        evidence.exported = try await Self.export(alice)
        evidence.exportedFromOther = try await Self.export(bob)
        evidence.quarantined = Set(
            try await MessageStore(alice).quarantine().compactMap { item in
                guard let conversation = item.conversation, let message = item.message else {
                    return nil
                }
                return ChatModel.Key(conversation, message)
            }
        )
        for session in [alice, bob] {
            evidence.findings += try await session.inspect(deep: true).map {
                "\($0.code): \($0.subject): \($0.explanation)"
            }
        }
        await workspace.close()
    }

    /// The table and the verdict.
    func report() -> DemoReport {
        var report = DemoReport(verdict: DemoVerdict(evidence), seed: plan.seed)
        report.helpers = (helpers + [otherHelper]).map { helper in
            let sums = helper.sums
            var row = DemoReport.Row(name: helper.name)
            row.sent = sums.sentCount
            row.stored = sums.storedCount
            row.duplicate = sums.repeatedCount
            row.quarantined = sums.quarantinedCount
            row.refused = sums.refusedCount
            row.commits = sums.commits.count
            row.waits = sums.waits
            return row
        }
        report.rangeCount = evidence.ranges.count
        report.commitCount = Int(evidence.commitHead - evidence.commitBefore)
        return report
    }

    /// Opens the workspace for a moment, as a tool beside the processes of the run.
    func openWorkspace() async throws -> Workspace {
        try await Workspace.open(
            at: supervisor.root,
            name: "demo",
            role: .tool,
            schemas: [.messages]
        )
    }

    private static func export(_ session: Session) async throws -> [Event] {
        let collected = Monitor<[Event]>([])
        try await MessageStore(session).export(includingCursors: true) { bytes in
            var decoder = LineDecoder()
            try bytes.withUnsafeBytes { buffer in
                try decoder.feed(buffer) { _, line, error in
                    if let error { throw error }
                    if let event = line.event { collected.withLock { $0.append(event) } }
                }
            }
        }
        return collected.withLock { $0 }
    }
}

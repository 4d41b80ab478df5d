package import LockkeeperDomain
import LockkeeperLocking
import LockkeeperNotifier
import LockkeeperPlatform
import LockkeeperSQLite

/// A part of a write's way, each of which takes time of its own.
public enum WriteStage: String, Sendable, Hashable, CaseIterable {
    /// From the offer of a batch's oldest event until the batch is taken (the ingester's queue).
    case queue
    /// In line for admission.
    case admission
    /// Inside of the transaction, until COMMIT has returned.
    case transaction
    /// From the end of the transaction until it is durable.
    case sync
    /// Handing the range to the hub.
    case announcement
}

/// How long one stage took, over all writes of a process.
public struct StageTiming: Sendable, Hashable {
    /// Which stage.
    public let stage: WriteStage
    private let histogram: WaitHistogram

    init(_ stage: WriteStage, _ histogram: WaitHistogram) {
        self.stage = stage
        self.histogram = histogram
    }

    /// How many writes went through it.
    public var count: Int { histogram.count }
    /// What all of them took together.
    public var total: Duration { histogram.total }
    /// The longest.
    public var largest: Duration { histogram.largest }
    /// A duration that this share of them does not exceed, at most a 32nd too large.
    public func quantile(_ share: Double) -> Duration { histogram.quantile(share) }
    /// How many of them took at most so long, at most a 32nd of it wrong.
    public func count(upTo bound: Duration) -> Int { histogram.count(upTo: bound) }
}

/// What a process has done since it opened a workspace, as numbers.
public struct ProcessMetrics: Sendable, Hashable {
    /// Its process id.
    public let pid: Int32
    /// The name under which it commits.
    public let name: String
    /// "host", "helper" or "tool".
    public let role: String
    /// Clients of its hub, writers and subscribers; 0 where it keeps none.
    public let hubConnectionCount: Int
    /// Each stage of its writes, in their order.
    public let stages: [StageTiming]
}

extension Workspace {
    /// What this process has done here until now.
    public var metrics: ProcessMetrics {
        let histograms = stageTimes.histograms
        return ProcessMetrics(
            pid: process.identity.pid,
            name: name,
            role: process.role.name,
            hubConnectionCount: hubSeat.connectionCount,
            stages: WriteStage.allCases.map { StageTiming($0, histograms[$0] ?? WaitHistogram()) }
        )
    }

    /// Tells each statement that this process runs from now on, in any workspace, or only the slow
    /// ones; one that asks takes the place of the one before. For finding out what is slow.
    ///
    /// - Parameters:
    ///   - least: what a statement must last to be told.
    ///   - includingValues: whether the values that were bound are told: they are people's messages,
    ///     so it is off unless it is asked for.
    ///   - report: called on the thread that ran the statement, perhaps inside of a transaction and
    ///     while others wait for it: it must be quick, and not use a session. `nil` ends the tracing.
    public static func traceStatements(
        lastingAtLeast least: Duration = .zero,
        includingValues: Bool = false,
        _ report: (@Sendable (TracedStatement) -> Void)?
    ) {
        guard let report else { return StatementTracing.ask(for: nil) }
        StatementTracing.ask(
            for: StatementTracing.Request(
                least: least,
                includesValues: includingValues,
                clock: SystemClock()
            ) { report(TracedStatement($0)) }
        )
    }

    /// The numbers for the hub's own process, over its socket. Blocks for a moment.
    func metricsOfHub() -> ProcessMetrics? {
        guard let answer = HubRequest.metrics(path: paths.socket) else { return nil }
        return ProcessMetrics(
            pid: answer.pid,
            name: answer.name,
            role: answer.role,
            hubConnectionCount: answer.connectionCount,
            stages: WriteStage.allCases.map { stage in
                let numbers = answer.stages[stage.rawValue] ?? []
                return StageTiming(stage, WaitHistogram(numbers: numbers) ?? WaitHistogram())
            }
        )
    }

    /// What this process's hub answers to who asks for its numbers.
    func hubMetrics(connectionCount: Int) -> HubMetrics {
        HubMetrics(
            pid: process.identity.pid,
            name: name,
            role: process.role.name,
            connectionCount: connectionCount,
            stages: Dictionary(
                uniqueKeysWithValues: stageTimes.histograms.map { ($0.rawValue, $1.numbers) }
            )
        )
    }
}

extension Session {
    /// Notes that a batch was taken whose oldest event was offered at an instant.
    package func noteQueue(since offeredAt: MonotonicInstant) {
        workspace.stageTimes.add(.queue, database.clock.now().duration(since: offeredAt))
    }
}

/// A statement that was run, for who looks for what is slow.
public struct TracedStatement: Sendable, Hashable {
    /// Its text, without values.
    public let sql: String
    /// Its text with values; `nil` unless they were asked for.
    public let expandedSQL: String?
    /// The file that ran it, with its module: "App/Drafts.swift"; empty where nobody knows.
    public let file: String
    /// The line in that file.
    public let line: Int
    /// How long it took, the caller's work between two rows included.
    public let duration: Duration
    /// How many rows it gave.
    public let rowCount: Int

    init(_ execution: TracedExecution) {
        sql = execution.sql
        expandedSQL = execution.expandedSQL
        file = execution.file
        line = execution.line
        duration = execution.duration
        rowCount = execution.rowCount
    }
}

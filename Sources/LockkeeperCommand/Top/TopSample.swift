import Lockkeeper
import LockkeeperDomain

/// What `top` shows of a workspace at one instant.
struct TopSample: Sendable, Hashable {
    /// A process that has an account open.
    struct Process: Sendable, Hashable {
        var pid: Int32
        var name: String
        var role: String
        var activity: String
        var duration: Duration
        var condition: String
        var locks: [String]
    }

    /// An account.
    struct Account: Sendable, Hashable {
        var id: String
        var state: String
        var generation: Int64
        /// The newest commit of messages; `nil` where it is not known.
        var commit: Int64?
        var logByteCount: Int64
        /// What waits, as a sentence.
        var toDo: String
        var problem: String?
        var processes: [Process]
    }

    var root: String
    var hostPID: Int32?
    var accounts: [Account]
    /// Which stages of the hub's writes took how long, as a sentence; `nil` where no hub answers.
    var stages: String?
}

extension TopSample {
    /// What a look at a workspace has found.
    init(_ status: WorkspaceStatus) {
        root = status.root
        hostPID = status.processes.first { $0.locks.contains("HOST") }?.pid
        stages = status.hubMetrics.map { metrics in
            metrics.stages.filter { $0.count > 0 }.map {
                "\($0.stage.rawValue) \(Self.milliseconds($0.quantile(0.5)))"
                    + "/\(Self.milliseconds($0.quantile(0.99)))"
            }.joined(separator: "  ")
        }
        accounts = status.accounts.map { account in
            var toDo = ["inbox \(account.waitingPacketCount)"]
            toDo += account.backlogs.map { "\($0.name) \($0.count)" }
            return Account(
                id: terminalID(account.info.id.description),
                state: account.info.state.rawValue,
                generation: account.info.generation.rawValue,
                commit: account.head?.commit.rawValue,
                logByteCount: account.logByteCount,
                toDo: toDo.joined(separator: ", "),
                problem: account.problem.map(terminalText),
                processes: account.processes.map {
                    Process(
                        pid: $0.pid,
                        name: terminalText($0.name),
                        role: $0.role,
                        activity: $0.activity,
                        duration: $0.duration,
                        condition: $0.condition,
                        locks: $0.locks
                    )
                }
            )
        }
    }

    private static func milliseconds(_ duration: Duration) -> String {
        let hundredths = Int((duration.milliseconds * 100).rounded())
        let rest = hundredths % 100
        return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
    }
}

import Lockkeeper
import LockkeeperDomain

/// The status as OpenMetrics text, for a collector that reads files or runs commands.
enum OpenMetricsText {
    /// The upper bounds of the histograms' buckets: from a wait that nobody notices to one that fails.
    private static let bounds: [(text: String, duration: Duration)] = [
        ("0.0001", .microseconds(100)), ("0.001", .milliseconds(1)), ("0.005", .milliseconds(5)),
        ("0.01", .milliseconds(10)), ("0.05", .milliseconds(50)), ("0.1", .milliseconds(100)),
        ("0.5", .milliseconds(500)), ("1.0", .seconds(1)), ("5.0", .seconds(5)),
    ]

    /// The lines, the last one of which ends the text.
    static func lines(_ status: WorkspaceStatus) -> [String] {
        var lines = gauges(status)
        if let metrics = status.hubMetrics { lines += stages(metrics) }
        return lines + ["# EOF"]
    }

    private static func gauges(_ status: WorkspaceStatus) -> [String] {
        var lines: [String] = []
        func family(_ name: String, _ help: String, _ samples: [(labels: String, value: Int64)]) {
            if samples.isEmpty { return }
            lines += ["# TYPE lockkeeper_\(name) gauge", "# HELP lockkeeper_\(name) \(help)"]
            lines += samples.map { "lockkeeper_\(name){\($0.labels)} \($0.value)" }
        }
        let accounts = status.accounts.map { account in
            (account, label("account", account.info.id.description))
        }
        family(
            "account_active",
            "Whether the account takes writes.",
            accounts.map { ($1, $0.info.state == .active ? 1 : 0) }
        )
        family(
            "generation",
            "The number of the right to write.",
            accounts.map { ($1, $0.info.generation.rawValue) }
        )
        family(
            "commit",
            "The newest commit.",
            accounts.compactMap { account, label in
                account.head.map { ("\(label),database=\"messages\"", $0.commit.rawValue) }
            }
        )
        family(
            "log_bytes",
            "The size of the write-ahead log.",
            accounts.flatMap { account, label in
                [
                    ("\(label),database=\"messages\"", account.logByteCount),
                    ("\(label),database=\"settings\"", account.settingsLogByteCount),
                ]
            }
        )
        family(
            "processes",
            "Processes that have the account open.",
            accounts.map { ($1, Int64($0.processes.count)) }
        )
        family(
            "waiting_writers",
            "Processes that wait to write.",
            accounts.map { ($1, Int64($0.waitingWriters.count)) }
        )
        family("to_do", "What waits to be done.", accounts.flatMap { toDo($0, $1) })
        return lines
    }

    private static func toDo(
        _ account: WorkspaceStatus.Account,
        _ label: String
    ) -> [(labels: String, value: Int64)] {
        func sample(_ list: String, _ state: String, _ count: Int) -> (String, Int64) {
            ("\(label),list=\"\(list)\",state=\"\(state)\"", Int64(count))
        }
        var samples = [
            sample("inbox", "waiting", account.waitingPacketCount),
            sample("inbox", "parked", account.parkedPacketCount),
        ]
        for backlog in account.backlogs {
            samples += [
                sample(backlog.name, "waiting", backlog.waitingCount),
                sample(backlog.name, "underway", backlog.underwayCount),
                sample(backlog.name, "unanswered", backlog.unansweredCount),
                sample(backlog.name, "parked", backlog.parkedCount),
            ]
        }
        return samples
    }

    private static func stages(_ metrics: ProcessMetrics) -> [String] {
        let name = "lockkeeper_write_stage_seconds"
        var lines = [
            "# TYPE \(name) histogram", "# UNIT \(name) seconds",
            "# HELP \(name) How long each stage of a write took in the hub's process.",
        ]
        for timing in metrics.stages {
            let label =
                "\(label("process", metrics.name)),stage=\"\(timing.stage.rawValue)\""
            for bound in bounds {
                let count = timing.count(upTo: bound.duration)
                lines.append("\(name)_bucket{\(label),le=\"\(bound.text)\"} \(count)")
            }
            lines.append("\(name)_bucket{\(label),le=\"+Inf\"} \(timing.count)")
            lines.append("\(name)_sum{\(label)} \(timing.total.milliseconds / 1000)")
            lines.append("\(name)_count{\(label)} \(timing.count)")
        }
        return lines
    }

    /// A label with its value, in which three characters would mean something else.
    private static func label(_ name: String, _ value: String) -> String {
        let escaped = value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            .replacing("\n", with: "\\n")
        return "\(name)=\"\(escaped)\""
    }
}

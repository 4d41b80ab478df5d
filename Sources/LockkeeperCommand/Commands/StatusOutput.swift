import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages

/// How the status of a workspace is printed.
enum StatusOutput {
    /// The status as lines for people.
    static func lines(_ status: WorkspaceStatus) -> [String] {
        var lines = [
            "workspace \(status.root)",
            host(of: status).map { "host: pid \($0)" } ?? "host: none",
            sqliteLine(
                status.sqliteVersion,
                hasResetFix: status.sqliteHasResetFix,
                excludesCheckpoints: status.excludesCheckpoints
            ),
        ]
        lines += status.processes.map { "  \(line($0))" }
        if let pending = status.pendingSwitch {
            lines.append("not finished: \(terminalText(pending))")
        }
        if let rebuiltAt = status.registryRebuiltAt {
            lines.append(
                "registry: was lost, and made anew of the accounts' own files at"
                    + " \(Timestamp(stored: rebuiltAt))"
            )
        }
        for account in status.accounts {
            let info = account.info
            let commit = account.head.map { ", commit \($0.commit)" } ?? ""
            lines.append(
                "account \(terminalID(info.id.description)): \(info.state.rawValue),"
                    + " generation \(info.generation)\(commit),"
                    + log(account.logByteCount, isDegraded: account.isDegraded)
            )
            if let head = account.settingsHead {
                let log = log(
                    account.settingsLogByteCount,
                    isDegraded: account.settingsAreDegraded
                )
                lines.append("  settings: commit \(head.commit),\(log)")
            }
            lines += toDo(account)
            lines += account.notes.map { "  \($0)" }
            lines += account.inspections.map { "  \(line($0))" }
            if let recovery = account.recovery { lines.append("  not finished: \(recovery)") }
            if let problem = account.problem { lines.append("  cannot be read: \(problem)") }
            lines += account.processes.map { "  \(line($0))" }
            lines += account.pins.map { "  \(line($0))" }
            lines += account.foreignProcesses.map { "  \(line($0))" }
        }
        return lines
    }

    /// What waits in an account: to be applied, to be written, to be told.
    private static func toDo(_ account: WorkspaceStatus.Account) -> [String] {
        var parts = [
            "inbox \(account.waitingPacketCount)"
                + (account.parkedPacketCount > 0 ? " (\(account.parkedPacketCount) parked)" : "")
        ]
        for backlog in account.backlogs {
            let marks = [
                (backlog.underwayCount, "under way"), (backlog.unansweredCount, "unanswered"),
                (backlog.parkedCount, "parked"),
            ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
            parts.append(
                "\(backlog.name) \(backlog.count)"
                    + (marks.isEmpty ? "" : " (\(marks.joined(separator: ", ")))")
            )
        }
        var lines = ["  to do: \(parts.joined(separator: ", "))"]
        let waiting = account.waitingWriters
        if let longest = waiting.first {
            let writer = account.writer.map { "pid \($0.pid) writes" } ?? "nobody writes"
            lines.append(
                "  queue: \(writer), \(waiting.count) wait, pid \(longest.pid) the longest,"
                    + " for \(seconds(longest.duration))"
            )
        }
        return lines
    }

    private static func log(_ byteCount: Int64, isDegraded: Bool) -> String {
        " log \(byteCount) bytes"
            + (isDegraded ? ", degraded: writes slow down until it is shorter" : "")
    }

    /// What the loaded SQLite is, and what keeps the log safe in it.
    static func sqliteLine(
        _ version: String,
        hasResetFix: Bool,
        excludesCheckpoints: Bool
    ) -> String {
        let fix = hasResetFix ? "has the fix of the WAL-reset fault" : "has the WAL-reset fault"
        let exclusion = excludesCheckpoints ? "on" : "off"
        return "SQLite \(version) \(fix); the exclusion of checkpoints is \(exclusion)"
    }

    /// A foreign process and what its being there means.
    static func line(_ process: ForeignProcess) -> String {
        "pid \(process.pid) (\(terminalText(process.program))), \(process.condition), has the"
            + " database open without Lockkeeper: \(ForeignProcess.consequence)"
    }

    private static func line(_ inspection: InspectionSummary) -> String {
        let found =
            inspection.findingCount == 0
            ? "nothing found"
            : "\(inspection.findingCount) found: \(inspection.codes.joined(separator: ", "))"
        let when = inspection.level == .open ? "now" : "at \(Timestamp(stored: inspection.endedAt))"
        return "check of \(inspection.kind.rawValue), \(inspection.level.rawValue), \(when):"
            + " \(found), took \(seconds(inspection.duration))"
    }

    private static func line(_ pin: LogPin) -> String {
        let who =
            pin.isForeign
            ? "\(terminalText(pin.program)), which does not use Lockkeeper"
            : "\(terminalText(pin.name ?? "")), \(pin.role ?? "")"
        let what =
            pin.age.map { "\(pin.reads ?? "read") for \(seconds($0))" } ?? "a read of unknown age"
        return "log pinned by pid \(pin.pid) (\(who)): \(what), \(pin.condition)"
    }

    private static func seconds(_ duration: Duration) -> String {
        let tenths = duration.wholeNanoseconds / 100_000_000
        return "\(tenths / 10).\(tenths % 10) s"
    }

    /// Writes the status as one object.
    static func write(_ status: WorkspaceStatus, into writer: inout JSONWriter) {
        writer.beginVersionedObject()
        writer.member("root", status.root)
        writer.member("host_pid", host(of: status))
        writer.member("pending_switch", status.pendingSwitch)
        writer.member("registry_rebuilt_at", status.registryRebuiltAt.map(Timestamp.init(stored:)))
        writer.member("free_bytes", status.freeByteCount)
        writer.member("sqlite_version", status.sqliteVersion)
        writer.member("sqlite_has_reset_fix", status.sqliteHasResetFix)
        writer.member("sqlite_known_faults", status.sqliteKnownFaults)
        writer.member("excludes_checkpoints", status.excludesCheckpoints)
        writer.key("hub_metrics")
        if let metrics = status.hubMetrics { write(metrics, into: &writer) } else { writer.null() }
        write(status.processes, into: &writer)
        writer.key("accounts")
        writer.beginArray()
        for account in status.accounts {
            writer.beginObject()
            writer.member("account", account.info.id)
            writer.member("state", account.info.state.rawValue)
            writer.member("generation", account.info.generation.rawValue)
            writer.member("head", account.head?.description)
            writer.member("log_bytes", account.logByteCount)
            writer.member("degraded", account.isDegraded)
            writer.member("settings_head", account.settingsHead?.description)
            writer.member("settings_log_bytes", account.settingsLogByteCount)
            writer.member("settings_degraded", account.settingsAreDegraded)
            writer.member("packets_waiting", account.waitingPacketCount)
            writer.member("packets_parked", account.parkedPacketCount)
            writeQueue(of: account, into: &writer)
            for backlog in account.backlogs { write(backlog, into: &writer) }
            writer.member("notes", account.notes)
            writer.member("recovery", account.recovery)
            writer.member("problem", account.problem)
            write(account.processes, into: &writer)
            write(account.inspections, into: &writer)
            write(account.pins, into: &writer)
            write(account.foreignProcesses, into: &writer)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }

    private static func writeQueue(
        of account: WorkspaceStatus.Account,
        into writer: inout JSONWriter
    ) {
        writer.key("queue")
        writer.beginObject()
        writer.member("writer_pid", account.writer?.pid)
        writer.member("next_pid", account.nextWriter?.pid)
        writer.key("waiting_pids")
        writer.beginArray()
        for process in account.waitingWriters { writer.integer(process.pid) }
        writer.endArray()
        writer.endObject()
    }

    private static func write(_ backlog: Backlog, into writer: inout JSONWriter) {
        writer.key(backlog.name)
        writer.beginObject()
        writer.member("waiting", backlog.waitingCount)
        writer.member("underway", backlog.underwayCount)
        writer.member("unanswered", backlog.unansweredCount)
        writer.member("parked", backlog.parkedCount)
        writer.endObject()
    }

    private static func write(_ metrics: ProcessMetrics, into writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("pid", metrics.pid)
        writer.member("name", metrics.name)
        writer.member("role", metrics.role)
        writer.member("connections", metrics.hubConnectionCount)
        writer.member("stages", metrics.stages)
        writer.endObject()
    }

    /// The process that serves: whoever holds the host's lock, whatever it says of itself.
    private static func host(of status: WorkspaceStatus) -> Int32? {
        status.processes.first { $0.locks.contains("HOST") }?.pid
    }

    private static func line(_ process: WorkspaceStatus.Process) -> String {
        let held =
            process.locks.isEmpty
            ? "" : ", holds \(process.locks.joined(separator: ", "))"
        let progress = process.progress.map { " (\($0))" } ?? ""
        return "pid \(process.pid) (\(terminalText(process.name)), \(process.role)),"
            + " \(process.activity)\(progress) for \(seconds(process.duration)), \(process.condition)"
            + held
    }

    private static func write(
        _ processes: [WorkspaceStatus.Process],
        into writer: inout JSONWriter
    ) {
        writer.key("processes")
        writer.beginArray()
        for process in processes {
            writer.beginObject()
            writer.member("pid", process.pid)
            writer.member("program", process.program)
            writer.member("name", process.name)
            writer.member("role", process.role)
            writer.member("activity", process.activity)
            writer.member("progress", process.progress)
            writer.member("activity_ms", milliseconds: process.duration)
            writer.member("condition", process.condition)
            writer.member("locks", process.locks)
            writer.endObject()
        }
        writer.endArray()
    }

    private static func write(
        _ inspections: [InspectionSummary],
        into writer: inout JSONWriter
    ) {
        writer.key("inspections")
        writer.beginArray()
        for inspection in inspections {
            writer.beginObject()
            writer.member("database", inspection.kind.rawValue)
            writer.member("level", inspection.level.rawValue)
            writer.member("at", Timestamp(stored: inspection.endedAt))
            writer.member("duration_ms", milliseconds: inspection.duration)
            writer.member("found", inspection.findingCount)
            writer.member("codes", inspection.codes)
            writer.endObject()
        }
        writer.endArray()
    }

    private static func write(_ pins: [LogPin], into writer: inout JSONWriter) {
        writer.key("pins")
        writer.beginArray()
        for pin in pins {
            writer.beginObject()
            writer.member("pid", pin.pid)
            writer.member("program", pin.program)
            writer.member("name", pin.name)
            writer.member("role", pin.role)
            writer.member("reads", pin.reads)
            if let age = pin.age { writer.member("age_ms", milliseconds: age) }
            writer.member("condition", pin.condition)
            writer.member("foreign", pin.isForeign)
            writer.endObject()
        }
        writer.endArray()
    }

    private static func write(_ processes: [ForeignProcess], into writer: inout JSONWriter) {
        writer.key("foreign_processes")
        writer.beginArray()
        for process in processes {
            writer.beginObject()
            writer.member("pid", process.pid)
            writer.member("program", process.program)
            writer.member("condition", process.condition)
            writer.endObject()
        }
        writer.endArray()
    }
}

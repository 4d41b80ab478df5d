import Lockkeeper
import LockkeeperDomain

/// How the status of a workspace is printed.
enum StatusOutput {
    /// The status as lines for people.
    static func lines(_ status: WorkspaceStatus) -> [String] {
        let reset =
            status.sqliteHasResetFix ? "" : ", its log is reset under a lock of Lockkeeper's"
        var lines = [
            "workspace \(status.root)",
            host(of: status).map { "host: pid \($0)" } ?? "host: none",
            "SQLite \(status.sqliteVersion)\(reset)",
        ]
        lines += status.processes.map { "  \(line($0))" }
        for account in status.accounts {
            let info = account.info
            let commit = account.head.map { ", commit \($0.commit)" } ?? ""
            let degraded = account.isDegraded ? ", degraded" : ""
            lines.append(
                "account \(terminalText(info.id.description)): \(info.state.rawValue),"
                    + " generation \(info.generation)\(commit),"
                    + " log \(account.logByteCount) bytes\(degraded)"
            )
            if let problem = account.problem { lines.append("  cannot be read: \(problem)") }
            lines += account.processes.map { "  \(line($0))" }
        }
        return lines
    }

    /// Writes the status as one object.
    static func write(_ status: WorkspaceStatus, into writer: inout JSONWriter) {
        writer.beginVersionedObject()
        writer.member("root", status.root)
        writer.member("host_pid", host(of: status))
        writer.member("sqlite_version", status.sqliteVersion)
        writer.member("sqlite_has_reset_fix", status.sqliteHasResetFix)
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
            writer.member("problem", account.problem)
            write(account.processes, into: &writer)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }

    /// The process that serves: whoever holds the host's lock, whatever it says of itself.
    private static func host(of status: WorkspaceStatus) -> Int32? {
        status.processes.first { $0.locks.contains("HOST") }?.pid
    }

    private static func line(_ process: WorkspaceStatus.Process) -> String {
        let tenths = process.duration.wholeNanoseconds / 100_000_000
        let held =
            process.locks.isEmpty
            ? "" : ", holds \(process.locks.joined(separator: ", "))"
        return "pid \(process.pid) (\(terminalText(process.name)), \(process.role)),"
            + " \(process.activity) for \(tenths / 10).\(tenths % 10) s, \(process.condition)"
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
            writer.member("activity_ms", milliseconds: process.duration)
            writer.member("condition", process.condition)
            writer.member("locks", process.locks)
            writer.endObject()
        }
        writer.endArray()
    }
}

import Glibc

/// Names one process among all that ever ran on this machine. A pid alone is given again (B32).
package struct ProcessIdentity: Sendable, Hashable {
    /// The process id.
    package let pid: Int32
    /// When it started, in clock ticks since the boot.
    package let startTime: UInt64
    /// The boot during which it ran.
    package let bootID: BootID

    /// An identity of its parts.
    package init(pid: Int32, startTime: UInt64, bootID: BootID) {
        self.pid = pid
        self.startTime = startTime
        self.bootID = bootID
    }

    /// The identity of the calling process. It is read each time, because a forked child has
    /// another one; who needs it often keeps it.
    ///
    /// - Throws: ``SystemCallError`` when `/proc` cannot be read.
    package static func current() throws(SystemCallError) -> ProcessIdentity {
        guard let identity = try read(pid: getpid()) else {
            throw SystemCallError(call: .open, errno: .noSuchProcess, path: "/proc/self/stat")
        }
        return identity
    }

    /// The identity of a running process or zombie; `nil` where no process has the pid.
    ///
    /// - Throws: ``SystemCallError`` when `/proc` cannot be read.
    package static func read(pid: Int32) throws(SystemCallError) -> ProcessIdentity? {
        guard let stat = try ProcessStat.read(pid: pid) else { return nil }
        return ProcessIdentity(
            pid: pid,
            startTime: stat.startTime,
            bootID: try BootID.current()
        )
    }

    /// The program's name as the kernel knows it, at most 15 bytes; `nil` where no process has the
    /// pid.
    package static func programName(pid: Int32) -> String? {
        guard let name = try? FileSystem.contents(of: "/proc/\(pid)/comm") else { return nil }
        return String(decoding: name.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    /// How the process is now.
    ///
    /// - Throws: ``SystemCallError`` when `/proc` cannot be read.
    package func condition() throws(SystemCallError) -> ProcessCondition {
        guard try bootID == BootID.current(),
            let stat = try ProcessStat.read(pid: pid),
            stat.startTime == startTime
        else { return .gone }
        switch stat.state {
        case UInt8(ascii: "Z"), UInt8(ascii: "X"), UInt8(ascii: "x"): return .zombie
        case UInt8(ascii: "T"), UInt8(ascii: "t"): return .stopped
        default: return ControlGroup.isFrozen(pid: pid) ? .frozen : .running
        }
    }
}

/// How a process is.
package enum ProcessCondition: String, Sendable, Hashable {
    /// It runs or could run.
    case running
    /// A signal or a debugger stopped it.
    case stopped
    /// Its control group is frozen.
    case frozen
    /// It is dead; its parent has not looked yet.
    case zombie
    /// There is no such process any more.
    case gone
}

/// The two fields of `/proc/<pid>/stat` that matter here.
struct ProcessStat {
    let state: UInt8
    let startTime: UInt64

    static func read(pid: Int32) throws(SystemCallError) -> ProcessStat? {
        do throws(SystemCallError) {
            return ProcessStat(parsing: try FileSystem.contents(of: "/proc/\(pid)/stat"))
        } catch {
            // A process that ends between open and read gives ESRCH.
            if error.errno == .noSuchFile || error.errno == .noSuchProcess { return nil }
            throw error
        }
    }

    /// The second field is the program's name in parentheses, and a program may put anything into
    /// its name, parentheses and spaces too: the fields are counted from the last ")".
    init?(parsing line: [UInt8]) {
        guard let parenthesis = line.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = line[(parenthesis + 1)...].split(separator: UInt8(ascii: " "))
        // Field 3 is the state and field 22 the start time, counted from 1 as proc(5) does.
        guard fields.count > 19, let state = fields[0].first,
            let startTime = UInt64(String(decoding: fields[19], as: UTF8.self))
        else { return nil }
        self.state = state
        self.startTime = startTime
    }
}

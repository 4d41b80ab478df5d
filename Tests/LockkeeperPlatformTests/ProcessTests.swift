import Glibc
import LockkeeperDomain
import LockkeeperTestSupport
import Testing

@testable import LockkeeperPlatform

@Suite
struct ProcessTests {
    @Test("A boot id is the same each time and survives being written as bytes")
    func bootID() throws {
        let bootID = try BootID.current()
        #expect(try BootID.current() == bootID)
        #expect(BootID(bytes: bootID.bytes) == bootID)
        #expect(BootID(bytes: [1, 2, 3]) == nil)
        let known = BootID(high: 0x0102_0304_0506_0708, low: 0x0A)
        #expect(known.bytes == [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 10])
        #expect(known.description == "0102030405060708000000000000000a")
    }

    @Test("A program's name with parentheses and spaces does not shift the fields")
    func hostileName() throws {
        let fields = (4...52).map(String.init).joined(separator: " ")
        let stat = try #require(ProcessStat(parsing: bytes("17 (a) R 1 (b) T \(fields)\n")))
        #expect(stat.state == UInt8(ascii: "T"))
        #expect(stat.startTime == 22)
        #expect(ProcessStat(parsing: bytes("17 (cut")) == nil)
        #expect(ProcessStat(parsing: []) == nil)
    }

    @Test("A process is running, stopped, running again, a zombie and gone")
    func conditions() async throws {
        try await onOwnThread {
            let child = try ChildProcess(program: "sleep", arguments: ["60"])
            let identity = try #require(try ProcessIdentity.read(pid: child.pid))
            #expect(try identity.condition() == .running)
            try child.signal(SIGSTOP)
            #expect(try eventually { try identity.condition() == .stopped })
            try child.signal(SIGCONT)
            #expect(try eventually { try identity.condition() == .running })
            try child.signal(SIGKILL)
            #expect(try eventually { try identity.condition() == .zombie })
            #expect(try child.wait() == .signalled(SIGKILL))
            #expect(try identity.condition() == .gone)
            #expect(try ProcessIdentity.read(pid: child.pid) == nil)
        }
    }

    // B35: what a person has to do differs: thaw it, continue it, or have its parent look.
    @Test("A process whose control group is frozen is told from a sleeping and from a stopped one")
    func frozen() async throws {
        let groups = ControlGroupFolder.writable()
        if groups.isEmpty { print("no control group can be made here: frozen processes untested") }
        try await onOwnThread {
            for group in groups {
                let child = try ChildProcess(program: "sleep", arguments: ["60"])
                let identity = try #require(try ProcessIdentity.read(pid: child.pid))
                defer { group.remove() }
                try group.write(String(child.pid), to: "cgroup.procs")
                #expect(try identity.condition() == .running)
                try group.write(group.frozen, to: group.switchName)
                #expect(try eventually { try identity.condition() == .frozen })
                try group.write(group.thawed, to: group.switchName)
                #expect(try eventually { try identity.condition() == .running })
                try child.signal(SIGSTOP)
                #expect(try eventually { try identity.condition() == .stopped })
                try child.signal(SIGKILL)
                #expect(try eventually { try identity.condition() == .zombie })
                try child.wait()
            }
        }
    }

    // B32
    @Test("A pid that was given again, or of another boot, is not the process that was meant")
    func reusedPid() throws {
        let own = try ProcessIdentity.current()
        #expect(own.pid == getpid())
        #expect(try own.condition() == .running)
        let earlier = ProcessIdentity(
            pid: own.pid,
            startTime: own.startTime - 1,
            bootID: own.bootID
        )
        #expect(try earlier.condition() == .gone)
        let otherBoot = ProcessIdentity(
            pid: own.pid,
            startTime: own.startTime,
            bootID: BootID(high: 1, low: 2)
        )
        #expect(try otherBoot.condition() == .gone)
    }

    @Test("A child is given its arguments, environment and streams, and its exit code comes back")
    func child() async throws {
        try await onOwnThread {
            let child = try ChildProcess(
                program: "sh",
                arguments: ["-c", "cat; printf %s \"$GREETING $1\"; exit 7", "sh", "a b"],
                environment: ["GREETING": "hello"],
                input: .pipe,
                output: .pipe
            )
            do {
                let input = child.takePipe(.input)
                try input.write(bytes("in "))
            }
            let output = child.takePipe(.output)
            #expect(String(decoding: try output.readToEnd(), as: UTF8.self) == "in hello a b")
            #expect(try child.wait() == .exited(7))
            #expect(try child.wait() == .exited(7))
            // The pid may be another process's now.
            try child.signal(SIGKILL)
        }
    }

    @Test("A child started from a worker thread has no signal blocked and no lock descriptor")
    func childInheritsNothing() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let locks = try LockDescriptor(opening: directory.file("locks"))
            let output = directory.file("output")
            let child = try ChildProcess(
                program: "sh",
                arguments: ["-c", "grep SigBlk /proc/self/status; ls -l /proc/$$/fd"],
                output: .file(output),
                error: .null
            )
            #expect(try child.wait() == .exited(0))
            let text = String(decoding: try FileSystem.contents(of: output), as: UTF8.self)
            #expect(text.hasPrefix("SigBlk:\t0000000000000000\n"))
            #expect(text.contains(output))
            #expect(!text.contains(directory.file("locks")))
            _ = try locks.tryLock(1, .exclusive)
        }
    }

    @Test("A program that does not exist cannot be started")
    func missingProgram() {
        let error = #expect(throws: SystemCallError.self) {
            _ = try ChildProcess(program: "/nonexistent/program", input: .pipe)
        }
        #expect(error?.call == .posixSpawn)
        #expect(error?.errno == .noSuchFile)
    }

    @Test("The running program and its user are known")
    func environment() {
        #expect(!Environment.programName.isEmpty)
        #expect(Environment.userID == geteuid())
        #expect(Environment.variable("PATH") != nil)
        #expect(Environment.variable("LOCKKEEPER_NO_SUCH_VARIABLE") == nil)
    }
}

/// A control group of a test's own, in one of the places where a machine may have them.
private struct ControlGroupFolder {
    let path: String
    /// The file that freezes it, and what is written into it.
    let switchName: String
    let frozen: String
    let thawed: String

    /// One group for each hierarchy that this user may change.
    static func writable() -> [ControlGroupFolder] {
        let name = "lockkeeper-test-\(UInt32.random(in: 0 ... .max))"
        return [
            ControlGroupFolder(
                path: "/sys/fs/cgroup/freezer/\(name)",
                switchName: "freezer.state",
                frozen: "FROZEN",
                thawed: "THAWED"
            ),
            ControlGroupFolder(
                path: "/sys/fs/cgroup/unified/\(name)",
                switchName: "cgroup.freeze",
                frozen: "1",
                thawed: "0"
            ),
            ControlGroupFolder(
                path: "/sys/fs/cgroup/\(name)",
                switchName: "cgroup.freeze",
                frozen: "1",
                thawed: "0"
            ),
        ].filter { group in
            guard mkdir(group.path, 0o755) == 0 else { return false }
            if access("\(group.path)/\(group.switchName)", W_OK) == 0 { return true }
            group.remove()
            return false
        }
    }

    func write(_ text: String, to name: String) throws {
        let file = try FileDescriptor(opening: "\(path)/\(name)", .writeOnly)
        try file.write(Array(text.utf8))
    }

    func remove() { rmdir(path) }
}

import Glibc
import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperTestSupport
import Testing

/// A membership of this process.
func makeMembership(
    _ directory: TemporaryDirectory,
    name: String = "test",
    role: ProcessRole = .helper
) throws -> LockFileMembership {
    try LockFileMembership(
        path: directory.file("account.locks"),
        process: ProcessDescription(
            identity: ProcessIdentity.current(),
            program: "tests",
            processName: name,
            role: role
        )
    )
}

extension LockFileMembership {
    /// Takes a lock that must be free.
    func take(_ lock: LockByte, _ mode: LockMode) throws -> LockGuard {
        guard let held = try tryAcquire(lock, mode) else {
            throw LockingError.busy(lock, holders: try holders(of: lock), waited: .zero)
        }
        return held
    }

    /// Whether a lock could be taken now.
    func canTake(_ lock: LockByte, _ mode: LockMode) throws -> Bool {
        guard let held = try tryAcquire(lock, mode) else { return false }
        held.release()
        return true
    }
}

/// A process of another program that follows the layout of the lock file: it takes a slot and a
/// lock, writes its record, and says when it has done so.
final class ForeignProcess: Sendable {
    let child: ChildProcess

    var pid: Int32 { child.pid }

    /// - Parameter bytes: What it locks, behind 2^30.
    init(_ directory: TemporaryDirectory, slot: Int = 200, bytes: [Int]) throws {
        let script = """
            import fcntl, os, struct, sys, time
            path, slot, locks = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            def lock(byte):
                fcntl.fcntl(file, 38, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, byte, 1, 0))
            stat = open("/proc/self/stat").read()
            start = int(stat[stat.rindex(")") + 1:].split()[19])
            boot = bytes.fromhex(
                open("/proc/sys/kernel/random/boot_id").read().strip().replace("-", ""))
            lock(2**30 + 4096 + slot)
            record = b"LKPR" + struct.pack("<iQ", os.getpid(), start) + boot
            record += struct.pack("<qBBBBI", time.monotonic_ns(), 4, 1, 6, 7, 0)
            record += b"python".ljust(96, b"\\0") + b"foreign".ljust(96, b"\\0") + bytes(16)
            assert len(record) == 256
            os.pwrite(file, record, 4096 + 256 * slot)
            for byte in locks:
                lock(2**30 + int(byte))
            os.write(1, b"ready\\n")
            time.sleep(60)
            """
        child = try ChildProcess(
            program: "python3",
            arguments: ["-c", script, directory.file("account.locks"), String(slot)]
                + bytes.map(String.init),
            output: .pipe
        )
        let output = child.takePipe(.output)
        var line = [UInt8](repeating: 0, count: 16)
        let count = try line.withUnsafeMutableBytes { try output.read(into: $0) }
        try #require(String(decoding: line[..<count], as: UTF8.self) == "ready\n")
    }

    /// A failed test leaves no process behind.
    deinit { try? kill() }

    func kill() throws {
        try child.signal(SIGKILL)
        try child.wait()
    }
}

/// Work that records what becomes of it.
final class RecordingWork: AdmittedWork {
    enum Event: Sendable, Equatable {
        case performed(Int)
        case finished(Int, othersWait: Bool)
        case failed(Int, LockingError)
    }

    let number: Int
    let journal: Monitor<[Event]>
    let body: @Sendable () -> Void

    init(_ number: Int, _ journal: Monitor<[Event]>, body: @escaping @Sendable () -> Void = {}) {
        self.number = number
        self.journal = journal
        self.body = body
    }

    func perform(waited: Duration) {
        #expect(waited >= .zero)
        journal.withLock { $0.append(.performed(number)) }
        journal.broadcast()
        body()
    }

    func finish(before following: Following) {
        journal.withLock { $0.append(.finished(number, othersWait: following != .nobody)) }
        journal.broadcast()
    }

    func fail(_ error: LockingError) {
        journal.withLock { $0.append(.failed(number, error)) }
        journal.broadcast()
    }
}

extension Monitor<[RecordingWork.Event]> {
    /// Waits until the journal has so many entries, and returns them; fewer when that takes too
    /// long.
    func entries(_ count: Int) -> [RecordingWork.Event] {
        wait(until: patience()) { $0.count >= count ? $0 : nil } ?? withLock { $0 }
    }

    var performed: [Int] {
        withLock { events in
            events.compactMap { if case .performed(let number) = $0 { number } else { nil } }
        }
    }
}

/// The test tool `lockkeeper-lock-tool` as a process of its own: what the room does between
/// processes of ours.
final class LockTool: Sendable {
    let child: ChildProcess
    private let input: FileDescriptor
    private let output: FileDescriptor

    var pid: Int32 { child.pid }

    /// - Parameter mode: What it does; see the tool.
    init(_ directory: TemporaryDirectory, _ mode: String) throws {
        // The package manager puts every executable into one folder.
        let own = try FileSystem.canonicalPath("/proc/self/exe")
        child = try ChildProcess(
            program: "\(FileSystem.directory(of: own))/lockkeeper-lock-tool",
            arguments: [directory.file("account.locks"), mode],
            input: .pipe,
            output: .pipe
        )
        input = child.takePipe(.input)
        output = child.takePipe(.output)
    }

    /// A failed test leaves no process behind.
    deinit { try? kill() }

    /// Lets it go on.
    func say() throws { try input.write([UInt8(ascii: "\n")]) }

    /// The next line that it writes; what there is of one where it has ended.
    func hear() throws -> String {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while try withUnsafeMutableBytes(of: &byte, { try output.read(into: $0) }) == 1 {
            if byte == UInt8(ascii: "\n") { break }
            line.append(byte)
        }
        return String(decoding: line, as: UTF8.self)
    }

    /// Stops it, and waits until each of its threads is: the process counts as stopped when the
    /// first one is, and another may still be granted a lock.
    func stop() throws {
        try child.signal(SIGSTOP)
        let isStopped = try eventually {
            try FileSystem.list("/proc/\(pid)/task").allSatisfy { thread in
                let line = try FileSystem.contents(of: "/proc/\(pid)/task/\(thread)/stat")
                let state = line.lastIndex(of: UInt8(ascii: ")")).map { line[$0 + 2] }
                return state == UInt8(ascii: "T")
            }
        }
        #expect(isStopped)
    }

    func proceed() throws { try child.signal(SIGCONT) }

    func kill() throws {
        try child.signal(SIGKILL)
        try child.wait()
    }
}

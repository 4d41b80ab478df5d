import CLockkeeperPlatform
import Glibc
import LockkeeperPlatform
import LockkeeperTestSupport
import Synchronization
import Testing

/// Locks on bytes of a file, between descriptions and between processes (I-12).
@Suite
struct LockDescriptorTests {
    @Test("Two descriptions of one process exclude each other")
    func descriptionsExclude() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("locks")
        let one = try LockDescriptor(opening: path)
        let other = try LockDescriptor(opening: path)
        #expect(try one.tryLock(5, .exclusive))
        #expect(try !other.tryLock(5, .exclusive))
        #expect(try !other.tryLock(5, .shared))
        #expect(try other.tryLock(6, .exclusive))
        #expect(try other.isHeldElsewhere(5))
        #expect(try !one.isHeldElsewhere(5))
        try one.unlock(5)
        #expect(try other.tryLock(5, .shared))
        #expect(try one.tryLock(5, .shared))
        #expect(try one.isHeldElsewhere(5, against: .exclusive))
        #expect(try !one.isHeldElsewhere(5, against: .shared))
        #expect(try FileSystem.status(path)?.mode == 0o600)
    }

    @Test("Closing another descriptor of the file cancels no lock")
    func closingElsewhereKeepsLock() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("locks")
        let holder = try LockDescriptor(opening: path)
        #expect(try holder.tryLock(1, .exclusive))
        // With POSIX record locks this is where the lock would be lost.
        do { _ = try FileDescriptor(opening: path, .readWrite) }
        let other = try LockDescriptor(opening: path)
        #expect(try !other.tryLock(1, .exclusive))
    }

    @Test("A symbolic link is not followed")
    func linkIsRefused() throws {
        let directory = try TemporaryDirectory()
        try FileSystem.replaceFile(at: directory.file("target"), with: [])
        try #require(symlink(directory.file("target"), directory.file("locks")) == 0)
        let error = #expect(throws: SystemCallError.self) {
            _ = try LockDescriptor(opening: directory.file("locks"))
        }
        #expect(error?.errno == .symbolicLink)
    }

    @Test("What a truncated file lacks reads as zeros")
    func truncatedReadsZeros() throws {
        let directory = try TemporaryDirectory()
        let locks = try LockDescriptor(opening: directory.file("locks"))
        try locks.write(bytes("abcd"), at: 0)
        #expect(try locks.read(count: 6, at: 2) == bytes("cd") + [0, 0, 0, 0])
        var buffer: [UInt8] = [9, 9, 9]
        try buffer.withUnsafeMutableBytes { try locks.read(into: $0, at: 3) }
        #expect(buffer == bytes("d") + [0, 0])
    }

    // B34
    @Test("A file that was replaced behind the descriptor is noticed")
    func replacedFileIsNoticed() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("locks")
        let locks = try LockDescriptor(opening: path)
        #expect(try locks.isStill(at: path))
        try FileSystem.remove(path)
        #expect(try !locks.isStill(at: path))
        let newcomer = try LockDescriptor(opening: path)
        #expect(try !locks.isStill(at: path))
        #expect(newcomer.identity != locks.identity)
    }

    @Test("A waiter is granted the lock when its holder is killed")
    func lockDiesWithItsProcess() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("locks")
        try await onOwnThread {
            let holder = try ForeignHolder(path: path, byte: 3)
            let locks = try LockDescriptor(opening: path)
            #expect(try !locks.tryLock(3, .exclusive))
            let isDead = Atomic<Bool>(false)
            let waiter = try WorkerThread.start(name: "waiter") {
                let own = try? LockDescriptor(opening: path)
                try? own?.lock(3, .exclusive)
                let wasDead = isDead.load(ordering: .acquiring)
                #expect(wasDead)
            }
            isDead.store(true, ordering: .releasing)
            try holder.child.signal(SIGKILL)
            waiter.join()
            #expect(try holder.child.wait() == .signalled(SIGKILL))
        }
    }

    @Test("A wait for a lock ends when it is abandoned and its thread interrupted, and not before")
    func abandonedWait() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("locks")
        try await onOwnThread { try abandonWait(path: path) }
    }

    @Test("A program's own handler of the signal is left alone, and waits end all the same")
    func abandonedWaitBesideHandler() async {
        await #expect(processExitsWith: .success) {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { _ in _exit(3) }
            sigaction(SIGURG, &action, nil)
            let directory = try TemporaryDirectory()
            try abandonWait(path: directory.file("locks"))
        }
    }

    @Test("A wait that is interrupted but not abandoned goes on to its grant")
    func interruptedWait() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("locks")
        try await onOwnThread {
            let holder = try LockDescriptor(opening: path)
            #expect(try holder.tryLock(3, .exclusive))
            let lookCount = Atomic<Int>(0)
            let isGranted = Atomic<Bool>(false)
            let waiter = try WorkerThread.start(name: "waiter", isInterruptible: true) {
                let own = try? LockDescriptor(opening: path)
                let result = try? own?.lock(3, .exclusive) {
                    lookCount.add(1, ordering: .relaxed)
                    return false
                }
                isGranted.store(result == true, ordering: .releasing)
            }
            #expect(
                try eventually {
                    waiter.interrupt()
                    return lookCount.load(ordering: .relaxed) > 3
                }
            )
            try holder.unlock(3)
            waiter.join()
            let wasGranted = isGranted.load(ordering: .acquiring)
            #expect(wasGranted)
            #expect(!waiter.interrupt(), "it was joined")
        }
    }

    @Test("A child forked without the handler keeps the lock of its dead parent")
    func hazardOfFork() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("locks")
        try await onOwnThread {
            let holder = try ForeignHolder(path: path, byte: 3, forks: true)
            try holder.child.signal(SIGKILL)
            try holder.child.wait()
            let locks = try LockDescriptor(opening: path)
            #expect(try !locks.tryLock(3, .exclusive), "this is why there is a handler")
            kill(holder.grandchild, SIGKILL)
            try locks.lock(3, .exclusive)
        }
    }

    @Test("A forked child keeps no lock of this process, and its mark is another one")
    func forkHandlerCloses() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("locks")
        let other = try LockDescriptor(opening: path)
        let mark = ForkMark.current
        let child: Int32
        do {
            let holder = try LockDescriptor(opening: path)
            #expect(try holder.tryLock(4, .exclusive))
            child = lk_fork_sleeping_child()
            try #require(child > 0)
            // The parent's own lock is not touched by the child's handler.
            #expect(try !other.tryLock(4, .exclusive))
        }
        defer {
            kill(child, SIGKILL)
            waitpid(child, nil, 0)
        }
        // The parent has closed the description, and the child lives: were it open there, this
        // would be refused. The child's handler has run once its descriptor is gone.
        #expect(try eventually { try other.tryLock(4, .exclusive) })
        #expect(mark.isCurrent)
        #expect(try FileSystem.status("/proc/\(child)") != nil)
    }

    @Test("The table of lock descriptors is bounded, and closing makes room")
    func tableIsBounded() async {
        await #expect(processExitsWith: .success) {
            let count = rlim_t(LK_LOCK_DESCRIPTOR_COUNT_MAX) + 1024
            var limit = rlimit(rlim_cur: count, rlim_max: count)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let directory = try TemporaryDirectory()
            let path = directory.file("locks")
            final class Box: Sendable {
                let locks: LockDescriptor
                init(_ path: String) throws { locks = try LockDescriptor(opening: path) }
            }
            var boxes: [Box] = []
            for _ in 0..<Int(LK_LOCK_DESCRIPTOR_COUNT_MAX) { boxes.append(try Box(path)) }
            let error = #expect(throws: SystemCallError.self) { _ = try Box(path) }
            precondition(error?.errno == .tooManyOpenFiles)
            boxes.removeLast()
            _ = try Box(path)
        }
    }
}

/// A process of another program that locks a byte in the same way, and says when it has it.
final class ForeignHolder: Sendable {
    let child: ChildProcess
    /// The child that it forked, which lives on when it is killed.
    let grandchild: Int32

    init(path: String, byte: Int, forks: Bool = false) throws {
        let script = """
            import fcntl, os, struct, sys, time
            file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
            # F_OFD_SETLKW with a struct flock: type, whence, start, length, pid.
            fcntl.fcntl(file, 38, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, int(sys.argv[2]), 1, 0))
            child = 0
            if sys.argv[3] == "fork":
                child = os.fork()
                if child == 0:
                    time.sleep(60)
                    os._exit(0)
            os.write(1, b"%d\\n" % child)
            time.sleep(60)
            """
        child = try ChildProcess(
            program: "python3",
            arguments: ["-c", script, path, String(byte), forks ? "fork" : "no"],
            output: .pipe
        )
        let output = child.takePipe(.output)
        var line = [UInt8](repeating: 0, count: 32)
        let count = try line.withUnsafeMutableBytes { try output.read(into: $0) }
        let text = String(decoding: line[..<count], as: UTF8.self)
        grandchild = try #require(Int32(text.prefix { $0.isNumber }))
    }
}

/// Lets a thread wait for a lock that nobody releases, and calls it out of the wait.
private func abandonWait(path: String) throws {
    let holder = try LockDescriptor(opening: path)
    let isHeld = try holder.tryLock(3, .exclusive)
    precondition(isHeld)
    let isAbandoned = Atomic<Bool>(false)
    let isOver = Monitor<Bool?>(nil)
    let waiter = try WorkerThread.start(name: "waiter", isInterruptible: true) {
        let own = try? LockDescriptor(opening: path)
        let result = try? own?.lock(3, .exclusive) { isAbandoned.load(ordering: .acquiring) }
        isOver.withLock { $0 = result }
        isOver.broadcast()
    }
    isAbandoned.store(true, ordering: .releasing)
    // An interruption that comes before the thread is in the kernel is lost.
    let isAnswered = try eventually {
        precondition(waiter.interrupt())
        return isOver.withLock { $0 } != nil
    }
    precondition(isAnswered && isOver.withLock { $0 } == false)
    waiter.join()
}

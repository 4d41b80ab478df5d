import CLockkeeperPlatform
import Glibc
import Synchronization

/// How a process ended.
package enum ExitStatus: Sendable, Hashable {
    /// It returned from `main` or called `exit`.
    case exited(Int32)
    /// A signal killed it.
    case signalled(Int32)

    /// How the process ended, as the end of a sentence.
    package var sentence: String {
        switch self {
        case .exited(let code): "exited with code \(code)"
        case .signalled(let number): "was ended by signal \(number)"
        }
    }
}

/// A program that was started from here. It inherits three standard streams, a lock where it is given
/// one, and nothing else that this package has open, and starts with no signal blocked or ignored.
///
/// It is neither killed nor reaped when this object goes away: whoever starts one waits for it.
package final class ChildProcess: Sendable {
    /// The process id; the child's until ``wait()`` has returned.
    package let pid: Int32
    private let ownsGroup: Bool
    private let ends: Mutex<PipeEnds>
    private let exitStatus = Mutex<ExitStatus?>(nil)

    /// Where a standard stream of the child leads.
    package enum Stream: Sendable, Hashable {
        /// To where this process's own leads.
        case inherited
        /// To `/dev/null`.
        case null
        /// To this process; see ``ChildProcess/takePipe(_:)``.
        case pipe
        /// To a file: read as standard input, made or emptied and written otherwise.
        case file(String)
    }

    /// The three standard streams, by their descriptors' numbers.
    package enum StandardStream: Int32, Sendable, CaseIterable {
        case input = 0
        case output = 1
        case error = 2
    }

    private struct PipeEnds: Sendable {
        /// This process's ends by stream; -1 where there is none or it was taken.
        var raw: [Int32] = [-1, -1, -1]
    }

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - program: A path, or a name that is looked up in `PATH`.
    ///   - arguments: Without the program's own name.
    ///   - environment: Variables set or replaced in what this process has.
    ///   - ownsGroup: Whether it leads a process group of its own, so that what it starts can be ended
    ///     with it: ``signalGroup(_:)``.
    ///   - inheritance: A lock's description that the child gets as its descriptor 3: the lock is
    ///     held until the child has ended too, with everything that it started and gave it on to.
    /// - Throws: ``SystemCallError`` when a pipe cannot be made or the program cannot be started.
    package init(
        program: String,
        arguments: [String] = [],
        environment: [String: String] = [:],
        input: Stream = .null,
        output: Stream = .inherited,
        error: Stream = .inherited,
        ownsGroup: Bool = false,
        inheriting inheritance: LockDescriptor.Inheritance? = nil
    ) throws(SystemCallError) {
        var spawn = Spawn()
        defer { spawn.destroy() }
        for (standard, stream) in zip(StandardStream.allCases, [input, output, error]) {
            try spawn.connect(standard, to: stream)
        }
        if let inheritance { spawn.hand(inheritance) }
        if ownsGroup { spawn.separate() }
        self.ownsGroup = ownsGroup
        pid = try spawn.run(program, arguments, environment)
        ends = Mutex(PipeEnds(raw: spawn.takeOwnEnds()))
    }

    deinit {
        for raw in ends.withLock({ $0.raw }) where raw >= 0 { _ = close(raw) }
    }

    /// Hands over this process's end of a stream that is a pipe; once.
    package func takePipe(_ stream: StandardStream) -> FileDescriptor {
        let raw = ends.withLock { ends in
            let raw = ends.raw[Int(stream.rawValue)]
            ends.raw[Int(stream.rawValue)] = -1
            return raw
        }
        precondition(raw >= 0, "the stream is no pipe, or its end was taken before")
        return FileDescriptor(owning: raw)
    }

    /// Sends a signal; does nothing once the child was waited for, because its pid may be another
    /// process's by then.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package func signal(_ number: Int32) throws(SystemCallError) {
        try exitStatus.withLock { (status) throws(SystemCallError) in
            if status != nil { return }
            _ = try system(.kill) { kill(pid, number) }
        }
    }

    /// Sends a signal to the child and to what it has started, as far as that has not left the child's
    /// group; does nothing once the child was waited for.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package func signalGroup(_ number: Int32) throws(SystemCallError) {
        precondition(ownsGroup, "the child has no group of its own")
        try exitStatus.withLock { (status) throws(SystemCallError) in
            if status != nil { return }
            _ = try system(.kill) { kill(-pid, number) }
        }
    }

    /// Waits until the child has ended. Blocks the thread.
    ///
    /// - Throws: ``SystemCallError`` when somebody else has waited for it.
    @discardableResult
    package func wait() throws(SystemCallError) -> ExitStatus {
        if let status = exitStatus.withLock({ $0 }) { return status }
        // First without reaping and without the lock, so that signals can be sent meanwhile.
        var information = siginfo_t()
        _ = try system(.waitid) { waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) }
        return try exitStatus.withLock { (known) throws(SystemCallError) -> ExitStatus in
            if let known { return known }
            var raw: Int32 = 0
            _ = try system(.waitid) { waitpid(pid, &raw, 0) }
            let signal = lk_wait_signal(raw)
            let status: ExitStatus =
                signal >= 0 ? .signalled(signal) : .exited(lk_wait_exit_code(raw))
            known = status
            return status
        }
    }
}

/// The arguments of one `posix_spawn`.
private struct Spawn {
    private var actions = posix_spawn_file_actions_t()
    private var attributes = posix_spawnattr_t()
    private var ownEnds: [Int32] = [-1, -1, -1]
    private var childEnds: [Int32] = []

    init() {
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF)
        )
    }

    /// The child leads a process group of its own.
    mutating func separate() {
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP)
        )
    }

    mutating func connect(
        _ standard: ChildProcess.StandardStream,
        to stream: ChildProcess.Stream
    ) throws(SystemCallError) {
        let number = standard.rawValue
        let flags = standard == .input ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC
        switch stream {
        case .inherited: break
        case .null:
            posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
        case .file(let path):
            posix_spawn_file_actions_addopen(&actions, number, path, flags, 0o600)
        case .pipe:
            var pair: [Int32] = [-1, -1]
            _ = try system(.pipe) { lk_pipe2(&pair, O_CLOEXEC) }
            let (child, own) = standard == .input ? (pair[0], pair[1]) : (pair[1], pair[0])
            childEnds.append(child)
            ownEnds[Int(number)] = own
            posix_spawn_file_actions_adddup2(&actions, child, number)
        }
    }

    /// Gives the child a lock's description as descriptor 3. The last action, so that no pipe's end
    /// that may have this number is lost before it was put in its place.
    mutating func hand(_ inheritance: LockDescriptor.Inheritance) {
        posix_spawn_file_actions_adddup2(&actions, inheritance.raw, 3)
    }

    mutating func run(
        _ program: String,
        _ arguments: [String],
        _ environment: [String: String]
    ) throws(SystemCallError) -> pid_t {
        if let errno = SystemFault.fault(for: .posixSpawn, path: { program }) {
            throw SystemCallError(call: .posixSpawn, errno: errno, path: program)
        }
        let inherited = Environment.all.filter { line in
            !environment.keys.contains { line.hasPrefix("\($0)=") }
        }
        let lines = inherited + environment.map { "\($0.key)=\($0.value)" }
        var pid: pid_t = 0
        let result = withCStrings([program] + arguments) { argv in
            withCStrings(lines) { envp in
                posix_spawnp(&pid, program, &actions, &attributes, argv, envp)
            }
        }
        guard result == 0 else {
            throw SystemCallError(
                call: .posixSpawn,
                errno: Errno(rawValue: result),
                path: program
            )
        }
        return pid
    }

    mutating func takeOwnEnds() -> [Int32] {
        defer { ownEnds = [-1, -1, -1] }
        return ownEnds
    }

    mutating func destroy() {
        posix_spawn_file_actions_destroy(&actions)
        posix_spawnattr_destroy(&attributes)
        for raw in childEnds + ownEnds where raw >= 0 { _ = close(raw) }
    }
}

/// Lends strings as a list that ends with a null pointer, as exec wants it.
private func withCStrings<Result>(
    _ strings: [String],
    _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
    let pointers = strings.map { strdup($0) }
    defer { for pointer in pointers { free(pointer) } }
    let list = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(
        capacity: pointers.count + 1
    )
    defer { list.deallocate() }
    for (index, pointer) in pointers.enumerated() {
        (list + index).initialize(to: pointer)
    }
    (list + pointers.count).initialize(to: nil)
    return body(list)
}

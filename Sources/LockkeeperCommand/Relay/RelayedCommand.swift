import LockkeeperDomain
import LockkeeperPlatform
import Synchronization

/// A program of the user's that acts on one claimed thing: it is told by a line on its standard input,
/// and answers with a line on its standard output.
///
/// It inherits the claim as descriptor 3, so that the claim is held as long as the program lives,
/// though this process is killed meanwhile. It leads a process group of its own, which is asked to
/// end when its time is up; a moment later the group is killed. Where this process is asked to end,
/// the program first has a while to finish: ended in the middle, it would leave an outcome that
/// nobody knows.
///
/// Lock rule: the monitor guards the child and how it ended; nothing is waited for under it but that.
final class RelayedCommand: Sendable {
    /// What it came to.
    struct Result: Sendable {
        /// Its first line; `nil` where it printed none.
        let answer: [UInt8]?
        /// How it ended.
        let status: ExitStatus
        /// Whether it was ended because its time was up.
        let wasTooSlow: Bool
    }

    private struct State: Sendable {
        var child: ChildProcess?
        var hasEnded = false
        var wasTooSlow = false
        var ending = Ending.none
    }

    /// How the program is to end.
    private enum Ending {
        /// By itself.
        case none
        /// By itself, within the while that it is given, because this process was asked to end.
        case soon
        /// At once.
        case now
    }

    private let words: [String]
    private let timeout: Duration
    private let grace: Duration
    private let state = Monitor(State())

    /// More than an answer ever has; what comes behind it is not read.
    private static let answerByteCountMax = 64 * 1024
    /// How long a program has to end by itself once it was asked to.
    private static let endingMax = Duration.seconds(2)

    /// A program that is not started yet.
    ///
    /// - Parameters:
    ///   - words: its path or name, and its arguments.
    ///   - timeout: how long it may take for one thing.
    ///   - grace: how long it may go on when this process is asked to end.
    init(_ words: [String], timeout: Duration, grace: Duration) {
        self.words = words
        self.timeout = timeout
        self.grace = grace
    }

    /// Starts the program, tells it, and waits until it has ended. Blocks the calling thread.
    ///
    /// - Throws: ``CommandError`` where it cannot be started.
    func run(
        telling line: [UInt8],
        inheriting inheritance: (
            (LockDescriptor.Inheritance?) throws -> ChildProcess
        ) throws -> ChildProcess
    ) throws -> Result {
        let child = try inheritance(start)
        state.withLock { $0.child = child }
        let watchdog = try? WorkerThread.start(name: "lk-relay-clock") { [self] in watch(child) }
        let output = child.takePipe(.output)
        let hasExited = try WakeEvent()
        let waiter = try? WorkerThread.start(name: "lk-relay-wait") {
            _ = try? child.wait()
            hasExited.signal()
        }
        tell(child.takePipe(.input), line)
        let answer = read(output, until: hasExited)
        waiter?.join()
        let status = try child.wait()
        let wasTooSlow = state.withLock { state in
            state.hasEnded = true
            return state.wasTooSlow
        }
        state.broadcast()
        watchdog?.join()
        return Result(answer: answer, status: status, wasTooSlow: wasTooSlow)
    }

    /// This process was asked to end: the program, also one that is about to be started, has a
    /// while to finish. Asked once more, it has none.
    func interrupt() {
        state.withLock { state in state.ending = state.ending == .none ? .soon : .now }
        state.broadcast()
    }

    private func start(_ inheritance: LockDescriptor.Inheritance?) throws -> ChildProcess {
        do throws(SystemCallError) {
            return try ChildProcess(
                program: words[0],
                arguments: Array(words.dropFirst()),
                input: .pipe,
                output: .pipe,
                ownsGroup: true,
                inheriting: inheritance
            )
        } catch {
            throw CommandError(
                "no-program",
                .unavailable,
                "\(terminalText(words[0])) cannot be started: \(error). Nothing was told to anybody."
            )
        }
    }

    /// Writes the line. A program that does not read it ends it by ending.
    private func tell(_ input: consuming FileDescriptor, _ line: [UInt8]) {
        try? input.write(line)
    }

    /// Reads the first line of the output. What the program has started may keep the pipe open for
    /// longer: the program's end is the end of its answer.
    private func read(
        _ output: borrowing FileDescriptor,
        until hasExited: WakeEvent
    ) -> [UInt8]? {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
        defer { buffer.deallocate() }
        var bytes: [UInt8] = []
        var isLast = false
        while bytes.count < Self.answerByteCountMax {
            var poll = Poll()
            let pipe = poll.add(output.raw, .readable)
            let exit = poll.add(hasExited.raw, .readable)
            let now = Deadline(at: SystemClock().now())
            guard (try? poll.wait(until: isLast ? now : .never)) != nil else { break }
            if !poll.ready(at: pipe).isEmpty {
                guard let count = try? output.read(into: buffer), count > 0 else { break }
                bytes += buffer[..<count]
                if bytes.contains(UInt8(ascii: "\n")) { break }
            } else if isLast {
                break
            }
            if !poll.ready(at: exit).isEmpty { isLast = true }
        }
        let line = bytes.prefix { $0 != UInt8(ascii: "\n") }
        return line.isEmpty ? nil : Array(line)
    }

    private func watch(_ child: ChildProcess) {
        func deadline(after wait: Duration) -> Deadline {
            Deadline(after: wait, from: SystemClock().now())
        }
        let start = SystemClock().now()
        /// Waits until the program has ended, or the closure says that it is to end otherwise.
        func ends(within wait: Duration, unless isAsked: @escaping (Ending) -> Bool) -> Bool? {
            state.wait(until: deadline(after: wait)) { state -> Bool? in
                state.hasEnded ? true : isAsked(state.ending) ? false : nil
            }
        }
        var hasEnded = ends(within: timeout) { $0 != .none }
        if hasEnded == false {
            let left = timeout - SystemClock().now().duration(since: start)
            hasEnded = ends(within: min(grace, left)) { $0 == .now } ?? false
        }
        if hasEnded == true { return }
        if hasEnded == nil { state.withLock { $0.wasTooSlow = true } }
        try? child.signalGroup(Signal.terminate.rawValue)
        let follows = state.wait(until: deadline(after: Self.endingMax)) {
            $0.hasEnded ? true : nil
        }
        if follows == nil { try? child.signalGroup(Signal.kill.rawValue) }
    }
}

package import LockkeeperDomain
package import LockkeeperPlatform

/// A child process of a run: its input is fed, its output is read, and it can be killed, stopped
/// and awaited. Each stream has a thread of its own, so that no child ever waits for another one.
///
/// Lock rule: the two monitors are never held together, and no callback is called under either.
package final class ManagedProcess: Sendable {
    /// Its name in reports.
    package let name: String
    private let child: ChildProcess
    private let input = Monitor(Input())
    private let outcome = Monitor(Outcome())

    /// What happened to the process, as its observer is told, in this order and from one thread.
    package enum Occurrence: Sendable {
        /// It printed a line, without its end.
        case line([UInt8])
        /// It printed its last line and ended.
        case ended(ExitStatus)
    }

    private struct Input: Sendable {
        var chunks: [Chunk] = []
        var writtenLineCount = 0
        var isClosed = false
        // The process reads no more.
        var isBroken = false
    }

    private struct Chunk: Sendable {
        let bytes: [UInt8]
        let lineCount: Int
    }

    private struct Outcome: Sendable {
        var status: ExitStatus?
        var lastErrors: [String] = []
    }

    private let keptErrorCount: Int

    /// Starts a process.
    ///
    /// - Parameters:
    ///   - environment: variables set or replaced in what this process has.
    ///   - keptErrorCount: how many of the lines on its error stream are kept: the last ones.
    ///   - observe: told of what it prints and of its end. It may block, and the process then waits
    ///     when its pipe is full.
    /// - Throws: ``SystemCallError`` when it cannot be started.
    package init(
        name: String,
        program: String,
        arguments: [String],
        environment: [String: String] = [:],
        keptErrorCount: Int = 8,
        observe: @escaping @Sendable (Occurrence) -> Void
    ) throws(SystemCallError) {
        self.name = name
        self.keptErrorCount = keptErrorCount
        child = try ChildProcess(
            program: program,
            arguments: arguments,
            environment: environment,
            input: .pipe,
            output: .pipe,
            error: .pipe
        )
        let input = PipeEnd(child.takePipe(.input))
        let output = PipeEnd(child.takePipe(.output))
        let error = PipeEnd(child.takePipe(.error))
        _ = try WorkerThread.start(name: "sim-input") { [self] in feed(input) }
        let errorReader = try WorkerThread.start(name: "sim-error") { [self] in readErrors(error) }
        _ = try WorkerThread.start(name: "sim-output") { [self] in
            output.readLines { observe(.line($0)) }
            // What it said is complete before anybody is told that it has ended.
            errorReader.join()
            end(observe)
        }
    }

    /// The process id.
    package var pid: Int32 { child.pid }

    /// How many lines of input were written to the process.
    package var writtenLineCount: Int { input.withLock { $0.writtenLineCount } }

    /// What it said last on its error stream.
    package var lastErrors: [String] { outcome.withLock { $0.lastErrors } }

    /// Puts lines in line for the process's input. Never waits; lines that the process did not take
    /// before its end are gone.
    package func send(_ lines: [UInt8], lineCount: Int) {
        input.withLock { $0.chunks.append(Chunk(bytes: lines, lineCount: lineCount)) }
        input.signal()
    }

    /// Ends the process's input behind what was sent.
    package func closeInput() {
        input.withLock { $0.isClosed = true }
        input.signal()
    }

    /// Sends a signal.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package func signal(_ signal: Signal) throws(SystemCallError) {
        try child.signal(signal.rawValue)
    }

    /// Waits until the process has ended; `nil` at the deadline. Blocks the thread.
    package func wait(until deadline: Deadline) -> ExitStatus? {
        outcome.wait(until: deadline) { $0.status }
    }

    private func feed(_ pipe: PipeEnd) {
        while true {
            let next = input.wait(until: .never) { input -> [Chunk]? in
                if input.chunks.isEmpty { return input.isClosed || input.isBroken ? [] : nil }
                defer { input.chunks = [] }
                return input.chunks
            }
            guard let next, !next.isEmpty else { return }
            for chunk in next {
                guard pipe.write(chunk.bytes) else {
                    input.withLock { input in
                        input.isBroken = true
                        input.chunks = []
                    }
                    return
                }
                input.withLock { $0.writtenLineCount += chunk.lineCount }
            }
        }
    }

    private func readErrors(_ pipe: PipeEnd) {
        pipe.readLines { line in
            outcome.withLock { outcome in
                outcome.lastErrors.append(String(decoding: line, as: UTF8.self))
                if outcome.lastErrors.count > keptErrorCount {
                    outcome.lastErrors.removeFirst()
                }
            }
        }
    }

    /// Waits for the process, and tells its observer before those who wait for its end: whoever
    /// starts another life must not be told of this one afterwards.
    private func end(_ observe: (Occurrence) -> Void) {
        let status: ExitStatus
        do {
            status = try child.wait()
        } catch {
            preconditionFailure("a child of ours is waited for by nobody else: \(error)")
        }
        input.withLock { $0.isClosed = true }
        input.signal()
        observe(.ended(status))
        outcome.withLock { $0.status = status }
        outcome.broadcast()
    }
}

/// This process's end of a child's stream. It is closed when the thread that uses it ends.
private final class PipeEnd: Sendable {
    private let descriptor: FileDescriptor

    init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

    /// Writes everything; `false` when nobody reads any more.
    func write(_ bytes: [UInt8]) -> Bool {
        do {
            try descriptor.write(bytes)
            return true
        } catch {
            return false
        }
    }

    /// Reads lines until the other end is closed.
    func readLines(_ take: ([UInt8]) -> Void) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
        defer { buffer.deallocate() }
        var rest: [UInt8] = []
        // A pipe of ours that cannot be read has ended, whatever the reason.
        while let count = try? descriptor.read(into: buffer), count > 0 {
            for byte in buffer[..<count] {
                if byte == UInt8(ascii: "\n") {
                    take(rest)
                    rest.removeAll(keepingCapacity: true)
                } else {
                    rest.append(byte)
                }
            }
        }
        if !rest.isEmpty { take(rest) }
    }
}

import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSystemd
import Synchronization

/// The program's standard output and error.
///
/// Results go to the output, everything else to the error stream. Nothing is buffered here: a line
/// is with its reader as soon as it was written, and a reader that is slow makes the writer wait,
/// which is the backpressure that a pipe is for. Whoever writes is a thread that may wait: the
/// command's own, or one of a session's after its transaction.
///
/// Lock rule: the mutex is held while a line is written, so that lines of two threads do not mix.
/// Nothing else is taken inside it.
final class Console: Sendable {
    private let output: Mutex<Output>
    private let errors = Mutex<Stream>(Stream(descriptor: FileDescriptor(owning: 2)))

    /// The output, and why it takes no more.
    private struct Output: ~Copyable, Sendable {
        let descriptor: FileDescriptor
        var failure: SystemCallError?
    }

    private struct Stream: ~Copyable, Sendable {
        let descriptor: FileDescriptor
        /// Whether a line stands there that the next one replaces.
        var isShowing = false
    }

    /// The console of this process. It lives as long as the process: it owns descriptors 1 and 2.
    init() { output = Mutex(Output(descriptor: FileDescriptor(owning: 1), failure: nil)) }

    /// Whether the output failed: its reader has gone, or its disk is full.
    var outputFailure: SystemCallError? { output.withLock { $0.failure } }

    /// Writes bytes to the output: whole lines.
    ///
    /// - Throws: ``SystemCallError`` when they cannot be written; `EPIPE` when nobody reads.
    func write(_ bytes: [UInt8]) throws(SystemCallError) {
        try output.withLock { (output: inout Output) throws(SystemCallError) in
            if let failure = output.failure { throw failure }
            do throws(SystemCallError) {
                try output.descriptor.write(bytes)
            } catch {
                output.failure = error
                throw error
            }
        }
    }

    /// Writes a line for people to the output.
    ///
    /// - Throws: ``SystemCallError`` when it cannot be written.
    func print(_ line: String) throws(SystemCallError) { try write(Array((line + "\n").utf8)) }

    /// Writes one JSON value as a line to the output.
    ///
    /// - Throws: ``SystemCallError`` when it cannot be written.
    func print(json body: (inout JSONWriter) -> Void) throws(SystemCallError) {
        var writer = JSONWriter()
        body(&writer)
        writer.endLine()
        try write(writer.bytes)
    }

    /// Writes a line to the error stream. Where even that fails there is nobody left to tell.
    func note(_ line: String) { note(bytes: Array((line + "\n").utf8)) }

    /// Says something to whoever operates the program: an entry of the journal with fields, where the
    /// service manager leads the error stream there; a line of it otherwise.
    func log(
        _ message: String,
        _ priority: Journal.Priority = .info,
        _ fields: [Journal.Field] = []
    ) {
        if Journal.isStandardError, Journal.send(message, priority, fields) { return }
        note("lockkeeper: \(message)")
    }

    /// Writes one JSON value as a line to the error stream.
    func note(json body: (inout JSONWriter) -> Void) {
        var writer = JSONWriter()
        body(&writer)
        writer.endLine()
        note(bytes: writer.bytes)
    }

    /// Whether a terminal shows the output.
    var isOutputShown: Bool { output.withLock { $0.descriptor.isTerminal } }

    /// Whether a terminal shows the error stream.
    var isErrorStreamShown: Bool { errors.withLock { $0.descriptor.isTerminal } }

    /// Shows a line that whatever comes next replaces, on a terminal; `nil` takes it away.
    func show(_ line: String?) {
        let bytes = Array((line ?? "").utf8)
        errors.withLock { stream in
            _ = Result { try stream.descriptor.write(Self.lineStart + bytes) }
            stream.isShowing = line != nil
        }
    }

    /// Goes back to the beginning of a terminal's line and empties it.
    private static let lineStart = Array("\r\u{1b}[K".utf8)

    private func note(bytes: [UInt8]) {
        errors.withLock { stream in
            let start = stream.isShowing ? Self.lineStart : []
            stream.isShowing = false
            _ = Result { try stream.descriptor.write(start + bytes) }
        }
    }
}

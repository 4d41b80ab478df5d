import LockkeeperDomain
import LockkeeperPlatform
import Synchronization

/// Says on the error stream how far long work is: a bar on a terminal, lines elsewhere.
///
/// Lock rule: the mutex guards the state alone and is let go before anything is shown.
final class ProgressMeter: Sendable {
    private let console: Console
    private let what: String
    private let unit: String
    private let isTerminal: Bool
    private let isJSON: Bool
    private let clock = SystemClock()
    private let state: Mutex<ProgressState>

    /// Work that begins now.
    ///
    /// - Parameters:
    ///   - what: what is done: "backup".
    ///   - unit: what is counted: "pages".
    init(_ context: CommandContext, _ what: String, unit: String) {
        console = context.console
        isJSON = context.options.isJSON
        self.what = what
        self.unit = unit
        isTerminal = context.console.isErrorStreamShown && !isJSON
        state = Mutex(ProgressState(for: isTerminal ? .terminal : .log, at: clock.now()))
    }

    /// Notes how far it is. Called on any thread.
    func show(done: Int, of count: Int?) {
        let step = ProgressState.Step(what: what, done: done, count: count, unit: unit)
        let now = clock.now()
        guard let line = state.withLock({ $0.take(step, at: now) }) else { return }
        if isTerminal {
            console.show("lockkeeper: \(line)")
        } else if isJSON {
            console.note(json: { writer in
                writer.beginObject()
                writer.key("progress")
                writer.beginObject()
                writer.member("what", what)
                writer.member("done", done)
                writer.member("count", count)
                writer.member("unit", unit)
                writer.endObject()
                writer.endObject()
            })
        } else {
            console.note("lockkeeper: \(line)")
        }
    }

    /// Takes the bar away.
    func end() { if isTerminal { console.show(nil) } }

    /// Runs work with a meter that is taken away when it ends, however it does. Where it was interrupted
    /// it is said how far it had come, and what that means.
    ///
    /// - Parameter interrupted: what an interruption leaves behind, as a sentence.
    func whileRunning<Value>(
        interrupted: String,
        _ body: () async throws -> Value
    ) async throws -> Value {
        do {
            let value = try await body()
            end()
            return value
        } catch let error as CancellationError {
            end()
            let done = state.withLock { $0.doneSoFar }.map { " \($0)." } ?? ""
            throw Interruption(cause: error, description: "Interrupted.\(done) \(interrupted)")
        } catch {
            end()
            throw error
        }
    }
}

/// Thrown where a command was interrupted from outside, with what was done until then.
struct Interruption: Error, CustomStringConvertible {
    /// What ended the work.
    let cause: CancellationError
    /// What was done and what it leaves behind, as sentences.
    let description: String
}

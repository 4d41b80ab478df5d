import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import Synchronization

/// Something that is claimed, told to a program, and answered: an item of the outbox or an effect.
protocol RelayedThing: ~Copyable, Sendable {
    /// The lock that the program inherits.
    var hold: HeldClaim { get }
    /// The line that the program is told, with its line end.
    var line: [UInt8] { get }
    /// What it is, for people: "item 7".
    var title: String { get }
    /// Writes the members that name it in the output.
    func write(into writer: inout JSONWriter)
    /// Writes down what was answered.
    ///
    /// - Returns: what became of it.
    consuming func take(_ answer: RelayAnswer) async throws -> RelayOutcome
    /// Says that nothing was done.
    consuming func giveBack() async throws
}

/// What became of a thing that a program was told.
struct RelayOutcome: Sendable, Hashable {
    /// One word, which is printed.
    let word: String
    /// Why it is not done, for people; `nil` where it is.
    let reason: String?

    init(_ word: String, _ reason: String? = nil) {
        self.word = word
        self.reason = reason
    }
}

/// What is left of what a program is to be told.
struct RelayRemains: Sendable {
    /// How many there are.
    let count: Int
    /// Why the first of them are left, a sentence each.
    let sentences: [String]

    /// As many are named.
    static let namedCount = 10
}

/// Tells a program one thing after the other: what `outbox run` and `effects run` have in common.
final class Relay: Sendable {
    private let words: [String]
    private let timeout: Duration
    private let grace: Duration
    private let follows: Bool
    private let context: CommandContext
    private let state = Mutex(State())
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    private struct State: Sendable {
        var isEnding = false
        var running: RelayedCommand?
    }

    /// - Parameters:
    ///   - words: the program and its arguments.
    ///   - timeout: how long it may take for one thing.
    ///   - grace: how long it may go on when this process is asked to end.
    ///   - follows: whether to stay when nothing is left.
    init(
        _ words: [String],
        timeout: Duration,
        grace: Duration,
        follows: Bool,
        in context: CommandContext
    ) {
        self.words = words
        self.timeout = timeout
        self.grace = grace
        self.follows = follows
        self.context = context
        (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// Tells everything whose turn comes, and ends when nothing is left or this process is asked to.
    ///
    /// - Parameters:
    ///   - next: does one thing, by ``tell(_:)``; says whether there was one.
    ///   - wait: how long until there may be another; `nil` where nothing waits.
    ///   - remains: what is left when nothing can be done now, and why.
    /// - Returns: `tryAgain` where something waits that cannot be done now.
    func run(
        following session: Session,
        next: () async throws -> Bool,
        wait: () async throws -> Duration?,
        remains: () async throws -> RelayRemains
    ) async throws -> ExitCode {
        let signals = Task { [self] in
            // Asked a second time, the program in work is not waited for any more.
            while true {
                _ = try await AwaitedSignal.next(of: Self.signals)
                end()
            }
        }
        let changes = Task { [self] in
            for try await _ in session.changes() { wake.yield() }
        }
        defer {
            signals.cancel()
            changes.cancel()
        }
        var iterator = wakes.makeAsyncIterator()
        while !isEnding {
            if try await next() { continue }
            let pause = try await wait()
            guard follows else {
                note(try await remains())
                return pause == nil ? .success : .tryAgain
            }
            let alarm = Task { [wake] in
                try await Task.sleep(for: pause ?? .seconds(3600))
                wake.yield()
            }
            _ = await iterator.next()
            alarm.cancel()
        }
        return .success
    }

    /// Says what is left, so that nobody takes the end of the run for that of the work.
    private func note(_ remains: RelayRemains) {
        for sentence in remains.sentences { context.console.note("lockkeeper: \(sentence)") }
        let rest = remains.count - remains.sentences.count
        if rest > 0 { context.console.note("lockkeeper: and \(rest) more") }
    }

    /// The signals by which this process is asked to end.
    static let signals: [Signal] = [.terminate, .interrupt]

    /// Tells the program one thing and writes down what it answered.
    func tell(_ thing: consuming some RelayedThing & ~Copyable) async throws {
        let command = RelayedCommand(words, timeout: timeout, grace: grace)
        let isEnding = state.withLock { state in
            state.running = command
            return state.isEnding
        }
        if isEnding { return try await thing.giveBack() }
        let (line, hold, title) = (thing.line, thing.hold, thing.title)
        let ending: RelayedCommand.Result
        do {
            ending = try await onThread {
                try command.run(telling: line) { start in try hold.withInheritance(start) }
            }
        } catch {
            try await thing.giveBack()
            throw error
        }
        state.withLock { $0.running = nil }
        let answer = RelayAnswer(ending)
        var name = JSONWriter()
        name.beginVersionedObject()
        thing.write(into: &name)
        let outcome = try await thing.take(answer)
        if let reason = outcome.reason {
            context.console.note(
                "lockkeeper: \(title): \(outcome.word): \(terminalText(reason))"
            )
        }
        guard context.options.isJSON else {
            try context.console.print("\(title)\t\(outcome.word)")
            return try expectStarted(answer)
        }
        name.member("outcome", outcome.word)
        name.endObject()
        name.endLine()
        try context.console.write(name.bytes)
        try expectStarted(answer)
    }

    /// The next thing would be answered alike, and each would be one more that nobody knows of.
    private func expectStarted(_ answer: RelayAnswer) throws(CommandError) {
        guard case .notStarted(let reason) = answer else { return }
        throw CommandError(
            "no-program",
            .unavailable,
            "\(terminalText(words[0])) seems not to start: \(reason). Nothing else was told to anybody."
        )
    }

    private var isEnding: Bool { state.withLock { $0.isEnding } }

    /// The program in work may finish within its while, and is asked to end then; what it answers
    /// is still written down.
    private func end() {
        let running = state.withLock { state in
            state.isEnding = true
            return state.running
        }
        running?.interrupt()
        wake.yield()
    }

    /// Runs a closure on a thread of its own, because it blocks.
    private func onThread<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            do {
                _ = try WorkerThread.start(name: "lk-relay") {
                    continuation.resume(with: Result { try body() })
                }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }
}

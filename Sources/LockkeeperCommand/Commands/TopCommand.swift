import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import Synchronization

/// `top`: the status, live in the terminal.
struct TopCommand: Command {
    static let name = "top"
    static let usage = "[options]"
    static let summary = "show live who writes and who waits, with rates and the last ranges"
    static let details = """
        Shows the accounts with commits and messages per second, what waits, each process with a lane
        of what it did last, and the last ranges; twice a second, until q or ^C. It is one reader more,
        and one subscriber for each active account. Where there is no terminal: 'status'.

          lockkeeper top --root ~/chat
        """
    static let awaitedSignals: [Signal] = [.terminate]

    init(_ arguments: inout Arguments) throws(UsageError) {}

    func run(in context: CommandContext) async throws -> ExitCode {
        let input = try StandardInput.open()
        guard input.isTerminal, context.console.isOutputShown else {
            throw CommandError(
                "no-terminal",
                .usage,
                "top is for a terminal. 'lockkeeper status --json' is for programs."
            )
        }
        let workspace = try await context.openWorkspace(as: "top")
        do {
            try await show(workspace, input, context.console)
        } catch {
            await workspace.close()
            throw error
        }
        await workspace.close()
        return .success
    }

    /// What the feeds' tasks and the drawing share.
    private final class Shared: Sendable {
        let model = Mutex(TopModel())
    }

    /// The ranges of one account, for as long as its feed lasts.
    private struct Follower {
        let task: Task<Void, Never>
        let hasEnded: Flag
    }

    private func show(
        _ workspace: Workspace,
        _ input: borrowing FileDescriptor,
        _ console: Console
    ) async throws {
        let clock = SystemClock()
        let shared = Shared()
        let isEnding = Flag()
        Task {
            _ = try await AwaitedSignal.next(of: Self.awaitedSignals)
            _ = isEnding.raise()
        }
        var followers: [AccountID: Follower] = [:]
        defer { for follower in followers.values { follower.task.cancel() } }
        let keys = try UnbufferedTerminal(input)
        let screen = TopScreen(console)
        try screen.begin()
        defer { screen.end() }
        var isQuitting = false
        while !isQuitting, !isEnding.isRaised {
            let status = try await workspace.status()
            let sample = TopSample(status)
            shared.model.withLock { $0.take(sample, at: clock.now()) }
            for account in status.accounts where account.info.state == .active {
                let id = account.info.id
                guard followers[id]?.hasEnded.isRaised != false else { continue }
                followers[id] = follow(id, workspace, shared)
            }
            isQuitting = try draw(shared, input, screen)
        }
        _ = consume keys
    }

    /// Hands on an account's ranges until it is switched away from.
    private func follow(
        _ id: AccountID,
        _ workspace: Workspace,
        _ shared: Shared
    ) -> Follower {
        let hasEnded = Flag()
        let task = Task {
            // What cannot be followed now is tried again with the next look; the status says why.
            if let session = try? await workspace.session(id) {
                do {
                    for try await range in session.changes() {
                        let now = SystemClock().now()
                        let name = terminalID(id.description)
                        shared.model.withLock { $0.note(range, of: name, at: now) }
                    }
                } catch {}
            }
            _ = hasEnded.raise()
        }
        return Follower(task: task, hasEnded: hasEnded)
    }

    /// Draws until the next look is due, or a key ends it. A terminal that is resized is drawn anew
    /// within a tenth of a second.
    ///
    /// - Returns: whether somebody wants it to end.
    private func draw(
        _ shared: Shared,
        _ input: borrowing FileDescriptor,
        _ screen: TopScreen
    ) throws -> Bool {
        let clock = SystemClock()
        let due = Deadline(after: .milliseconds(500), from: clock.now())
        while !due.hasPassed(at: clock.now()) {
            let size = TerminalSize(of: input)
            let lines = shared.model.withLock {
                $0.lines(columnCount: size.columnCount, lineCount: size.lineCount)
            }
            try screen.show(lines, size)
            var poll = Poll()
            poll.add(input.raw, .readable)
            let soon = min(due, Deadline(after: .milliseconds(100), from: clock.now()))
            if try poll.wait(until: soon, clock: clock) == 0 { continue }
            // The terminal's end, q, Q, ^C.
            guard let key = try input.readToEnd(limit: 1).first,
                ![0x71, 0x51, 0x03].contains(key)
            else { return true }
        }
        return false
    }
}

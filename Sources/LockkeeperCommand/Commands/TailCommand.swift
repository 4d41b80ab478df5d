import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperState

/// `tail`: follows the commits of an account.
struct TailCommand: Command {
    static let name = "tail"
    static let usage = "[--after STORE:N] [--count N] [--settings]"
    static let summary = "follow the commits of every process as change ranges"
    static let details = """
        Prints one JSON line per range of commits, of whichever process, in order and without a
        hole: which tables, rows and conversations changed. A range is a hint; the data is read from
        the store. Ends with code 76 when the account is switched away from, and with 75 when the
        log does not reach back to the position that was named.

        With --settings it follows what changes the account's settings: the topics of a range are the
        names of settings then. Their positions are their own.

        Where no host lives it may keep the workspace's hub. ^Z (SIGTSTP) gives that and every file up
        until SIGCONT; then it goes on where it stood.

          lockkeeper tail --count 1 --after 0123456789abcdef0123456789abcdef:180
        """
    static let awaitedSignals: [Signal] = [.terminalStop]
    static let options: [OptionSpecification] = [
        .value("after", "STORE:N", "begin behind this position, as a range names it [the head]"),
        .value("count", "N", "end after so many ranges"),
        .flag("settings", "follow the account's settings instead of its messages"),
    ]

    private let position: Position?
    private let count: Int?
    private let followsSettings: Bool

    init(_ arguments: inout Arguments) throws(UsageError) {
        count = try arguments.integer("count", in: 1...Int.max)
        followsSettings = arguments.flag("settings")
        guard let text = arguments.value("after") else {
            position = nil
            return
        }
        guard let position = Position(text) else {
            throw UsageError(
                "A position is STORE:N, 32 hexadecimal digits and a number, not '\(text)'."
            )
        }
        self.position = position
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        let workspace = try await context.openWorkspace(as: "tail")
        do {
            let session = try await workspace.session(context.account(in: workspace))
            // Runs until the program ends.
            Task { [console = context.console] in
                while true {
                    _ = try await AwaitedSignal.next(of: Self.awaitedSignals)
                    try await AwaitedSignal.stop(workspace, console)
                }
            }
            try await follow(session, context.console)
        } catch {
            await workspace.close()
            throw error
        }
        await workspace.close()
        return .success
    }

    private func follow(_ session: Session, _ console: Console) async throws {
        var left = count ?? .max
        let changes =
            followsSettings
            ? try await SettingsStore(session).changes(after: position)
            : session.changes(after: position)
        for try await range in changes {
            try console.print { range.write(into: &$0) }
            left -= 1
            if left == 0 { break }
        }
    }
}

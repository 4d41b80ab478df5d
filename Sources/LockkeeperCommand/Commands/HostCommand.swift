import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSystemd

/// `host`: serves the workspace until it is asked to end.
struct HostCommand: Command {
    static let name = "host"
    static let usage = "[--account ID] [--create]"
    static let summary = "serve the workspace: notifier, care for logs and inboxes"
    static let details = """
        Serves the workspace until SIGTERM or SIGINT. Once it serves it prints one line:

          {"ready":{"root":"/home/me/chat","pid":4711,"account":"alice"}}

        and tells the service manager, where one has started it: readiness, a status line, and the
        watchdog once a second while it holds its lock. A socket of that manager's at the notifier's
        path (LISTEN_FDS) is taken over; Scripts/systemd has the units. With --account the account is
        activated first, unless it is active. A second host of the same workspace is refused with
        the first one's pid. Helpers need no host: they write, read and switch without one.

        What it has to say goes to the error stream; where that is the journal, as entries with the
        fields LOCKKEEPER_CODE, LOCKKEEPER_ROOT, LOCKKEEPER_SUBJECT, LOCKKEEPER_REMEDY and so on.

        ^Z (SIGTSTP) suspends it first: it stops without a lock or a file of the workspace open, and
        serves again after SIGCONT, unless another host has come meanwhile.

          lockkeeper host --root ~/chat --account alice --create
        """
    static let options: [OptionSpecification] = [
        .flag("create", "make the workspace and the account where they are missing")
    ]
    static let awaitedSignals: [Signal] = [.terminate, .interrupt, .terminalStop]

    private let creates: Bool

    init(_ arguments: inout Arguments) throws(UsageError) { creates = arguments.flag("create") }

    func run(in context: CommandContext) async throws -> ExitCode {
        // Another process's migration may have to be waited for.
        try ServiceManager.notify(.extendTimeout(Limits().openWaitMax))
        let workspace = try await context.openWorkspace(as: "host", role: .host, creating: creates)
        do {
            let isDisplaced = Flag()
            let host = try await workspace.serve(
                inheriting: ServiceManager.socket(named: "notifier")
            ) { [console = context.console, root = workspace.root] note in
                if case .lockFileReplaced = note {
                    if isDisplaced.raise() { return }
                    CurrentProcess.terminate()
                }
                console.log(
                    "\(note)",
                    .warning,
                    [
                        Journal.Field("LOCKKEEPER_CODE", note.code),
                        Journal.Field("LOCKKEEPER_ROOT", root),
                    ]
                )
            }
            let account = try await activeAccount(in: workspace, context)
            try context.console.print { writer in
                writer.beginObject()
                writer.key("ready")
                writer.beginObject()
                writer.member("root", workspace.root)
                writer.member("pid", CurrentProcess.pid)
                writer.member("account", account)
                writer.endObject()
                writer.endObject()
            }
            try ServiceManager.notify(.ready)
            try ServiceManager.notify(.status(Self.serving(workspace, account)))
            let signal = try await serveUntilSignalled(workspace, context)
            context.console.log(
                "ending on \(signal)",
                .info,
                [Journal.Field("LOCKKEEPER_ROOT", workspace.root)]
            )
            try ServiceManager.notify(.stopping)
            // What runs is finished, and its sync.
            try ServiceManager.notify(.extendTimeout(workspace.limits.admissionWaitMax * 2))
            await host.close()
            if isDisplaced.isRaised {
                await workspace.close()
                return .tryAgain
            }
        } catch {
            await workspace.close()
            throw error
        }
        await workspace.close()
        return .success
    }

    private static func serving(_ workspace: Workspace, _ account: AccountID?) -> String {
        "serves \(workspace.root)" + (account.map { ", account \($0)" } ?? "")
    }

    /// The account that is served: the named one, activated where it is not active; else the only
    /// active one, if there is one.
    private func activeAccount(
        in workspace: Workspace,
        _ context: CommandContext
    ) async throws -> AccountID? {
        let accounts = try await workspace.accounts()
        guard let id = context.options.account else {
            let active = accounts.filter { $0.state == .active }
            return active.count == 1 ? active[0].id : nil
        }
        if !accounts.contains(where: { $0.id == id }), creates {
            try await workspace.addAccount(id)
        }
        if try await workspace.account(id).state != .active {
            try await workspace.activate(id)
        }
        return id
    }

    /// Returns the signal that asks the host to end.
    private func serveUntilSignalled(
        _ workspace: Workspace,
        _ context: CommandContext
    ) async throws -> Signal {
        while true {
            let signal = try await AwaitedSignal.next(of: Self.awaitedSignals)
            guard signal == .terminalStop else { return signal }
            try await AwaitedSignal.stop(workspace, context.console) {
                try ServiceManager.notify(.status("suspended"))
            }
            try ServiceManager.notify(.status(Self.serving(workspace, nil)))
        }
    }
}

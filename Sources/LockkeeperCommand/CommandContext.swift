import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperState
import LockkeeperSystemd

/// What a command runs in: the console, and what the global options say.
struct CommandContext: Sendable {
    /// Where results and diagnostics go.
    let console: Console
    /// The global options.
    let options: GlobalOptions

    /// The workspace's folder.
    ///
    /// - Throws: ``CommandError`` when nothing names one.
    var root: String {
        get throws(CommandError) {
            if let root = options.root { return root }
            throw CommandError(
                "no-root",
                .usage,
                "Nothing says where the workspace is. Give --root DIR, or set LOCKKEEPER_ROOT."
            )
        }
    }

    /// The path of this program, for commands that start it again.
    ///
    /// - Throws: ``CommandError`` when nothing says where it is.
    var program: String {
        get throws(CommandError) {
            if let path = Environment.programPath { return path }
            throw CommandError(
                "no-program",
                .unavailable,
                "/proc/self/exe does not say where this program is. Mount /proc."
            )
        }
    }

    /// Opens the workspace.
    ///
    /// - Parameters:
    ///   - name: this process's name among the origins of changes.
    ///   - creating: whether the folder is made where there is none; where not, a mistyped path is
    ///     an error instead of an empty workspace.
    func openWorkspace(
        as name: String = "lockkeeper",
        role: Workspace.Role = .tool,
        creating: Bool = false,
        openWaitMax: Duration? = nil
    ) async throws -> Workspace {
        let root = try root
        if !creating, try FileSystem.status(root) == nil {
            throw CommandError(
                "no-workspace",
                .unavailable,
                "There is no workspace at \(root). 'lockkeeper account add ID' makes one; perhaps"
                    + " --root names another folder than you mean."
            )
        }
        var limits = Limits()
        if let openWaitMax { limits.openWaitMax = openWaitMax }
        let workspace = try await Workspace.open(
            at: root,
            name: name,
            role: role,
            schemas: [.messages, .state],
            limits: limits,
            keys: options.keys?.source
        )
        workspace.onFinishedRepair { [console] report in
            console.log("a repair that a process died in was brought to its end", .warning)
            for line in report.lines { console.log(terminalText(line), .warning) }
        }
        if workspace.hasRebuiltRegistry {
            console.log(
                "the registry of \(terminalText(root)) was lost and has been made anew of the accounts'"
                    + " own files; look with 'lockkeeper account list' whether all are there. What is"
                    + " left of the old one is in damaged/",
                .warning
            )
        }
        return workspace
    }

    /// The account that the command is about: the one that was named, else the only active one.
    ///
    /// - Throws: ``CommandError`` when none or several are active and none was named.
    func account(in workspace: Workspace) async throws -> AccountID {
        if let account = options.account { return account }
        let accounts = try await workspace.accounts()
        let active = accounts.filter { $0.state == .active }.map(\.id)
        if active.count == 1 { return active[0] }
        if active.isEmpty {
            throw CommandError(
                "no-active-account",
                .unknownAccount,
                accounts.isEmpty
                    ? "The workspace has no account. Add one with 'lockkeeper account add ID"
                        + " --activate'."
                    : "No account is active. Name one with --account ID, or activate one with"
                        + " 'lockkeeper account activate ID'."
            )
        }
        throw CommandError(
            "several-active-accounts",
            .usage,
            "Several accounts are active: \(active.map { terminalID($0.description) }.joined(separator: ", "))."
                + " Name one with --account ID."
        )
    }

    /// Opens the workspace, reads an account that may be retired, and closes it again.
    func reading<Value: Sendable>(
        _ body: (MessageStore) async throws -> Value
    ) async throws -> Value {
        let workspace = try await openWorkspace()
        let value: Value
        do {
            let account = try await account(in: workspace)
            value = try await body(MessageStore(workspace.inspectionSession(account)))
        } catch {
            await workspace.close()
            throw error
        }
        await workspace.close()
        return value
    }

    /// Opens the workspace for a change, and closes it again.
    func changing<Value: Sendable>(
        creating: Bool = false,
        openWaitMax: Duration? = nil,
        _ body: (Workspace) async throws -> Value
    ) async throws -> Value {
        let workspace = try await openWorkspace(creating: creating, openWaitMax: openWaitMax)
        let value: Value
        do {
            value = try await body(workspace)
        } catch {
            await workspace.close()
            throw error
        }
        await workspace.close()
        return value
    }
}

import Lockkeeper
import LockkeeperDomain

/// `inbox retry`: lets a parked packet wait again.
struct InboxRetryCommand: Command {
    static let name = "inbox retry"
    static let usage = "PACKET [options]"
    static let summary = "let a parked packet wait again"
    static let details = """
        Lets a packet that was parked wait again, as if nobody had begun it, applies it where the
        account is active, and says what became of it: 'applied', 'waiting' with the reason and code
        75, or 'parked' again with the reason and code 1. A packet that is not parked is not begun
        anew; it is applied as 'inbox drain' does. 'inbox list' names packets.

          lockkeeper inbox retry 00000000000000000001-0f… --account bob
        """

    private let packet: String

    init(_ arguments: inout Arguments) throws(UsageError) {
        packet = try arguments.positional("PACKET")
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.changing { workspace in
            let account = try await context.account(in: workspace)
            guard try await find(in: workspace, account) != nil else {
                throw CommandError.unknownPacket(packet)
            }
            _ = try await workspace.retryPacket(packet, of: account)
            var obstacle: (any Error)?
            do {
                obstacle = try await workspace.drainInbox(of: account).obstacle
            } catch let error as LockkeeperError {
                // An account that is not active takes nothing: the packet waits for that.
                obstacle = error
            }
            let left = try await find(in: workspace, account)
            try say(left, obstacle, in: context)
            guard let left else { return .success }
            return left.parked == nil ? .tryAgain : .found
        }
    }

    private func find(in workspace: Workspace, _ account: AccountID) async throws -> KeptPacket? {
        do {
            return try await workspace.inbox(of: account).first { $0.name == packet }
        } catch let error as LockkeeperError where error.code != .unknownAccount {
            // The database cannot be read; what is kept as a file can be let go all the same.
            let files = try await workspace.inboxFiles(of: account)
            guard let file = files.first(where: { $0.name == packet }) else { throw error }
            return file
        }
    }

    private func say(
        _ left: KeptPacket?,
        _ obstacle: (any Error)?,
        in context: CommandContext
    ) throws {
        let state = left.map { $0.parked == nil ? "waiting" : "parked" } ?? "applied"
        let reason: String? = left.map { packet in
            packet.parked ?? packet.failure
                ?? obstacle.map { Failure($0).sentence }
                ?? "it is left for a program that reads it, or for its next attempt"
        }
        guard context.options.isJSON else {
            return try context.console.print(
                "\(packet)\t\(state)" + (reason.map { ": \(terminalText($0))" } ?? "")
            )
        }
        try context.console.print { writer in
            writer.beginVersionedObject()
            writer.member("packet", packet)
            writer.member("state", state)
            writer.member("reason", reason)
            writer.endObject()
        }
    }
}

extension CommandError {
    static func unknownPacket(_ name: String) -> CommandError {
        CommandError(
            "unknown-packet",
            .usage,
            "No such packet is there: \(terminalText(name)). 'lockkeeper inbox list' lists them."
        )
    }
}

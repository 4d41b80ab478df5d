import Lockkeeper

/// `inbox retry`: lets a parked packet wait again.
struct InboxRetryCommand: Command {
    static let name = "inbox retry"
    static let usage = "PACKET [options]"
    static let summary = "let a parked packet wait again"
    static let details = """
        Lets a packet that was parked wait again, as if nobody had begun it, and applies it where the
        account is active. 'inbox list' names packets.

          lockkeeper inbox retry 00000000000000000001-0f… --account bob
        """

    private let packet: String

    init(_ arguments: inout Arguments) throws(UsageError) {
        packet = try arguments.positional("PACKET")
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.changing { workspace in
            let account = try await context.account(in: workspace)
            guard try await workspace.retryPacket(packet, of: account) else {
                throw CommandError.unknownPacket(packet)
            }
        }
        return .success
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

import Lockkeeper

/// `inbox drop`: throws a kept packet away.
struct InboxDropCommand: Command {
    static let name = "inbox drop"
    static let usage = "PACKET [--yes] [options]"
    static let summary = "throw a kept packet away"
    static let details = """
        Removes a packet that waits or is parked. It may be the only copy of what a server sent, so
        it asks first. 'inbox list' names packets.

          lockkeeper inbox drop 00000000000000000001-0f… --account bob --yes
        """
    static let destroys: String? = "What is thrown away may be the only copy."

    private let packet: String

    init(_ arguments: inout Arguments) throws(UsageError) {
        packet = try arguments.positional("PACKET")
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.changing { workspace in
            let account = try await context.account(in: workspace)
            guard try await workspace.dropPacket(packet, of: account) else {
                throw CommandError.unknownPacket(packet)
            }
        }
        return .success
    }
}

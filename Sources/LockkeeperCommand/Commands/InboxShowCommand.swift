import Lockkeeper
import LockkeeperDomain

/// `inbox show`: the bytes of a kept packet.
struct InboxShowCommand: Command {
    static let name = "inbox show"
    static let usage = "PACKET [options]"
    static let summary = "write the bytes of a kept packet"
    static let details = """
        Writes the bytes as they came, to look at or to repair and ingest. With --json one object with
        the bytes in hexadecimal. 'inbox list' names packets.

          lockkeeper inbox show 00000000000000000001-0f… --account bob | hexdump -C
        """

    private let packet: String

    init(_ arguments: inout Arguments) throws(UsageError) {
        packet = try arguments.positional("PACKET")
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.changing { workspace in
            let account = try await context.account(in: workspace)
            guard let bytes = try await workspace.packet(packet, of: account) else {
                throw CommandError.unknownPacket(packet)
            }
            guard context.options.isJSON else { return try context.console.write(bytes) }
            try context.console.print { writer in
                writer.beginVersionedObject()
                writer.member("packet", packet)
                writer.member("content_hex", bytes.hexadecimal)
                writer.endObject()
            }
        }
        return .success
    }
}

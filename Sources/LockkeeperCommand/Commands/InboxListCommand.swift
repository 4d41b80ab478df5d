import Lockkeeper
import LockkeeperDomain

/// `inbox list`: the packets that are received and not applied yet.
struct InboxListCommand: Command {
    static let name = "inbox list"
    static let usage = "[options]"
    static let summary = "list packets that are received and not applied yet"
    static let details = """
        Lists packets in the order in which they are applied, those that are parked last: name, state,
        why it waits, by whom it was kept, bytes. A packet waits as a file where the database could
        not take it ('busy' and other codes), and as a row where it is still to be decoded
        ('received'). What waits is applied by whoever opens or writes the account next and reads
        such packets, and by a host within a second; what is parked waits for you: 'inbox retry' or
        'inbox drop'. Where the database cannot be read the files are listed, and the error says why.

          lockkeeper inbox list --account bob --json
        """

    init(_ arguments: inout Arguments) throws(UsageError) {}

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.changing { workspace in
            let account = try await context.account(in: workspace)
            let packets: [KeptPacket]
            var failure: (any Error)?
            do {
                packets = try await workspace.inbox(of: account)
            } catch {
                packets = try await workspace.inboxFiles(of: account)
                failure = error
            }
            for packet in packets {
                guard context.options.isJSON else {
                    var state = packet.parked.map { "parked: \($0)" } ?? "waiting"
                    if let failure = packet.failure { state += " (\(terminalText(failure)))" }
                    let reason = terminalText(
                        packet.reason ?? (packet.place == .row ? "received" : "?")
                    )
                    let keeper = terminalText(packet.processName ?? "?")
                    try context.console.print(
                        "\(packet.name)\t\(state)\t\(reason)\t\(keeper)\t\(packet.byteCount)"
                    )
                    continue
                }
                try context.console.print { writer in
                    writer.beginVersionedObject()
                    InboxOutput.write(packet, into: &writer)
                    writer.endObject()
                }
            }
            if let failure { throw failure }
        }
        return .success
    }
}

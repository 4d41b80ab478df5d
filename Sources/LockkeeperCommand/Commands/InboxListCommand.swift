import Lockkeeper
import LockkeeperDomain

/// `inbox list`: the packets that are kept as files.
struct InboxListCommand: Command {
    static let name = "inbox list"
    static let usage = "[options]"
    static let summary = "list packets that wait as files for their account"
    static let details = """
        Lists the packets that were kept because the account's database could not take them, oldest
        first: name, state, why it was kept, by whom, bytes. What waits is applied by whoever opens or
        writes the account next, and by a host within a second; what is parked waits for you:
        'inbox retry' or 'inbox drop'.

          lockkeeper inbox list --account bob --json
        """

    init(_ arguments: inout Arguments) throws(UsageError) {}

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.changing { workspace in
            let account = try await context.account(in: workspace)
            for packet in try await workspace.inbox(of: account) {
                guard context.options.isJSON else {
                    let state = packet.parked.map { "parked: \($0)" } ?? "waiting"
                    let reason = terminalText(packet.reason ?? "?")
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
        }
        return .success
    }
}

import LockkeeperDomain
import LockkeeperMessages

/// `quarantine list`: what was put aside.
struct QuarantineListCommand: Command {
    static let name = "quarantine list"
    static let usage = "[options]"
    static let summary = "list what was put aside instead of stored"
    static let details = """
        Lists the lines that could not be read, the values that lost against another at the same
        version, and events of types that are merged later: number, how often it came, reason.
        Nothing that a server sent is dropped.

          lockkeeper quarantine list --json
        """

    init(_ arguments: inout Arguments) throws(UsageError) {}

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.reading { messages in
            for item in try await messages.quarantine() {
                guard context.options.isJSON else {
                    let explanation = terminalText(item.explanation)
                    try context.console.print(
                        "\(item.number)\t\(item.count)\t\(item.reason)\t\(explanation)"
                    )
                    continue
                }
                try context.console.print { writer in
                    writer.beginVersionedObject()
                    QuarantineOutput.write(item, into: &writer)
                    writer.endObject()
                }
            }
        }
        return .success
    }
}

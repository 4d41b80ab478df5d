import Lockkeeper
import LockkeeperDomain

/// `status`: what the workspace is doing.
struct StatusCommand: Command {
    static let name = "status"
    static let usage = "[options]"
    static let summary = "say which accounts, processes and locks there are"
    static let details = """
        Shows the host, each account with its state, generation and log size, and each process that
        has it open: what it is doing, for how long, which locks it holds, and whether it is
        stopped; who waits to write; what inbox, outbox and effects hold; who pins the log; the last
        inspections; a switch that is not finished; and what is wrong with an account's files. Waits
        for no writer, and for nobody longer than a second or two. Docs/STATUS.md has the members
        that --json prints.

          lockkeeper status --json
        """

    static let options: [OptionSpecification] = [
        .flag("openmetrics", "print numbers as OpenMetrics text")
    ]

    private let isOpenMetrics: Bool

    init(_ arguments: inout Arguments) throws(UsageError) {
        isOpenMetrics = arguments.flag("openmetrics")
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.changing(openWaitMax: .seconds(2)) { workspace in
            let status = try await workspace.status()
            if isOpenMetrics {
                for line in OpenMetricsText.lines(status) { try context.console.print(line) }
            } else if context.options.isJSON {
                try context.console.print { StatusOutput.write(status, into: &$0) }
            } else {
                for line in StatusOutput.lines(status) { try context.console.print(line) }
            }
        }
        return .success
    }
}

import Lockkeeper
import LockkeeperDomain

/// `inbox drain`: applies the packets that wait.
struct InboxDrainCommand: Command {
    static let name = "inbox drain"
    static let usage = "[options]"
    static let summary = "apply packets that wait, and say what became of them"
    static let details = """
        Applies what waits, oldest first. Whoever opens or writes the account does so as well; this
        says what became of it. The account must be active. Packets of an app's own, which its decoder
        reads, are left for the app. Ends with 1 where something was parked, and
        with 75 where something waits on.

          lockkeeper inbox drain --account bob
        """

    init(_ arguments: inout Arguments) throws(UsageError) {}

    func run(in context: CommandContext) async throws -> ExitCode {
        let report = try await context.changing { workspace in
            try await workspace.drainInbox(of: context.account(in: workspace))
        }
        if context.options.isJSON {
            try context.console.print { writer in
                writer.beginVersionedObject()
                writer.member("applied", report.appliedCount)
                writer.member("parked", report.parkedCount)
                writer.member("waiting", report.leftCount)
                writer.endObject()
            }
        } else {
            try context.console.print(
                "\(report.appliedCount) applied, \(report.parkedCount) parked,"
                    + " \(report.leftCount) waiting"
            )
        }
        if let obstacle = report.obstacle {
            Failure(obstacle).report(on: context.console, asJSON: context.options.isJSON)
        }
        if report.leftCount > 0 { return .tryAgain }
        return report.parkedCount > 0 ? .found : .success
    }
}

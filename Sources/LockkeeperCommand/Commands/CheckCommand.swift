import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages

/// `check`: inspects an account's store.
struct CheckCommand: Command {
    static let name = "check"
    static let usage = "[--deep]"
    static let summary = "inspect the store: structure, counters, cursors"
    static let details = """
        Looks at the account's databases while others use them: their structure and commit logs;
        with --deep also indexes against tables, summaries, cursors, and every stored counter
        against its recount. Prints what it finds with what to do, and ends with code 1 when that is
        anything. It reads a retired account too.

          lockkeeper check --account alice --deep
        """
    static let options: [OptionSpecification] = [
        .flag("deep", "look at everything, which reads everything")
    ]

    private let isDeep: Bool

    init(_ arguments: inout Arguments) throws(UsageError) { isDeep = arguments.flag("deep") }

    func run(in context: CommandContext) async throws -> ExitCode {
        let findings = try await context.reading { messages in
            try await messages.session.inspect(deep: isDeep)
        }
        for finding in findings {
            guard context.options.isJSON else {
                let subject = terminalText(finding.subject)
                try context.console.print(
                    "\(finding.code): \(subject): \(finding.explanation) \(finding.remedy)"
                )
                continue
            }
            try context.console.print { writer in
                writer.beginVersionedObject()
                writer.member("code", finding.code)
                writer.member("subject", finding.subject)
                writer.member("explanation", finding.explanation)
                writer.member("remedy", finding.remedy)
                writer.endObject()
            }
        }
        if findings.isEmpty { context.console.note("lockkeeper: nothing found") }
        return findings.isEmpty ? .success : .found
    }
}

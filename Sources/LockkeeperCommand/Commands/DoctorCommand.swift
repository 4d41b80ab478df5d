import Lockkeeper
import LockkeeperDomain

/// `doctor`: inspects an account's store and what it stands in.
struct DoctorCommand: Command {
    static let name = "doctor"
    static let usage = "[--deep]"
    static let summary = "inspect the store and its surroundings, with advice"
    static let details = """
        Does what 'check' does, and looks at the surroundings: owner, mode and links of every file,
        the file system and mounts in it, free space, files that nobody uses, versions, copies of
        SQLite in the processes, programs that have the database open without Lockkeeper. Says first
        how things are, on stderr, and for each finding what it means and what to do. Ends with code 1
        when there is one.

          lockkeeper doctor --account alice
        """
    static let options: [OptionSpecification] = [
        .flag("deep", "look at everything, which reads everything")
    ]

    private let isDeep: Bool

    init(_ arguments: inout Arguments) throws(UsageError) { isDeep = arguments.flag("deep") }

    func run(in context: CommandContext) async throws -> ExitCode {
        let (surroundings, findings) = try await context.changing { workspace in
            let account = try await context.account(in: workspace)
            let surroundings = try await workspace.surroundings(of: account)
            let inspected = try await workspace.inspect(account, deep: isDeep)
            let foreign = try await workspace.foreignProcesses(of: account).map(\.finding)
            return (surroundings, inspected + foreign + surroundings.findings)
        }
        if context.options.isJSON {
            try context.console.print { writer in
                writer.beginVersionedObject()
                writer.key("facts")
                writer.beginObject()
                for fact in surroundings.facts {
                    writer.key(fact.name)
                    writer.string(fact.value)
                }
                writer.endObject()
                writer.endObject()
            }
        } else {
            for fact in surroundings.facts {
                context.console.note("\(fact.name): \(terminalText(fact.value))")
            }
        }
        try FindingOutput.print(findings, in: context)
        if findings.isEmpty { context.console.note("lockkeeper: nothing found") }
        return findings.isEmpty ? .success : .found
    }
}

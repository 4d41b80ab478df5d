import Lockkeeper
import LockkeeperDomain
import LockkeeperState

/// `doctor`: inspects an account's store and what it stands in.
struct DoctorCommand: Command {
    static let name = "doctor"
    static let usage = "[--deep] [--sweep]"
    static let summary = "inspect the store and its surroundings, with advice"
    static let details = """
        Does what 'check' does, and looks at the surroundings: owner, mode and links of every file,
        the file system and mounts in it, free space, files that nobody uses, versions, copies of
        SQLite in the processes. Says first
        how things are, on stderr, and for each finding what it means and what to do. Ends with code 1
        when there is one. Documents and media are looked at too: content that belongs to nobody, files
        that are missing, cut, or, with --deep, changed. --sweep puts that right: what belongs to
        nobody is removed, and what is missing or was left by a dead process is wanted again.

          lockkeeper doctor --account alice
          lockkeeper doctor --deep --sweep
        """
    static let options: [OptionSpecification] = [
        .flag("deep", "look at everything, which reads everything"),
        .flag("sweep", "first put right what media left behind; for an active account"),
    ]

    private let isDeep: Bool
    private let isSweeping: Bool

    init(_ arguments: inout Arguments) throws(UsageError) {
        isDeep = arguments.flag("deep")
        isSweeping = arguments.flag("sweep")
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        let (facts, findings) = try await context.changing { workspace in
            let account = try await context.account(in: workspace)
            if isSweeping { try await sweep(account, in: workspace, context) }
            var look = DoctorLook()
            try await look.take {
                let surroundings = try await workspace.surroundings(of: account)
                return (surroundings.facts.map { ($0.name, $0.value) }, surroundings.findings)
            }
            try await look.take { ([], try await workspace.inspect(account, deep: isDeep)) }
            try await look.take {
                ([], try await workspace.foreignProcesses(of: account).map(\.finding))
            }
            // Opening the account would go on with a repair, and a look changes nothing.
            if !look.findings.contains(where: { $0.code == "repair-unfinished" }) {
                try await look.take {
                    let state = try await StateLook(account, in: workspace, deep: isDeep)
                    return (state.facts, state.findings)
                }
            }
            try await look.take { ([], try await workspace.warnings(of: account)) }
            return (look.facts, look.findings)
        }
        if context.options.isJSON {
            try context.console.print { writer in
                writer.beginVersionedObject()
                writer.key("facts")
                writer.beginObject()
                for (name, value) in facts {
                    writer.key(name)
                    writer.string(value)
                }
                writer.endObject()
                writer.endObject()
            }
        } else {
            for (name, value) in facts {
                context.console.note("\(name): \(terminalText(value))")
            }
        }
        try FindingOutput.print(findings, in: context)
        if findings.isEmpty { context.console.note("lockkeeper: nothing found") }
        return findings.isEmpty ? .success : .found
    }

    private func sweep(
        _ account: AccountID,
        in workspace: Workspace,
        _ context: CommandContext
    ) async throws {
        let media = try await MediaStore(workspace.session(account))
        let swept = try await media.sweep(deep: isDeep)
        let wanted = (swept.missing + swept.damaged + swept.abandoned).map(\.description).sorted()
        context.console.note(
            "swept: \(swept.orphanCount) contents of nobody removed,"
                + " \(wanted.count) files wanted again"
                + (wanted.isEmpty ? "" : ": \(terminalText(wanted.joined(separator: ", ")))")
        )
    }
}

/// What several looks found. One that cannot be taken is a finding, and keeps no other back.
private struct DoctorLook {
    private(set) var facts = [("lockkeeper", Program.version)]
    private(set) var findings: [InspectionFinding] = []

    /// Takes a look.
    ///
    /// - Throws: where there is no such account, or nothing was ever stored of it.
    mutating func take(
        _ look: () async throws -> ([(String, String)], [InspectionFinding])
    ) async throws {
        do {
            let (facts, findings) = try await look()
            self.facts += facts
            self.findings += findings
        } catch let error as LockkeeperError {
            if [.unknownAccount, .accountInactive].contains(error.code) { throw error }
            findings.append(InspectionFinding(notLookedAt: error))
        }
    }
}

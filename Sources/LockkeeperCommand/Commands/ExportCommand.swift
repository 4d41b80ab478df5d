import LockkeeperMessages

/// `export`: writes the account as event lines.
struct ExportCommand: Command {
    static let name = "export"
    static let usage = "[--cursors]"
    static let summary = "write the account as event lines, as ingest reads them"
    static let details = """
        Writes everything that a fresh store needs to behave the same, as event lines in one order
        and form: exporting the import gives the same bytes. It is one consistent snapshot, taken while
        others may write. It reads a retired account too.

        What is put aside is no part of it, but for events of later types; 'quarantine show' has each
        item's bytes. Nor is that something was accepted: a message on a taken seq and an edit of
        somebody else are put aside again by the import, and an accepted value is a value like others.
        'backup' and 'restore' keep all of it.

        What the server was not told yet is no part of it: a second store would tell it again. It says
        so, and how much that is, on the error stream; 'outbox list --json' writes it, with each
        message's text, and 'send --client-id' puts it into another store's outbox.

          lockkeeper export --account alice --cursors > alice.ndjson
        """
    static let options: [OptionSpecification] = [
        .flag("cursors", "write the streams' cursors and waiting pages too")
    ]

    private let includesCursors: Bool

    init(_ arguments: inout Arguments) throws(UsageError) {
        includesCursors = arguments.flag("cursors")
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        let console = context.console
        try await context.reading { messages in
            try await messages.export(includingCursors: includesCursors) { try console.write($0) }
            let count = try await messages.outbox().count
            if count > 0 {
                console.note(
                    "lockkeeper: no part of the export, because the server has not confirmed it:"
                        + " \(counted(count, "item")) of the outbox; 'lockkeeper outbox list --json'"
                        + " writes them"
                )
            }
        }
        return .success
    }
}

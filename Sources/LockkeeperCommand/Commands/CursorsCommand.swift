import LockkeeperDomain
import LockkeeperMessages

/// `cursors`: where the streams stand.
struct CursorsCommand: Command {
    static let name = "cursors"
    static let usage = "[options]"
    static let summary = "say up to where each stream is processed and received"
    static let details = """
        Prints for each stream the cursor behind its messages, and, where packets wait in the inbox,
        the one up to which it is received: from there the server is asked next. Then the pages that
        wait for an earlier one. A stream without a cursor needs a full sync.

          lockkeeper cursors --json
        """

    init(_ arguments: inout Arguments) throws(UsageError) {}

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.reading { messages in
            let waiting = Dictionary(grouping: try await messages.waitingPages(), by: \.stream)
            for progress in try await messages.progress() {
                try print(progress, waiting[progress.stream] ?? [], context)
            }
        }
        return .success
    }

    private func print(
        _ progress: StreamProgress,
        _ waiting: [PageGap],
        _ context: CommandContext
    ) throws {
        guard context.options.isJSON else {
            func name(_ cursor: Cursor?) -> String {
                cursor.map { terminalID($0.description) } ?? "no cursor"
            }
            var line =
                "\(terminalID(progress.stream.description))\t\(name(progress.processed))"
            if progress.received != progress.processed {
                line += "\treceived up to \(name(progress.received))"
            }
            if !waiting.isEmpty { line += "\t\(waiting.count) pages wait for an earlier one" }
            return try context.console.print(line)
        }
        try context.console.print { writer in
            writer.beginVersionedObject()
            writer.member("stream", progress.stream)
            writer.member("cursor", progress.processed)
            writer.member("received", progress.received)
            writer.member("waiting", waiting)
            writer.endObject()
        }
    }
}

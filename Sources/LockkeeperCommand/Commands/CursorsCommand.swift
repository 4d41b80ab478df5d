import LockkeeperDomain
import LockkeeperMessages

/// `cursors`: where the streams stand.
struct CursorsCommand: Command {
    static let name = "cursors"
    static let usage = "[options]"
    static let summary = "say up to where each stream is stored, and what waits"
    static let details = """
        Prints the cursor of each stream, from which the server is asked next, and the pages that
        wait for an earlier one. A stream without a cursor needs a full sync.

          lockkeeper cursors --json
        """

    init(_ arguments: inout Arguments) throws(UsageError) {}

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.reading { messages in
            let cursors = try await messages.cursors()
            let waiting = Dictionary(grouping: try await messages.waitingPages(), by: \.stream)
            let streams = Set(cursors.keys).union(waiting.keys).sorted()
            for stream in streams {
                try print(stream, cursors[stream], waiting[stream] ?? [], context)
            }
        }
        return .success
    }

    private func print(
        _ stream: StreamID,
        _ cursor: Cursor?,
        _ waiting: [PageGap],
        _ context: CommandContext
    ) throws {
        guard context.options.isJSON else {
            let place = cursor.map { terminalText($0.description) } ?? "no cursor"
            var line = "\(terminalText(stream.description))\t\(place)"
            if !waiting.isEmpty { line += "\t\(waiting.count) pages wait for an earlier one" }
            return try context.console.print(line)
        }
        try context.console.print { writer in
            writer.beginVersionedObject()
            writer.member("stream", stream)
            writer.member("cursor", cursor)
            writer.member("waiting", waiting)
            writer.endObject()
        }
    }
}

import LockkeeperDomain
import LockkeeperMessages

/// `quarantine show`: the bytes of something that was put aside.
struct QuarantineShowCommand: Command {
    static let name = "quarantine show"
    static let usage = "NUMBER"
    static let summary = "write the bytes of one thing that was put aside"
    static let details = """
        Writes the bytes as they came and a line end, to look at or to repair and ingest again; of a
        line that was too long the first MiB, which the error stream then says. With --json one
        object with the bytes in hexadecimal.

          lockkeeper quarantine show 3 | hexdump -C
        """

    private let number: Int64

    init(_ arguments: inout Arguments) throws(UsageError) {
        number = try arguments.positionalInteger("NUMBER", in: 1...Int64.max)
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.reading { messages in
            guard let item = try await messages.quarantined(number) else {
                throw CommandError.unknownQuarantineItem(number)
            }
            if context.options.isJSON {
                try context.console.print { writer in
                    writer.beginVersionedObject()
                    QuarantineOutput.write(item, into: &writer)
                    writer.member("content_hex", item.content.hexadecimal)
                    writer.endObject()
                }
                return
            }
            if item.content.count < item.byteCount {
                context.console.note(
                    "lockkeeper: the first \(item.content.count) of \(item.byteCount) bytes;"
                        + " SHA-256 of all: \(item.digest.hexadecimal)"
                )
            }
            try context.console.write(item.content + [UInt8(ascii: "\n")])
        }
        return .success
    }
}

import LockkeeperDomain
import LockkeeperSimulation

/// `bench media`: content in the database beside content in files.
struct BenchMediaCommand: Command {
    static let name = "bench media"
    static let usage = "[options]"
    static let summary = "measure content in the database beside content in files of their own"
    static let details = """
        Stores content of several sizes durably and reads it with its digest, in the database and in
        files, in turn, and prints the medians per file, in milliseconds: what the border between the
        two rests on. The disk is that of --root, an empty folder, else of temporary files.

          lockkeeper bench media --repeat 5 --json
        """
    static let options: [OptionSpecification] = [
        .value("count", "N", "files of each size and round [20]"),
        .value("repeat", "N", "how often each is measured [3]"),
    ]

    private let count: Int
    private let repeatCount: Int

    init(_ arguments: inout Arguments) throws(UsageError) {
        count = try arguments.integer("count", in: 1...1000) ?? 20
        repeatCount = try arguments.integer("repeat", in: 1...100) ?? 3
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        let folder = try ScratchFolder(kept: context.options.namedRoot, for: "bench")
        defer { folder.remove() }
        let run = MediaRun(root: folder.path, countPerSize: count, repeatCount: repeatCount)
        let rows = try await run.run()
        if !context.options.isJSON {
            try context.console.print("bytes\tstored: database\tfile\tread: database\tfile")
        }
        for row in rows {
            let times = [row.stored.inline, row.stored.file, row.read.inline, row.read.file]
            guard context.options.isJSON else {
                let texts = times.map { text(of: $0) }
                try context.console.print("\(row.byteCount)\t\(texts.joined(separator: "\t"))")
                continue
            }
            try context.console.print { writer in
                writer.beginVersionedObject()
                writer.member("bytes", row.byteCount)
                writer.member("stored_inline_ms", milliseconds: times[0])
                writer.member("stored_file_ms", milliseconds: times[1])
                writer.member("read_inline_ms", milliseconds: times[2])
                writer.member("read_file_ms", milliseconds: times[3])
                writer.endObject()
            }
        }
        return .success
    }

    private func text(of time: Duration) -> String {
        let microseconds = Int(time.milliseconds * 1000)
        return "\(Double(microseconds) / 1000)"
    }
}

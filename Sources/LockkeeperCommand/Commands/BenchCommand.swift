import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation

/// A scenario of `bench`: what it measures is its own, where it runs and how it is printed is the same
/// for all of them.
protocol BenchCommand: Command {
    /// The options of the scenario's own.
    static var scenarioOptions: [OptionSpecification] { get }
    /// Where a page is to be written; `nil`: nowhere.
    var reportPath: String? { get }

    /// Measures.
    ///
    /// - Throws: why it could not.
    func measure(at site: BenchSite) async throws -> BenchReport
}

extension BenchCommand {
    static var usage: String { "[options]" }

    static var options: [OptionSpecification] {
        scenarioOptions + [.value("report", "FILE", "write a page with plots as well")]
    }

    /// Runs in an empty folder on the disk that is measured, and prints what it came to.
    func run(in context: CommandContext) async throws -> ExitCode {
        let console = context.console
        let folder = try ScratchFolder(kept: context.options.namedRoot, for: "bench")
        defer { folder.remove() }
        let site = try BenchSite(program: try context.program, root: folder.path) {
            console.note($0)
        }
        let machine = try site.machine()
        let report = try await measure(at: site)
        if context.options.isJSON {
            try console.print { writer in
                writer.beginVersionedObject()
                report.write(on: machine, into: &writer)
                writer.endObject()
            }
        } else {
            for line in report.lines(on: machine) { try console.print(line) }
        }
        if let reportPath {
            let page = BenchPage(
                report,
                on: machine,
                by: CommandLine.arguments.joined(separator: " ")
            )
            try FileSystem.replaceFile(at: reportPath, with: Array(page.html.utf8), mode: 0o644)
        }
        return .success
    }

    /// The option `--seconds`, how long something is measured each time.
    static func time(_ arguments: inout Arguments) throws(UsageError) -> Duration? {
        try arguments.integer("seconds", in: 1...3600).map { .seconds($0) }
    }
}

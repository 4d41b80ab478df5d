import Lockkeeper
import LockkeeperDomain

/// What `--trace-sql` asks for: each statement of the command on the error stream, or the slow ones.
struct StatementTrace: Sendable, Hashable {
    /// What a statement must last to be told.
    let least: Duration
    /// Whether bound values are told.
    let includesValues: Bool

    static let options: [OptionSpecification] = [
        .optional("trace-sql", "MS", "tell each statement, or those that last MS milliseconds"),
        .flag("trace-values", "with --trace-sql: tell bound values too, which are messages"),
    ]

    /// Takes the options from a command line; `nil` where tracing is not asked for.
    ///
    /// - Throws: ``UsageError`` when the milliseconds are no number.
    init?(_ arguments: Arguments) throws(UsageError) {
        let least = try arguments.integer("trace-sql", in: 0...Int64(3_600_000))
        guard least != nil || arguments.flag("trace-sql") else { return nil }
        self.least = .milliseconds(least ?? 0)
        includesValues = arguments.flag("trace-values")
    }

    /// Tells statements from now on.
    func begin(on console: Console, asJSON isJSON: Bool) {
        Workspace.traceStatements(lastingAtLeast: least, includingValues: includesValues) { run in
            let sql = run.expandedSQL ?? run.sql
            guard isJSON else {
                let text = sql.split { $0 == " " || $0 == "\n" }.joined(separator: " ")
                console.note(
                    "sql \(Self.milliseconds(run.duration)) ms, \(run.rowCount) rows,"
                        + " \(run.file):\(run.line): \(terminalText(text))"
                )
                return
            }
            console.note(json: { writer in
                writer.beginObject()
                writer.key("sql")
                writer.beginObject()
                writer.member("ms", milliseconds: run.duration)
                writer.member("rows", run.rowCount)
                writer.member("file", run.file)
                writer.member("line", run.line)
                writer.member("text", sql)
                writer.endObject()
                writer.endObject()
            })
        }
    }

    private static func milliseconds(_ duration: Duration) -> String {
        let microseconds = duration.wholeNanoseconds / 1_000
        let rest = String(microseconds % 1_000)
        return "\(microseconds / 1_000)." + String(repeating: "0", count: 3 - rest.count) + rest
    }
}

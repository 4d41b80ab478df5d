/// Thrown when a run of several processes cannot go on as planned.
package enum SimulationError: Error, Sendable, CustomStringConvertible {
    /// Thrown when a process did not do in time what was waited for.
    case tookTooLong(process: String, awaited: String, lastErrors: [String])
    /// Thrown when a process ended that should have gone on, or ended otherwise than expected.
    case endedUnexpectedly(process: String, ending: String, lastErrors: [String])
    /// Thrown when a process printed a line that is none of its output format.
    case unreadableOutput(process: String, line: String)
    /// Thrown when SQLite fails in the baseline of a benchmark.
    case baselineFailed(path: String, code: Int32)
    /// Thrown when messages that were acknowledged in a benchmark are not there afterwards.
    case lost(acknowledged: Int, stored: Int)
    /// Thrown when a session of an account that was left could still write in a benchmark.
    case notRefused(account: String)
    /// Thrown when a search in a benchmark does not find what a scan of all texts finds.
    case hitsDiffer(needle: String, found: Int, expected: Int)
    /// Thrown when an input file cannot be used.
    case unusableInput(path: String, reason: String)

    /// The problem as sentences, with the last that the process said.
    package var description: String {
        switch self {
        case .tookTooLong(let process, let awaited, let errors):
            "\(process) did not come to this in time: \(awaited).\(Self.said(errors))"
        case .endedUnexpectedly(let process, let ending, let errors):
            "\(process) ended unexpectedly: \(ending).\(Self.said(errors))"
        case .unreadableOutput(let process, let line):
            "\(process) printed a line that is no output of its command: \(line)"
        case .baselineFailed(let path, let code):
            "SQLite failed in the baseline at \(path) with code \(code)."
        case .lost(let acknowledged, let stored):
            "\(acknowledged) messages were acknowledged, but only \(stored) are there."
        case .notRefused(let account):
            "A session of \(account) could write although that account was left."
        case .hitsDiffer(let needle, let found, let expected):
            "A search for \(needle) found \(found) messages where a scan of all finds \(expected)."
        case .unusableInput(let path, let reason):
            "\(path) cannot be used: \(reason)"
        }
    }

    private static func said(_ errors: [String]) -> String {
        errors.isEmpty ? "" : " It said: " + errors.joined(separator: " / ")
    }
}

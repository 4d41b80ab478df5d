/// Thrown when a command cannot do what it was asked for a reason of its own; where the coordinator
/// has one, its `LockkeeperError` is thrown instead.
struct CommandError: Error, Hashable, CustomStringConvertible {
    /// A stable name, for `--json`.
    let code: String
    /// How the program ends.
    let exitCode: ExitCode
    /// What happened and what to do, as sentences.
    let description: String

    /// An error of its parts.
    init(_ code: String, _ exitCode: ExitCode, _ description: String) {
        self.code = code
        self.exitCode = exitCode
        self.description = description
    }
}

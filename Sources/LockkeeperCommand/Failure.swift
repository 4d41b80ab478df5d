import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation
import LockkeeperSystemd

/// What the program says of an error, and how it ends: one voice for every room's errors.
struct Failure: Sendable {
    /// A stable name.
    let code: String
    /// How the program ends.
    let exitCode: ExitCode
    /// What happened, to what, and what to do.
    let sentence: String
    /// The coordinator's error, which has more to say to programs.
    private let detail: LockkeeperError?

    /// Judges an error.
    init(_ error: any Error) {
        detail = error as? LockkeeperError
        sentence =
            (error as? SystemCallError).map { Self.sentence(of: $0) } ?? String(describing: error)
        (code, exitCode) =
            switch error {
            case let error as LockkeeperError: (error.code.rawValue, ExitCode(error.code))
            case let error as CommandError: (error.code, error.exitCode)
            case is UsageError, is IdentifierError: ("usage", .usage)
            case let error as SystemCallError: ("system", Self.exitCode(of: error.errno))
            case is Interruption: ("interrupted", .interrupted)
            case is SimulationError: ("simulation", .found)
            case is ServiceManagerError: ("service-manager", .unavailable)
            default: ("internal", .internalFault)
            }
    }

    /// Says it on the error stream.
    func report(on console: Console, asJSON isJSON: Bool) {
        guard isJSON else { return console.log(terminalText(sentence), .error, fields) }
        console.note(json: { writer in
            writer.beginObject()
            writer.key("error")
            writer.beginObject()
            writer.member("code", code)
            writer.member("exit", exitCode.rawValue)
            writer.member("message", sentence)
            if let detail {
                writer.member("subject", detail.subject)
                writer.member("explanation", detail.explanation)
                if !detail.holders.isEmpty { writer.member("holders", detail.holders) }
                writer.member("answer", detail.answer.rawValue)
                writer.member("remedy", detail.remedy)
                // For whoever looks for the cause: SQLite's code and the statement stand in it.
                if let cause = detail.cause { writer.member("cause", String(describing: cause)) }
            }
            writer.endObject()
            writer.endObject()
        })
    }

    private var fields: [Journal.Field] {
        var fields = [
            Journal.Field("LOCKKEEPER_CODE", code),
            Journal.Field("LOCKKEEPER_EXIT", "\(exitCode.rawValue)"),
        ]
        if let detail {
            fields.append(Journal.Field("LOCKKEEPER_SUBJECT", detail.subject))
            fields.append(Journal.Field("LOCKKEEPER_ANSWER", detail.answer.rawValue))
            fields.append(Journal.Field("LOCKKEEPER_REMEDY", detail.remedy))
        }
        return fields
    }

    /// What the kernel refuses a command itself: its input, its output, a file that it was given.
    private static func sentence(of error: SystemCallError) -> String {
        let subject = error.path ?? "the program's own input or output"
        return "\(subject): cannot be used (\(error)). Look at what it is, at who may use it, and"
            + " at the disk."
    }

    private static func exitCode(of errno: Errno) -> ExitCode {
        switch errno {
        case .permissionDenied, .notPermitted: .permission
        default: .inputOutput
        }
    }
}

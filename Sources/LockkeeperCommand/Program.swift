import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform

/// The executable `lockkeeper`.
@main
struct Program {
    /// The version of this program.
    static let version = "0.1.0"

    static func main() {
        // Before anything is opened: a descriptor of ours must not become somebody's output.
        CurrentProcess.openMissingStandardStreams()
        CurrentProcess.ignoreBrokenPipes()
        let console = Console()
        CurrentProcess.exit(run(console).rawValue)
    }

    private static func run(_ console: Console) -> ExitCode {
        let input: CommandLineInput
        do throws(UsageError) {
            input = try CommandLineInput(
                try words(),
                environment: { Environment.variable($0) }
            )
        } catch {
            Failure(error).report(on: console, asJSON: CommandLine.arguments.contains("--json"))
            return .usage
        }
        do throws(SystemCallError) {
            switch input {
            case .print(let text):
                try console.print(text)
                return .success
            case .version:
                try console.print("lockkeeper \(version) (SQLite \(Workspace.sqliteVersion))")
                return .success
            case .run(let command, let options):
                return run(command, options, console)
            }
        } catch {
            return ending(error, CommandContext(console: console, options: GlobalOptions()))
        }
    }

    private static func run(
        _ command: any Command,
        _ options: GlobalOptions,
        _ console: Console
    ) -> ExitCode {
        // While this is the only thread, so that every other one inherits it.
        CurrentProcess.block(type(of: command).awaitedSignals)
        let context = CommandContext(console: console, options: options)
        options.trace?.begin(on: console, asJSON: options.isJSON)
        return CommandThread.run {
            do {
                try Confirmation.require(for: command, in: context)
                return try await command.run(in: context)
            } catch {
                return ending(error, context)
            }
        }
    }

    private static func ending(_ error: any Error, _ context: CommandContext) -> ExitCode {
        // Whoever reads the output has seen enough, as `head` has: nothing is wrong.
        if context.console.outputFailure?.errno == .brokenPipe { return .success }
        let failure = Failure(error)
        failure.report(on: context.console, asJSON: context.options.isJSON)
        return failure.exitCode
    }

    /// The words after the program's name. An argument is bytes; one that is no text would become
    /// another account's id by being repaired.
    private static func words() throws(UsageError) -> [String] {
        var words: [String] = []
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let pointer = CommandLine.unsafeArgv[index],
                let word = String(validatingCString: pointer)
            else { throw UsageError("Argument \(index) is not UTF-8.") }
            words.append(word)
        }
        return words
    }
}

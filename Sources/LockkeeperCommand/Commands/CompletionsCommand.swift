import LockkeeperDomain

/// `completions`: what a shell needs to complete this program's command lines.
struct CompletionsCommand: Command {
    static let name = "completions"
    static let usage = "bash|zsh"
    static let summary = "print what a shell needs to complete command lines"
    static let details = """
        Prints a script for bash or zsh, made of the table that this help is made of. Scripts/install
        puts both where the shells look for them; without it:

          lockkeeper completions bash > ~/.local/share/bash-completion/completions/lockkeeper
          lockkeeper completions zsh > ~/.zsh/functions/_lockkeeper
        """
    static let isHidden = true

    private enum Shell: String, CaseIterable { case bash, zsh }

    private let shell: Shell

    init(_ arguments: inout Arguments) throws(UsageError) {
        let word = try arguments.positional("bash|zsh")
        guard let shell = Shell(rawValue: word) else {
            throw UsageError("Completions are there for bash and zsh, not for '\(word)'.")
        }
        self.shell = shell
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        switch shell {
        case .bash: try context.console.print(BashCompletion.script)
        case .zsh: try context.console.print(ZshCompletion.script)
        }
        return .success
    }
}

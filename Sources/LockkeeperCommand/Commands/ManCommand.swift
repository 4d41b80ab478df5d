import LockkeeperDomain

/// `man`: this program's manual page.
struct ManCommand: Command {
    static let name = "man"
    static let usage = ""
    static let summary = "print the manual page"
    static let details = """
        Prints the manual page in the language of man(7), made of the table that this help is made of.
        Scripts/install puts it where man looks for it; without it:

          lockkeeper man | man -l -
        """
    static let isHidden = true

    init(_ arguments: inout Arguments) throws(UsageError) {}

    func run(in context: CommandContext) async throws -> ExitCode {
        try context.console.print(ManualPage.text)
        return .success
    }
}

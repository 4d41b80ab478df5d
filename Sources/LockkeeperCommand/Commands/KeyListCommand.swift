import Lockkeeper
import LockkeeperDomain

/// `key list`: the keys of an account, and which files need them.
struct KeyListCommand: Command {
    static let name = "key list"
    static let usage = "--keys PLACE [PATH...]"
    static let summary = "list an account's keys, and which files and backups need which"
    static let details = """
        Prints each key that PLACE has for the account, and below it the files that cannot be read
        without it: those in the account's folder, its own backups and replaced files among them, and what
        is found at each PATH, a backup or a folder. A key that files name and PLACE does not have is
        missing. Files that do not say which key they have, because they are damaged, stand at the end.

        Keys have names; the keys themselves are never printed. An account that was removed is named
        with --account: its keys are still there.

          lockkeeper key list --account alice --keys /media/stick/keys /media/backups
        """

    private let paths: [String]

    init(_ arguments: inout Arguments) throws(UsageError) {
        paths = arguments.remainingPositionals()
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try context.requireKeys()
        let uses = try await context.changing { workspace in
            try await workspace.keyUses(of: context.account(in: workspace), alsoIn: paths)
        }
        for use in uses.keys {
            guard !context.options.isJSON else {
                try context.console.print { writer in
                    writer.beginVersionedObject()
                    writer.member("account", uses.account)
                    writer.member("key", use.name)
                    writer.member("kept", use.isKept)
                    writer.member("files", use.files)
                    writer.endObject()
                }
                continue
            }
            let what = use.files.isEmpty ? "needed by nothing" : "needed by \(use.files.count)"
            try context.console.print("\(use.name)  \(use.isKept ? "kept" : "missing")  \(what)")
            for file in use.files { try context.console.print("  \(terminalText(file))") }
        }
        if !uses.unknown.isEmpty {
            if context.options.isJSON {
                try context.console.print { writer in
                    writer.beginVersionedObject()
                    writer.member("account", uses.account)
                    writer.member("key", nil as String?)
                    writer.member("kept", false)
                    writer.member("files", uses.unknown)
                    writer.endObject()
                }
            } else {
                try context.console.print("unknown  may need any of them  \(uses.unknown.count)")
                for file in uses.unknown { try context.console.print("  \(terminalText(file))") }
            }
        }
        return .success
    }
}

extension CommandContext {
    /// Says that a command needs to know where keys are.
    ///
    /// - Throws: ``CommandError`` where nothing does.
    func requireKeys() throws(CommandError) {
        if options.keys != nil { return }
        throw CommandError(
            "no-keys",
            .usage,
            "Nothing says where keys are kept. Give --keys PLACE, or set LOCKKEEPER_KEYS."
        )
    }
}

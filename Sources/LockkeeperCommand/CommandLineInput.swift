/// A command line that was understood.
enum CommandLineInput: Sendable {
    /// Say something and end.
    case print(String)
    /// Print the versions.
    case version
    /// Run a command.
    case run(any Command, GlobalOptions)

    /// Understands the words after the program's name. Options of every command may also stand
    /// before the command.
    ///
    /// - Throws: ``UsageError`` when they cannot be understood.
    init(
        _ words: [String],
        environment: (String) -> String?
    ) throws(UsageError) {
        var rest = words[...]
        if rest.first == "--version" {
            self = .version
            return
        }
        let leading = Self.takeLeadingOptions(&rest)
        if rest.isEmpty, leading.isEmpty || leading.contains("--help") {
            guard !leading.isEmpty else { throw UsageError("A command is missing.") }
            self = .print(Help.overview)
            return
        }
        let (command, wordCount) = try CommandList.find(rest)
        let own = rest.dropFirst(wordCount).prefix { $0 != "--" }
        // What stands behind `--` is another program's, for example.
        let words =
            leading + own.map { $0 == "-h" ? "--help" : $0 }
            + rest.dropFirst(wordCount + own.count)
        if words.prefix(while: { $0 != "--" }).contains("--help") {
            self = .print(Help.text(of: command))
            return
        }
        do throws(UsageError) {
            self = try Self.parse(command, words, environment: environment)
        } catch {
            throw UsageError("\(error) See 'lockkeeper \(command.name) --help'.")
        }
    }

    private static func parse(
        _ command: any Command.Type,
        _ words: [String],
        environment: (String) -> String?
    ) throws(UsageError) -> CommandLineInput {
        var arguments = try Arguments(
            words,
            options: GlobalOptions.specifications + command.allOptions
        )
        let options = try GlobalOptions(arguments, environment: environment)
        let instance = try command.init(&arguments)
        try arguments.finish()
        return .run(instance, options)
    }

    /// Takes the options before the command, each with its value.
    private static func takeLeadingOptions(_ words: inout ArraySlice<String>) -> [String] {
        var leading: [String] = []
        while let word = words.first, word.hasPrefix("-") {
            leading.append(word == "-h" ? "--help" : word)
            words.removeFirst()
            let takesValue = GlobalOptions.specifications.contains {
                $0.value != nil && "--\($0.name)" == word
            }
            if takesValue, let value = words.popFirst() { leading.append(value) }
        }
        return leading
    }
}

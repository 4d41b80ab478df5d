/// What `--help` says.
enum Help {
    /// The list of commands.
    static var overview: String {
        let shown = CommandList.all.filter { !$0.isHidden }
        let width = (shown.map { $0.name.count }.max() ?? 0) + 2
        let commands = shown.map {
            "  \(padded($0.name, to: width))\($0.summary)"
        }
        return """
            usage: lockkeeper COMMAND [options]

            An app and its helper processes share one database per account. This program is host,
            helper and tool.

            \(commands.joined(separator: "\n"))

            Options of every command:
            \(list(GlobalOptions.specifications))

            'lockkeeper COMMAND --help' says more. 'lockkeeper --version' names the versions.
            \(exitCodes)
            """
    }

    /// The exit codes as a sentence, in lines of at most 90 characters.
    private static var exitCodes: String {
        let parts = ExitCode.allCases.map { "\($0.rawValue) \($0.summary)" }
        let sentence = "Exit codes: \(parts.joined(separator: ", "))."
        var lines: [String] = []
        for part in sentence.split(separator: " ") {
            if let line = lines.last, line.count + part.count < 90 {
                lines[lines.count - 1] += " \(part)"
            } else {
                lines.append(String(part))
            }
        }
        return lines.joined(separator: "\n")
    }

    /// What one command does.
    static func text(of command: any Command.Type) -> String {
        var text = """
            usage: lockkeeper \(command.name) \(command.usage)

            \(command.details)

            """
        if !command.allOptions.isEmpty {
            text += "\nOptions:\n\(list(command.allOptions))\n"
        }
        text += "\nOptions of every command:\n\(list(GlobalOptions.specifications))"
        return text
    }

    private static func list(_ options: [OptionSpecification]) -> String {
        let width = (options.map(\.usage.count).max() ?? 0) + 2
        return options.map { "  \(padded($0.usage, to: width))\($0.summary)" }
            .joined(separator: "\n")
    }

    private static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}

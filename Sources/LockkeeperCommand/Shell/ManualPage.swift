/// The manual page, made of the table that the help is made of.
enum ManualPage {
    /// The page in the language of man(7).
    static var text: String {
        let shown = CommandList.all.filter { !$0.isHidden }
        return """
            .TH LOCKKEEPER 1 "" "lockkeeper \(escaped(Program.version))" "User Commands"
            .SH NAME
            lockkeeper \\- one database per account, shared by an app and its helper processes
            .SH SYNOPSIS
            .B lockkeeper
            .I COMMAND
            [\\fIoptions\\fR]
            .br
            .B lockkeeper
            .I COMMAND
            .B \\-\\-help
            .br
            .B lockkeeper \\-\\-version
            .SH DESCRIPTION
            An app and its helper processes share one SQLite database per account. This program is
            host, helper and tool. Results go to standard output, progress and diagnostics to
            standard error.
            .SH OPTIONS
            These options go with every command.
            \(options(GlobalOptions.specifications))
            .SH COMMANDS
            \(shown.map(section).joined(separator: "\n"))
            .SH EXIT STATUS
            \(exitCodes)
            .SH ENVIRONMENT
            .TP
            .B LOCKKEEPER_ROOT
            The workspace, where \\fB\\-\\-root\\fR is not given.
            .TP
            .B LOCKKEEPER_ACCOUNT
            The account, where \\fB\\-\\-account\\fR is not given.
            .TP
            .B XDG_STATE_HOME
            The workspace is the folder \\fIlockkeeper\\fR in it, where nothing else names one.
            """
    }

    private static func section(of command: any Command.Type) -> String {
        let usage = command.usage.isEmpty ? "" : " \(command.usage)"
        var lines = [".SS \(quoted("lockkeeper \(command.name)\(usage)"))"]
        lines.append(body(command.details))
        if !command.allOptions.isEmpty { lines.append(options(command.allOptions)) }
        return lines.joined(separator: "\n")
    }

    /// Paragraphs are filled; what is indented stands as it is.
    private static func body(_ details: String) -> String {
        var lines: [String] = []
        var isExample = false
        for line in details.split(separator: "\n", omittingEmptySubsequences: false) {
            let indents = line.hasPrefix("  ")
            if line.isEmpty {
                if !isExample { lines.append(".PP") } else { lines.append("") }
                continue
            }
            if indents != isExample {
                // An empty line before the end of an example is the gap of the next paragraph.
                if isExample, lines.last == "" { lines.removeLast() }
                if lines.last == ".PP" { lines.removeLast() }
                lines += indents ? [".PP", ".nf"] : [".fi", ".PP"]
                isExample = indents
            }
            lines.append(escaped(String(line)))
        }
        if isExample { lines.append(".fi") }
        return lines.joined(separator: "\n")
    }

    private static func options(_ options: [OptionSpecification]) -> String {
        options.map { option in
            var value = option.value.map { " \\fI\(inline($0))\\fR" } ?? ""
            if option.isValueOptional { value = "[=\(value.dropFirst())]" }
            return ".TP\n\\fB\(inline("--\(option.name)"))\\fR\(value)\n\(escaped(option.summary))"
        }.joined(separator: "\n")
    }

    private static var exitCodes: String {
        ExitCode.allCases.map { ".TP\n.B \($0.rawValue)\n\(escaped($0.summary))" }
            .joined(separator: "\n")
    }

    /// A line of text that is nothing but text: one that begins with a dot would be a request.
    private static func escaped(_ text: String) -> String {
        let line = inline(text)
        return line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" + line : line
    }

    private static func inline(_ text: String) -> String {
        text.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("…", with: "...")
    }

    /// A text as one argument of a request.
    private static func quoted(_ text: String) -> String {
        "\"\(inline(text).replacing("\"", with: "\\(dq"))\""
    }
}

import LockkeeperPlatform

/// Whether somebody really means what takes something away for good.
enum Confirmation {
    /// Returns where the command takes nothing away, `--yes` was given, or somebody at a terminal says
    /// yes.
    ///
    /// - Throws: ``UsageError`` where nobody can be asked, ``CommandError`` where the answer is another.
    static func require(
        for command: any Command,
        in context: CommandContext
    ) throws {
        guard let loss = command.loss, !context.options.isConfirmed else { return }
        let input = try? StandardInput.open()
        // A program that reads JSON is nobody to ask, even where a terminal is at hand.
        guard let input, input.isTerminal, context.console.isErrorStreamShown,
            !context.options.isJSON
        else {
            let name = type(of: command).name
            throw UsageError(
                "\(loss) Give --yes if that is meant. See 'lockkeeper \(name) --help'."
            )
        }
        context.console.show("\(loss) Really? [y/N] ")
        let answer = String(decoding: try line(from: input), as: UTF8.self).lowercased()
        if ["y", "yes"].contains(answer) { return }
        throw CommandError("not-confirmed", .usage, "Nothing was changed, as nobody said yes.")
    }

    /// What somebody types up to the end of the line, without blanks around it.
    private static func line(
        from input: borrowing FileDescriptor
    ) throws(SystemCallError) -> [UInt8] {
        var line: [UInt8] = []
        // A terminal hands out a line at a time; an answer is short, and a long one is no yes.
        while line.last != UInt8(ascii: "\n"), line.count < 64 {
            let bytes = try input.readToEnd(limit: 1)
            if bytes.isEmpty { break }
            line += bytes
        }
        return line.filter { $0 > UInt8(ascii: " ") }
    }
}

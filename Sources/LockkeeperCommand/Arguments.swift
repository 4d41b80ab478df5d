/// The words of a command line, sorted into options and positional arguments.
///
/// The grammar is the usual one: `--name`, `--name value`, `--name=value`; options and positional
/// arguments in any order; `--` ends options; `-` alone is a positional argument. A value that
/// begins with a hyphen is written with `=`, so that a forgotten value does not swallow the option
/// behind it. What is not known, is given twice, or is left over is an error, never ignored.
struct Arguments {
    private var flags: Set<String> = []
    private var values: [String: String] = [:]
    private var positionals: ArraySlice<String> = []

    /// Sorts words.
    ///
    /// - Parameter options: the options that may be there. Reading one that is not among them is a
    ///   programmer's error.
    /// - Throws: ``UsageError`` for an unknown, repeated or incomplete option.
    init(_ words: some Sequence<String>, options: [OptionSpecification]) throws(UsageError) {
        var words = ArraySlice(Array(words))
        var hasEnded = false
        while let word = words.popFirst() {
            if hasEnded || !word.hasPrefix("-") || word == "-" {
                positionals.append(word)
            } else if word == "--" {
                hasEnded = true
            } else {
                try take(word, following: &words, options: options)
            }
        }
    }

    /// Whether a flag was given.
    func flag(_ name: String) -> Bool { flags.contains(name) }

    /// The value of an option; `nil` where it was not given.
    func value(_ name: String) -> String? { values[name] }

    /// The value of an option as a whole number.
    ///
    /// - Throws: ``UsageError`` when it is none, or out of range.
    func integer<Number: FixedWidthInteger>(
        _ name: String,
        in range: ClosedRange<Number>
    ) throws(UsageError) -> Number? {
        guard let text = values[name] else { return nil }
        return try Self.integer(text, called: "--\(name)", in: range)
    }

    /// The value of an option that has a few.
    ///
    /// - Throws: ``UsageError`` that lists them when it is another.
    func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ name: String,
        of type: Choice.Type
    ) throws(UsageError) -> Choice? {
        guard let text = values[name] else { return nil }
        if let choice = Choice(rawValue: text) { return choice }
        let known = Choice.allCases.map { "'\($0.rawValue)'" }.joined(separator: " or ")
        throw UsageError("--\(name) is \(known), not '\(text)'.")
    }

    /// Takes the next positional argument; `nil` where none is left.
    mutating func optionalPositional() -> String? { positionals.popFirst() }

    /// Takes the next positional argument.
    ///
    /// - Throws: ``UsageError`` when none is left.
    mutating func positional(_ name: String) throws(UsageError) -> String {
        guard let word = positionals.popFirst() else {
            throw UsageError("\(name) is missing.")
        }
        return word
    }

    /// Takes the next positional argument as a whole number.
    ///
    /// - Throws: ``UsageError`` when none is left, it is no number, or it is out of range.
    mutating func positionalInteger<Number: FixedWidthInteger>(
        _ name: String,
        in range: ClosedRange<Number>
    ) throws(UsageError) -> Number {
        try Self.integer(try positional(name), called: name, in: range)
    }

    /// Takes all positional arguments that are left.
    mutating func remainingPositionals() -> [String] {
        defer { positionals.removeAll() }
        return Array(positionals)
    }

    /// Says that no positional argument may be left.
    ///
    /// - Throws: ``UsageError`` that names the first one.
    func finish() throws(UsageError) {
        guard let word = positionals.first else { return }
        throw UsageError("'\(word)' is one argument too many.")
    }

    private mutating func take(
        _ word: String,
        following words: inout ArraySlice<String>,
        options: [OptionSpecification]
    ) throws(UsageError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let attached = parts.count == 2 ? String(parts[1]) : nil
        guard let option = options.first(where: { "--\($0.name)" == parts[0] }) else {
            throw UsageError(Self.unknown(String(parts[0]), options))
        }
        guard !flags.contains(option.name), values[option.name] == nil else {
            throw UsageError("--\(option.name) was given twice.")
        }
        if option.isValueOptional {
            flags.insert(option.name)
            if let attached { values[option.name] = attached }
            return
        }
        guard let placeholder = option.value else {
            guard attached == nil else { throw UsageError("--\(option.name) takes no value.") }
            flags.insert(option.name)
            return
        }
        if let attached {
            values[option.name] = attached
        } else if let next = words.first, !next.hasPrefix("-") || next == "-" {
            values[option.name] = next
            words.removeFirst()
        } else {
            throw UsageError(
                "--\(option.name) needs a value: --\(option.name) \(placeholder). One that begins"
                    + " with a hyphen is written --\(option.name)=\(placeholder)."
            )
        }
    }

    private static func integer<Number: FixedWidthInteger>(
        _ text: String,
        called name: String,
        in range: ClosedRange<Number>
    ) throws(UsageError) -> Number {
        guard let number = Number(text), range.contains(number) else {
            let bound =
                range.upperBound == .max
                ? "of at least \(range.lowerBound)"
                : "from \(range.lowerBound) to \(range.upperBound)"
            throw UsageError("\(name) is a whole number \(bound), not '\(text)'.")
        }
        return number
    }

    private static func unknown(_ word: String, _ options: [OptionSpecification]) -> String {
        let nearest = options.map { "--\($0.name)" }
            .map { (name: $0, distance: editDistance($0, word)) }
            .min { $0.distance < $1.distance }
        if let nearest, nearest.distance <= 2 {
            return "There is no option \(word). Did you mean \(nearest.name)?"
        }
        let hint = " Behind '--' everything is an argument: -- \(word)"
        return "There is no option \(word).\(hint)"
    }
}

/// How many bytes must be added, removed or replaced to make one text of the other (Levenshtein).
/// It finds what somebody meant; equal is decided elsewhere.
func editDistance(_ left: String, _ right: String) -> Int {
    let right = Array(right.utf8)
    var previous = Array(0...right.count)
    for (row, byte) in left.utf8.enumerated() {
        var current = [row + 1]
        for (column, other) in right.enumerated() {
            let replaced = previous[column] + (byte == other ? 0 : 1)
            current.append(min(replaced, previous[column + 1] + 1, current[column] + 1))
        }
        previous = current
    }
    return previous[right.count]
}

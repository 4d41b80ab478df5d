/// What a shell can complete of a command line, taken from the table that the help is made of, so that
/// the two cannot differ.
struct CompletionTable {
    /// A command and what may follow it.
    struct Entry {
        let name: String
        let summary: String
        /// Its own options and those of every command.
        let options: [OptionSpecification]
        /// Whether one of its positional arguments is a file.
        let takesFile: Bool
    }

    /// What follows an option.
    enum Value: Equatable {
        /// Nothing: it is a flag.
        case none
        /// One of a few words.
        case choices([String])
        case file
        case folder
        /// Something that nobody can guess.
        case free
    }

    /// The commands that the help shows, in its order.
    let entries: [Entry] = CommandList.all.filter { !$0.isHidden }.map { command in
        Entry(
            name: command.name,
            summary: command.summary,
            options: command.allOptions + GlobalOptions.specifications,
            takesFile: command.usage.contains("FILE")
        )
    }

    /// The first words of all commands, each once, with what they are about.
    var firstWords: [(word: String, summary: String)] {
        var found: [(word: String, summary: String)] = []
        for entry in entries {
            let parts = entry.name.split(separator: " ").map(String.init)
            guard !found.contains(where: { $0.word == parts[0] }) else { continue }
            let members = members(of: parts[0])
            let summary =
                members.isEmpty ? entry.summary : members.map(\.word).joined(separator: ", ")
            found.append((parts[0], summary))
        }
        return found
    }

    /// The first words that need a second one.
    var groups: [String] { firstWords.map(\.word).filter { !members(of: $0).isEmpty } }

    /// The second words behind a first one; empty where that is a command by itself.
    func members(of group: String) -> [(word: String, summary: String)] {
        entries.filter { $0.name.hasPrefix(group + " ") }
            .map { (String($0.name.dropFirst(group.count + 1)), $0.summary) }
    }

    /// What follows an option, as its placeholder in the help says it.
    static func value(of option: OptionSpecification) -> Value {
        guard let placeholder = option.value, !option.isValueOptional else { return .none }
        if placeholder == "FILE" { return .file }
        if placeholder == "DIR" { return .folder }
        let words = placeholder.split(separator: "|").map(String.init)
        return words.count > 1 ? .choices(words) : .free
    }
}

/// One option of a command: how it is written, and what its help says.
struct OptionSpecification: Sendable, Hashable {
    /// The name without its two hyphens.
    let name: String
    /// What the value is called in the help; `nil` for a flag, which takes none.
    let value: String?
    /// What it does, as one line of the help.
    let summary: String
    /// Whether the value may be left out; it is then only taken behind `=`.
    var isValueOptional = false

    /// An option that takes a value.
    static func value(_ name: String, _ value: String, _ summary: String) -> OptionSpecification {
        OptionSpecification(name: name, value: value, summary: summary)
    }

    /// An option whose value may be left out.
    static func optional(
        _ name: String,
        _ value: String,
        _ summary: String
    ) -> OptionSpecification {
        OptionSpecification(name: name, value: value, summary: summary, isValueOptional: true)
    }

    /// An option that is there or not.
    static func flag(_ name: String, _ summary: String) -> OptionSpecification {
        OptionSpecification(name: name, value: nil, summary: summary)
    }

    /// The option as the help writes it: "--limit N".
    var usage: String {
        guard let value else { return "--\(name)" }
        return isValueOptional ? "--\(name)[=\(value)]" : "--\(name) \(value)"
    }
}

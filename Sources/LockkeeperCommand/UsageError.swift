/// Thrown when a command line cannot be understood: the program did nothing.
struct UsageError: Error, Hashable, CustomStringConvertible {
    /// What is wrong with it, and what to write instead, as sentences.
    let description: String

    /// An error of its sentences.
    init(_ description: String) { self.description = description }
}

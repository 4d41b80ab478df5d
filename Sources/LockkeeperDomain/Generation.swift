/// Counts how often the right to write an account has changed hands.
///
/// One counter serves a whole workspace: activating or retiring any account takes its next value.
public struct Generation: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The counter's value, 0 before the first activation.
    public let rawValue: Int64

    /// Wraps a counter's value.
    public init(_ rawValue: Int64) { self.rawValue = rawValue }

    /// The value after this one.
    public var next: Generation { Generation(rawValue + 1) }

    /// The number in decimal digits.
    public var description: String { String(rawValue) }

    /// Orders generations by age.
    public static func < (left: Generation, right: Generation) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// The right to write one account, as every write carries it and storage checks it inside the
/// transaction that it protects (I-2).
public struct FencingToken: Sendable, Hashable, CustomStringConvertible {
    /// The account that may be written.
    public let account: AccountID
    /// The generation under which the right was given.
    public let generation: Generation

    /// Joins an account and a generation.
    public init(account: AccountID, generation: Generation) {
        self.account = account
        self.generation = generation
    }

    /// Account and generation, for messages to people.
    public var description: String { "\(account) at generation \(generation)" }
}

/// Whether an account takes writes.
public enum AccountState: String, Sendable, Hashable {
    /// The account takes writes under its current generation.
    case active
    /// The account was signed out of, or never activated; it takes none.
    case retired
}

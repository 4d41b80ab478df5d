/// The place of a commit in the order of all commits of one store.
///
/// Numbers rise in commit order over all processes and are never reused (I-8). They jump where
/// commits that were announced may have been lost with the power.
public struct CommitNumber: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The number, 0 before the first commit.
    public let rawValue: Int64

    /// Wraps a number.
    public init(_ rawValue: Int64) { self.rawValue = rawValue }

    /// The number of the commit that follows without a jump.
    public var next: CommitNumber { CommitNumber(rawValue + 1) }

    /// The number in decimal digits.
    public var description: String { String(rawValue) }

    /// Orders commits as they happened.
    public static func < (left: CommitNumber, right: CommitNumber) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// Names one store file for life. A restored, recovered or re-keyed store is another store.
public struct StoreIdentity: Sendable, Hashable, CustomStringConvertible {
    /// 16 random bytes.
    public let bytes: [UInt8]

    /// Wraps 16 bytes; `nil` for any other count.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// Reads the form that ``description`` writes; `nil` for anything else.
    public init?(_ text: some StringProtocol) {
        guard let bytes = [UInt8](hexadecimal: text) else { return nil }
        self.init(bytes: bytes)
    }

    /// The same of UTF-8.
    package init?(utf8 text: UnsafeRawBufferPointer) {
        guard let bytes = [UInt8](hexadecimal: text) else { return nil }
        self.init(bytes: bytes)
    }

    /// Draws a new identity.
    public static func random(using generator: inout some RandomNumberGenerator) -> StoreIdentity {
        StoreIdentity(
            checked: (0..<byteCount).map { _ in UInt8.random(in: 0...255, using: &generator) }
        )
    }

    /// 32 lower-case hexadecimal digits.
    public var description: String { bytes.hexadecimal }

    private static let byteCount = 16

    private init(checked bytes: [UInt8]) { self.bytes = bytes }
}

/// Up to which commit of which store somebody has read.
public struct Position: Sendable, Hashable, CustomStringConvertible {
    /// The store that was read.
    public let store: StoreIdentity
    /// The last commit that was read.
    public let commit: CommitNumber

    /// Joins a store and a commit.
    public init(store: StoreIdentity, commit: CommitNumber) {
        self.store = store
        self.commit = commit
    }

    /// Reads the form that ``description`` writes; `nil` for anything else.
    public init?(_ text: some StringProtocol) {
        let position = Array(text.utf8).withUnsafeBytes { Position(utf8: $0) }
        guard let position else { return nil }
        self = position
    }

    /// The same of UTF-8. Hub and feeds read one for every range, which is why it is done without
    /// making strings.
    package init?(utf8 text: UnsafeRawBufferPointer) {
        guard let colon = text.lastIndex(of: UInt8(ascii: ":")), colon + 1 < text.count,
            let store = StoreIdentity(utf8: UnsafeRawBufferPointer(rebasing: text[..<colon]))
        else { return nil }
        var number: Int64 = 0
        for byte in text[(colon + 1)...] {
            guard case UInt8(ascii: "0")...UInt8(ascii: "9") = byte else { return nil }
            let (tens, isTooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, isTooLargeYet) = tens.addingReportingOverflow(Int64(byte & 15))
            if isTooLarge || isTooLargeYet { return nil }
            number = sum
        }
        self.init(store: store, commit: CommitNumber(number))
    }

    /// `STORE:N`, the store's identity and the commit's number.
    public var description: String { "\(store):\(commit)" }
}

internal import LockkeeperDomain

/// Why a line is no event, or an event cannot be stored.
///
/// It names a rule, a field and a place, never the content, so that it may be shown, logged and
/// kept in quarantine beside a message that nobody else may read.
public struct EventError: Error, Hashable, CustomStringConvertible {
    /// The rule that was broken.
    public let code: Code
    /// The field that broke it, by its name in the line; `nil` for the line as a whole.
    public let field: String?
    /// The place, in bytes from the start of the line, where it is known.
    public let offset: Int?
    /// The problem as a sentence without field and place.
    public let reason: String

    /// What can be wrong. The raw values stand in quarantine and in the output of commands.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// Thrown when a line is not UTF-8.
        case notUTF8 = "not-utf-8"
        /// Thrown when a line is not JSON.
        case notJSON = "not-json"
        /// Thrown when a line is JSON but not an object.
        case notObject = "not-an-object"
        /// Thrown when values nest deeper than ``Limits/nestingDepthMax``.
        case tooDeep = "too-deep"
        /// Thrown when text holds half of a surrogate pair.
        case loneSurrogate = "lone-surrogate"
        /// Thrown when an object has the same key twice.
        case duplicateKey = "duplicate-key"
        /// Thrown when a line is longer than ``Limits/lineByteCountMax``.
        case lineTooLong = "line-too-long"
        /// Thrown when a field is missing that the event needs.
        case missing = "missing"
        /// Thrown when a field's value is of another kind. `null` is of its own kind: a field that
        /// has no value is left out.
        case mistyped = "mistyped"
        /// Thrown when an integer is out of the field's range.
        case outOfRange = "out-of-range"
        /// Thrown when an identifier is empty.
        case emptyIdentifier = "empty-id"
        /// Thrown when an identifier is longer than ``IdentifierError/byteCountMax``.
        case identifierTooLong = "id-too-long"
        /// Thrown when a field is not an RFC 3339 date and time in the years 1 to 9999.
        case invalidTimestamp = "invalid-timestamp"
        /// Thrown when a field has none of the values that it may have.
        case invalidValue = "invalid-value"
        /// Thrown when a message body is longer than ``Limits/bodyByteCountMax``.
        case bodyTooLong = "body-too-long"
        /// Thrown when an extra field has the name of a field of its event.
        case reservedField = "reserved-field"
    }

    /// Joins a rule, a field, a place and a sentence.
    package init(_ code: Code, field: String? = nil, at offset: Int? = nil, reason: String) {
        self.code = code
        self.field = field
        self.offset = offset
        self.reason = reason
    }

    /// An error of the scanner, in a field or in the line as a whole.
    init(_ error: JSONError, field: String? = nil) {
        let code: Code =
            switch error.code {
            case .invalidUTF8: .notUTF8
            case .loneSurrogate: .loneSurrogate
            case .duplicateKey: .duplicateKey
            case .tooDeep: .tooDeep
            case .mistyped: field == nil ? .notObject : .mistyped
            case .notInteger: .mistyped
            case .integerOutOfRange: .outOfRange
            case .unexpectedEnd, .unexpectedByte, .trailingBytes, .controlCharacter,
                .invalidEscape:
                .notJSON
            }
        self.init(code, field: field, at: error.offset, reason: error.sentence)
    }

    /// An error of an identifier.
    init(_ error: IdentifierError, field: String, at offset: Int? = nil) {
        let code: Code =
            switch error {
            case .empty: .emptyIdentifier
            case .tooLong: .identifierTooLong
            }
        self.init(code, field: field, at: offset, reason: error.description)
    }

    /// The problem as a sentence with its field and place.
    public var description: String {
        let subject = field.map { "\($0): " } ?? ""
        let place = offset.map { " (at byte \($0))" } ?? ""
        return subject + reason + place
    }
}

/// Why some bytes are not the JSON that was expected.
///
/// It names a place and a rule, never the content, so that it may be shown and logged.
package struct JSONError: Error, Hashable, CustomStringConvertible {
    /// The rule that was broken.
    package let code: Code
    /// The place, in bytes from the start of what was scanned.
    package let offset: Int

    /// What can be wrong.
    package enum Code: Sendable, Hashable {
        /// Thrown when the bytes end inside of a value.
        case unexpectedEnd
        /// Thrown when a byte stands where the grammar of RFC 8259 has none of its kind; a comma
        /// before a closing bracket is the common case.
        case unexpectedByte
        /// Thrown when bytes follow the value.
        case trailingBytes
        /// Thrown when bytes are not UTF-8: ill-formed, overlong, or an encoded surrogate.
        case invalidUTF8
        /// Thrown when a control character stands in a string unescaped.
        case controlCharacter
        /// Thrown when a backslash is followed by something that is no escape.
        case invalidEscape
        /// Thrown when an escape is one half of a surrogate pair: no text can hold it.
        case loneSurrogate
        /// Thrown when an object names a key twice, whichever way it is escaped.
        case duplicateKey
        /// Thrown when values nest deeper than the scanner's bound.
        case tooDeep
        /// Thrown when a value is not of the kind that was read.
        case mistyped(expected: JSONKind)
        /// Thrown when a number that is read as an integer has a fraction or an exponent.
        case notInteger
        /// Thrown when an integer lies outside of ±(2^53 − 1), beyond which other programs round.
        case integerOutOfRange
    }

    /// Joins a rule and a place.
    package init(_ code: Code, at offset: Int) {
        self.code = code
        self.offset = offset
    }

    /// The problem as a sentence.
    package var description: String { "\(sentence) (at byte \(offset))" }

    /// The problem as a sentence without its place.
    package var sentence: String {
        switch code {
        case .unexpectedEnd: "the JSON ends inside of a value"
        case .unexpectedByte: "a byte stands where JSON does not allow it"
        case .trailingBytes: "something follows the JSON value"
        case .invalidUTF8: "the bytes are not UTF-8"
        case .controlCharacter: "a control character stands in a string unescaped"
        case .invalidEscape: "a backslash is followed by something that is no escape"
        case .loneSurrogate: "an escape is one half of a surrogate pair"
        case .duplicateKey: "an object has the same key twice"
        case .tooDeep: "the values nest too deep"
        case .mistyped(let expected): "the value is not \(expected.noun)"
        case .notInteger: "the number has a fraction or an exponent, an integer was expected"
        case .integerOutOfRange: "the integer lies outside of ±(2^53 − 1)"
        }
    }
}

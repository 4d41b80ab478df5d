import LockkeeperDomain

/// Text from outside as a terminal may show it: on one line, and without what a terminal obeys.
///
/// Messages hold line ends, escape sequences, backspaces and controls that turn the writing
/// direction; whoever sends one must not be able to rewrite the reader's screen.
func terminalText(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isObeyed) else { return text }
    var result = ""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\n": result += "\\n"
        case "\r": result += "\\r"
        case "\t": result += "\\t"
        case _ where isObeyed(scalar): result += "\\u{\(String(scalar.value, radix: 16))}"
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result
}

private func isObeyed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    // Controls, then line and paragraph separators, then those of the writing direction. The
    // joiners that emoji and some scripts need are harmless.
    case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029, 0x202A...0x202E, 0x2066...0x2069: true
    default: false
    }
}

/// An id as a terminal may show it: ids are bytes, and two that look alike are two. What is not seen,
/// joiners and spaces of other widths for example, is escaped; so is a backslash, so that an id that
/// spells an escape is not taken for the one that it spells.
func terminalID(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: { isUnseen($0) || $0 == "\\" }) else { return text }
    var result = ""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\\": result += "\\\\"
        case _ where isUnseen(scalar): result += "\\u{\(String(scalar.value, radix: 16))}"
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result
}

/// A word as a shell takes it for one.
func shellWord(_ word: String) -> String {
    let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,:@%+=/")
    if !word.isEmpty, word.allSatisfy(plain.contains) { return word }
    return "'"
        + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#)
        + "'"
}

/// An id as a command line names it, which is as ``terminalID(_:)`` shows it: so that every id that
/// is shown can be named, one with NUL for example, which no argument can hold.
///
/// - Throws: ``UsageError`` where a backslash begins no escape.
func idFromTerminal(_ text: some StringProtocol) throws(UsageError) -> String {
    guard text.utf8.contains(UInt8(ascii: "\\")) else { return String(text) }
    var result = String.UnicodeScalarView()
    var rest = text.unicodeScalars[...]
    while let scalar = rest.popFirst() {
        guard scalar == "\\" else {
            result.append(scalar)
            continue
        }
        let escape = rest.popFirst()
        if escape == "\\" {
            result.append("\\")
            continue
        }
        guard escape == "u", rest.popFirst() == "{", let end = rest.firstIndex(of: "}"),
            (1...6).contains(rest.distance(from: rest.startIndex, to: end)),
            let value = UInt32(String(String.UnicodeScalarView(rest[..<end])), radix: 16),
            let named = Unicode.Scalar(value)
        else {
            throw UsageError(
                #"In an id a backslash begins an escape: '\\' is a backslash, '\u{0}' is NUL."#
            )
        }
        result.append(named)
        rest = rest[rest.index(after: end)...]
    }
    return String(result)
}

extension ByteIdentifier {
    /// An id as a command line names it.
    ///
    /// - Parameter name: what it is called in the error: "A message's id".
    /// - Throws: ``UsageError`` when it is empty or too long, or a backslash begins no escape.
    init(shown text: some StringProtocol, called name: String) throws(UsageError) {
        let text = try idFromTerminal(text)
        do throws(IdentifierError) {
            try self.init(text)
        } catch {
            throw UsageError("\(name) has 1 to \(IdentifierError.byteCountMax) bytes.")
        }
    }
}

private func isUnseen(_ scalar: Unicode.Scalar) -> Bool {
    if scalar == " " { return false }
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator, .unassigned,
        .privateUse, .surrogate:
        return true
    default: return isObeyed(scalar) || scalar.properties.isDefaultIgnorableCodePoint
    }
}

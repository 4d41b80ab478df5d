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

private func isUnseen(_ scalar: Unicode.Scalar) -> Bool {
    if scalar == " " { return false }
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator, .unassigned,
        .privateUse, .surrogate:
        return true
    default: return isObeyed(scalar) || scalar.properties.isDefaultIgnorableCodePoint
    }
}

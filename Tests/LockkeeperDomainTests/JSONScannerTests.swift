import LockkeeperDomain
import Testing

/// The scanner is the only door for text from outside (I-9: bounded in depth), so what it refuses
/// is tested as closely as what it reads.
@Suite struct JSONScannerTests {
    @Test("An object is pulled key by key with the values that stand in it")
    func pullsValues() throws {
        let text =
            #" {"id":"a\u0000\ud83d\ude00\/", "n" : -9007199254740991 ,"yes":true,"#
            + #""none":null,"list":[1,2,[]]}"#
        try scan(text) { scanner in
            var seen: [String] = []
            try scanner.beginObject()
            while let key = try scanner.nextKey() {
                if scanner.matches(key, "id") {
                    #expect(try scanner.readStringBytes() == Array("a\0😀/".utf8))
                } else if scanner.matches(key, "n") {
                    #expect(try scanner.readInteger() == -JSONScanner.integerMax)
                } else if scanner.matches(key, "yes") {
                    #expect(try !scanner.readNull())
                    #expect(try scanner.readBool())
                } else if scanner.matches(key, "none") {
                    #expect(try scanner.readNull())
                } else {
                    var list: [[UInt8]] = []
                    try scanner.beginArray()
                    while try scanner.nextElement() {
                        list.append(Array(scanner.rawBytes(try scanner.nextValue())))
                    }
                    #expect(list == ["1", "2", "[]"].map { Array($0.utf8) })
                }
                seen.append(try scanner.string(key.slice))
            }
            #expect(seen == ["id", "n", "yes", "none", "list"])
        }
    }

    @Test(
        "Each text that RFC 8259 allows is passed over whole",
        arguments: [
            "0", "-0", "10.25e-3", "1E+2", "\"\"", "\"\u{7F}\u{2028}é한😀\"", "[]", "{}", "[[],{}]",
            " \t\r\n[ 1 , {\"a\" : [ ] } ]\n", "true", "false", "null",
            #""\"\\\/\b\f\n\r\t\uABCD""#,
            #"{"a":1,"b":{"a":1}}"#, #"[{"a":1},{"a":2}]"#,
        ]
    )
    func acceptsValid(text: String) throws {
        try scan(text) { scanner in _ = try scanner.nextValue() }
    }

    struct Refusal: CustomTestStringConvertible {
        let bytes: [UInt8]
        let error: JSONError
        var testDescription: String {
            "\(String(reflecting: String(decoding: bytes, as: UTF8.self))): \(error)"
        }

        init(_ text: String, _ code: JSONError.Code, at offset: Int) {
            self.init(Array(text.utf8), code, at: offset)
        }

        init(_ bytes: [UInt8], _ code: JSONError.Code, at offset: Int) {
            self.bytes = bytes
            error = JSONError(code, at: offset)
        }
    }

    @Test(
        "Each text that breaks a rule is refused with the rule and the place",
        arguments: [
            Refusal("", .unexpectedEnd, at: 0),
            Refusal("  ", .unexpectedEnd, at: 2),
            Refusal("[1", .unexpectedEnd, at: 2),
            Refusal("\"abc", .unexpectedEnd, at: 4),
            Refusal("\"abcdefghijk", .unexpectedEnd, at: 12),
            Refusal("\"\\", .unexpectedEnd, at: 2),
            Refusal("{\"a\"", .unexpectedEnd, at: 4),
            Refusal("tru", .unexpectedEnd, at: 3),
            Refusal("[1,]", .unexpectedByte, at: 3),
            Refusal("[,1]", .unexpectedByte, at: 1),
            Refusal("[1 2]", .unexpectedByte, at: 3),
            Refusal("{\"a\":1,}", .unexpectedByte, at: 7),
            Refusal("{\"a\" 1}", .unexpectedByte, at: 5),
            Refusal("{a:1}", .unexpectedByte, at: 1),
            Refusal("{1:1}", .unexpectedByte, at: 1),
            Refusal("[1}", .unexpectedByte, at: 2),
            Refusal("'a'", .unexpectedByte, at: 0),
            Refusal("nUll", .unexpectedByte, at: 1),
            Refusal("+1", .unexpectedByte, at: 0),
            Refusal(".5", .unexpectedByte, at: 0),
            Refusal("1.", .unexpectedEnd, at: 2),
            Refusal("[1.]", .unexpectedByte, at: 3),
            Refusal("-", .unexpectedEnd, at: 1),
            Refusal("[1e]", .unexpectedByte, at: 3),
            Refusal("01", .trailingBytes, at: 1),
            Refusal("NaN", .unexpectedByte, at: 0),
            Refusal("\u{FEFF}1", .unexpectedByte, at: 0),
            Refusal("{} {}", .trailingBytes, at: 3),
            Refusal("\"a\nb\"", .controlCharacter, at: 2),
            Refusal("\"12345678\u{1F}\"", .controlCharacter, at: 9),
            Refusal("\"\0\"", .controlCharacter, at: 1),
            Refusal(#""\x41""#, .invalidEscape, at: 1),
            Refusal(#""\u12G4""#, .invalidEscape, at: 1),
            Refusal(#""\u12"#, .invalidEscape, at: 1),
            Refusal(#""\ud800""#, .loneSurrogate, at: 1),
            Refusal(#""\udc00""#, .loneSurrogate, at: 1),
            Refusal(#""a\ud800\ud800""#, .loneSurrogate, at: 2),
            Refusal(#""\ud800x\udc00""#, .loneSurrogate, at: 1),
            Refusal([0x22, 0xC0, 0x80, 0x22], .invalidUTF8, at: 1),
            Refusal([0x22, 0xC3, 0x22], .invalidUTF8, at: 1),
            Refusal([0x22, 0xE0, 0x80, 0x80, 0x22], .invalidUTF8, at: 1),
            Refusal([0x22, 0xED, 0xA0, 0x80, 0x22], .invalidUTF8, at: 1),
            Refusal([0x22, 0xE2, 0x82, 0x22], .invalidUTF8, at: 1),
            Refusal([0x22, 0xF0, 0x8F, 0xBF, 0xBF, 0x22], .invalidUTF8, at: 1),
            Refusal([0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], .invalidUTF8, at: 1),
            Refusal([0x22, 0xF5, 0x80, 0x80, 0x80, 0x22], .invalidUTF8, at: 1),
            Refusal([0x22, 0x80, 0x22], .invalidUTF8, at: 1),
            Refusal([0x22, 0xF0, 0x9F, 0x98], .invalidUTF8, at: 1),
            Refusal([0xFF, 0xFE], .invalidUTF8, at: 0),
            Refusal(#"{"a":1,"a":2}"#, .duplicateKey, at: 7),
            Refusal(#"{"a":1,"\u0061":2}"#, .duplicateKey, at: 7),
            Refusal(#"{"x":[{"conversation":1,"conversation":2}]}"#, .duplicateKey, at: 24),
        ]
    )
    func refusesInvalid(refusal: Refusal) {
        #expect(throws: refusal.error) {
            try scan(refusal.bytes) { scanner in _ = try scanner.nextValue() }
        }
    }

    @Test("A duplicate is found in an object of any length, and long objects without one are read")
    func findsDuplicatesInLongObjects() throws {
        for count in [2, 15, 16, 17, 18, 100, 3000] {
            let keys = (0..<count).map { "commonprefix\($0)" }
            func object(_ keys: [String]) -> String {
                "{" + keys.map { "\"\($0)\":1" }.joined(separator: ",") + "}"
            }
            try scan(object(keys)) { scanner in _ = try scanner.nextValue() }
            for (first, second) in [(0, count - 1), (count / 2, count - 1), (0, count / 2)]
            where first != second {
                var twice = keys
                // Escaped, so that equal text is found behind different bytes.
                twice[second] = "\\u0063" + keys[first].dropFirst()
                let error = failure(object(twice)) { scanner in
                    _ = try scanner.nextValue()
                }
                #expect(error?.code == .duplicateKey, "\(count) keys, \(second) is \(first)")
            }
        }
    }

    @Test("Two keys that look alike but differ in bytes are two keys")
    func comparesKeysAsBytes() throws {
        // NFC and NFD: one key for Swift's String, two for everything that compares bytes.
        try scan("{\"é\":1,\"e\u{301}\":2}") { scanner in
            _ = try scanner.nextValue()
        }
    }

    @Test("Values nest to the bound and no deeper, whether they are read or passed over")
    func boundsNesting() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        let bound = Limits().nestingDepthMax
        try scan(nested(bound)) { scanner in _ = try scanner.nextValue() }
        #expect(throws: JSONError(.tooDeep, at: bound)) {
            try scan(nested(bound + 1)) { scanner in _ = try scanner.nextValue() }
        }
        // A million brackets must cost neither stack nor time.
        #expect(throws: JSONError(.tooDeep, at: bound)) {
            try scan(String(repeating: "[", count: 1_000_000)) { scanner in
                _ = try scanner.nextValue()
            }
        }
        #expect(throws: JSONError(.tooDeep, at: 1)) {
            try scan("[{}]", nestingDepthMax: 1) { scanner in
                try scanner.beginArray()
                _ = try scanner.nextElement()
                try scanner.beginObject()
            }
        }
    }

    @Test(
        "Integers are read within ±(2^53 − 1) and without fraction or exponent",
        arguments: [
            ("0", nil), ("-0", nil), ("9007199254740991", nil), ("-9007199254740991", nil),
            ("9007199254740992", .integerOutOfRange), ("-9007199254740992", .integerOutOfRange),
            ("99999999999999999999999999", .integerOutOfRange),
            ("1.0", .notInteger), ("1e2", .notInteger), ("1E0", .notInteger),
            ("\"1\"", .mistyped(expected: .number)), ("true", .mistyped(expected: .number)),
            ("[1]", .mistyped(expected: .number)), ("null", .mistyped(expected: .number)),
        ] as [(String, JSONError.Code?)]
    )
    func readsIntegers(text: String, code: JSONError.Code?) throws {
        if let code {
            #expect(throws: JSONError(code, at: 0)) {
                try scan(text) { scanner in _ = try scanner.readInteger() }
            }
        } else {
            try scan(text) { scanner in
                let value = try scanner.readInteger()
                #expect(value == Int64(text))
            }
        }
    }

    @Test("A value of another kind is named with the kind that was expected")
    func namesMistypedValues() {
        func code(
            _ text: String,
            _ read: (inout JSONScanner) throws -> Void
        ) -> JSONError.Code? { failure(text, read)?.code }
        #expect(code("1") { _ = try $0.readString() } == .mistyped(expected: .string))
        #expect(code("1") { _ = try $0.readBool() } == .mistyped(expected: .boolean))
        #expect(code("[]") { try $0.beginObject() } == .mistyped(expected: .object))
        #expect(code("{}") { try $0.beginArray() } == .mistyped(expected: .array))
        // Where the bytes are no JSON at all, that is what is said.
        #expect(code("[1,]") { try $0.beginObject() } == .unexpectedByte)
        #expect(code("") { try $0.beginObject() } == .unexpectedEnd)
    }

    @Test("A scanner that starts again on other bytes has forgotten the keys and levels before")
    func startsAgain() throws {
        let first = Array(#"{"a":{"b":1"#.utf8)
        let second = Array(#"{"a":1,"b":2}"#.utf8)
        try first.withUnsafeBytes { first in
            try second.withUnsafeBytes { second in
                var scanner = JSONScanner(first)
                #expect(throws: JSONError(.unexpectedEnd, at: first.count)) {
                    _ = try scanner.nextValue()
                }
                scanner.restart(on: second)
                _ = try scanner.nextValue()
                try scanner.finish()
            }
        }
    }

    @Test("No text of three bytes out of a hostile alphabet is read that the grammar forbids")
    func enumeratesShortTexts() {
        // The grammar, written a second time as the set of the valid ones.
        let alphabet = Array("[]{},:1-\" e".utf8)
        var valid: Set<[UInt8]> = []
        for first in alphabet {
            for second in alphabet {
                for third in alphabet {
                    let text = [first, second, third]
                    let isRead = (try? scan(text) { _ = try $0.nextValue() }) != nil
                    if isRead { valid.insert(text) }
                }
            }
        }
        let expected = [
            "[1]", "[ ]", "{ }", "[] ", " []", "{} ", " {}", "111", "-11", " 11", "11 ", " 1 ",
            "  1", "1  ", "-1 ", " -1", "1e1", "\"1\"", "\" \"", "\"e\"", "\"[\"", "\"]\"", "\"{\"",
            "\"}\"", "\",\"", "\":\"", "\"-\"", "\"\" ", " \"\"",
        ]
        #expect(valid == Set(expected.map { Array($0.utf8) }))
    }
}

/// Runs `body` on a scanner over some bytes, which must then hold nothing more.
func scan(
    _ bytes: [UInt8],
    nestingDepthMax: Int = Limits().nestingDepthMax,
    body: (inout JSONScanner) throws -> Void
) throws {
    try bytes.withUnsafeBytes { buffer in
        var scanner = JSONScanner(buffer, nestingDepthMax: nestingDepthMax)
        try body(&scanner)
        try scanner.finish()
    }
}

/// The same over a text.
func scan(
    _ text: String,
    nestingDepthMax: Int = Limits().nestingDepthMax,
    body: (inout JSONScanner) throws -> Void
) throws {
    try scan(Array(text.utf8), nestingDepthMax: nestingDepthMax, body: body)
}

/// The error with which `body` fails on a text, if it does.
func failure(_ text: String, _ body: (inout JSONScanner) throws -> Void) -> JSONError? {
    do {
        try scan(text, body: body)
        return nil
    } catch {
        return error as? JSONError
    }
}

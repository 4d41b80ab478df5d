import LockkeeperDomain
import Testing

@Suite struct JSONWriterTests {
    @Test("Keys, values and commas come out in the order in which they were written")
    func writesValues() {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("account")
        writer.string("alice")
        writer.key("lines")
        writer.beginArray()
        writer.integer(1)
        writer.integer(Int64.min)
        writer.beginObject()
        writer.endObject()
        writer.endArray()
        writer.key("topics")
        writer.null()
        writer.key("durable")
        writer.bool(true)
        writer.key("ratio")
        writer.double(0.1)
        writer.key("none")
        writer.double(.nan)
        writer.key("raw")
        writer.raw("[1,2]".utf8)
        writer.endObject()
        writer.endLine()
        writer.integer(2)
        writer.endLine()
        #expect(writer.isBalanced)
        let expected =
            #"{"account":"alice","lines":[1,-9223372036854775808,{}],"topics":null,"#
            + #""durable":true,"ratio":0.1,"none":null,"raw":[1,2]}"# + "\n2\n"
        #expect(String(decoding: writer.bytes, as: UTF8.self) == expected)
    }

    @Test("An integer has the digits that Swift gives it, at every number of digits")
    func writesIntegers() {
        var power: Int64 = 1
        while true {
            for value in [power - 1, power, power + 1, 7 * (power / 7), -power] {
                var writer = JSONWriter()
                writer.integer(value)
                #expect(String(decoding: writer.bytes, as: UTF8.self) == "\(value)")
            }
            let (next, overflows) = power.multipliedReportingOverflow(by: 10)
            if overflows { break }
            power = next
        }
        var writer = JSONWriter()
        writer.beginArray()
        writer.integer(Int64.max)
        writer.integer(UInt64.max)
        writer.endArray()
        #expect(writer.bytes == Array("[9223372036854775807,18446744073709551615]".utf8))
    }

    @Test("A string has no other escapes than it must have")
    func writesMinimalEscapes() {
        var writer = JSONWriter()
        writer.string("\"\\/\u{8}\u{C}\n\r\t\0\u{1F}\u{7F}\u{2028}é😀")
        #expect(
            writer.bytes
                == Array(#""\"\\/\b\f\n\r\t\u0000\u001f"#.utf8) + Array("\u{7F}\u{2028}é😀\"".utf8)
        )
    }

    @Test("Bytes that are not UTF-8 become replacement characters, so that JSON comes out (B95)")
    func repairsInvalidUTF8() throws {
        var writer = JSONWriter()
        writer.string(utf8: [0x61, 0xFF, 0x62])
        #expect(writer.bytes == Array("\"a\u{FFFD}b\"".utf8))
        writer = JSONWriter()
        writer.string(utf8: Array("é\0".utf8))
        #expect(writer.bytes == Array(#""é\u0000""#.utf8))
    }

    @Test("Every Unicode scalar and every pair of ASCII characters reads back as it was written")
    func readsBackWhatItWrote() throws {
        var everything = ""
        for value in UInt32(0)...0x10FFFF {
            if let scalar = Unicode.Scalar(value) { everything.unicodeScalars.append(scalar) }
        }
        for first in UInt8(0)..<0x80 {
            for second in UInt8(0)..<0x80 {
                everything += String(decoding: [first, second], as: UTF8.self)
            }
        }
        var writer = JSONWriter()
        writer.string(everything)
        var read: [UInt8] = []
        try scan(writer.bytes) { scanner in read = try scanner.readStringBytes() }
        #expect(read == Array(everything.utf8))
    }

    @Test(
        "Canonical JSON has lost its white space outside of strings and nothing else",
        arguments: [
            ("{ \"a b\" : [ 1 , \"\\\" x\" , 1.0e2 ] }\r\n", "{\"a b\":[1,\"\\\" x\",1.0e2]}"),
            ("\t\" \\\\\"\n", "\" \\\\\""),
            ("\"\\u0041 \\/\"", "\"\\u0041 \\/\""),
            (" null ", "null"),
        ]
    )
    func canonicalizes(text: String, expected: String) {
        #expect(JSONWriter.canonicalized(text.utf8) == Array(expected.utf8))
    }
}

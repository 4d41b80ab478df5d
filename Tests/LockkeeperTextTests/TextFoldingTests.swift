import LockkeeperText
import Testing

@Suite("Folding: what people take for the same becomes the same bytes")
struct TextFoldingTests {
    private func folded(_ text: String) -> String {
        String(decoding: TextFolding.folded(text), as: UTF8.self)
    }

    @Test(
        "canonically equivalent, wide and narrow, upper and lower case forms are one (B96)",
        arguments: [
            ("cafe\u{301}", "caf\u{E9}"),
            ("\u{1100}\u{1161}\u{11B7}", "\u{AC10}"),
            ("ła\u{328}ka", "\u{142}\u{105}ka"),
            ("ＡＢＣ", "abc"),
            ("ｶﾞｷﾞ", "ガギ"),
            ("STRASSE", "straße"),
            ("ΣΊΣΥΦΟΣ", "σίσυφος"),
            ("ﬁne", "fine"),
            ("\u{3B1}\u{345}\u{301}", "\u{1FB4}"),
        ]
    )
    func equivalents(left: String, right: String) {
        // Compared as bytes: `String` would call some of them equal by itself.
        #expect(TextFolding.folded(left) == TextFolding.folded(right))
    }

    @Test("accents stay, and so do letters that only look alike")
    func distinctions() {
        #expect(TextFolding.folded("café") != TextFolding.folded("cafe"))
        #expect(TextFolding.folded("\u{430}") != TextFolding.folded("a"))
    }

    @Test("white space of any kind and control characters, NUL among them, become one space (B94)")
    func whiteSpace() {
        #expect(folded("a \t\r\n b") == "a b")
        #expect(folded("a\0b\u{85}\u{2028}\u{3000}\u{A0}c") == "a b c")
        #expect(folded("é \u{1}\u{2} x") == "é x")
        #expect(!TextFolding.folded("\u{1}é\u{1F}\n").contains { $0 < 0x20 })
    }

    @Test("what is not seen goes away: joiners, variation selectors, soft hyphens")
    func ignorables() {
        #expect(folded("so\u{AD}ft") == "soft")
        #expect(folded("\u{2764}\u{FE0F}") == "\u{2764}")
        #expect(TextFolding.folded("👨\u{200D}👩") == Array("👨👩".utf8))
    }

    @Test("bytes that are not UTF-8 count as replacement characters, and nothing fails")
    func damagedBytes() {
        #expect(TextFolding.folded([0x41, 0xFF, 0x42]) == Array("a\u{FFFD}b".utf8))
        #expect(TextFolding.folded([0xED, 0xA0, 0x80]) == Array("\u{FFFD}\u{FFFD}\u{FFFD}".utf8))
        #expect(TextFolding.folded([UInt8]()).isEmpty)
    }

    @Test("folding twice is folding once, and the fast way for ASCII gives what the other one does")
    func idempotence() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed=\(seed)")
        var state = seed
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(bound))
        }
        let blocks: [ClosedRange<Int>] = [
            0...0x7F, 0x80...0x24F, 0x300...0x36F, 0x370...0x3FF,
            0x1100...0x11FF, 0x3000...0x30FF, 0xFF00...0xFFEF, 0x1F300...0x1F6FF,
        ]
        for _ in 0..<500 {
            var text = String.UnicodeScalarView()
            for _ in 0..<next(12) {
                let block = blocks[next(blocks.count)]
                if let scalar = Unicode.Scalar(UInt32(block.lowerBound + next(block.count))) {
                    text.append(scalar)
                }
            }
            let once = TextFolding.folded(String(text))
            #expect(TextFolding.folded(once) == once, "seed=\(seed): \(Array(text))")
            let ascii = String(String.UnicodeScalarView(text.filter { $0.isASCII }))
            // One character beyond ASCII takes the other way.
            let other = TextFolding.folded(ascii + "é")
            #expect(TextFolding.folded(ascii + " ").dropLast(1).count <= other.count)
            #expect(other.starts(with: TextFolding.folded(ascii)), "seed=\(seed): \(ascii)")
        }
    }

    @Test("a million characters are folded in one go")
    func large() {
        let text = String(repeating: "Ä", count: 1_000_000)
        #expect(TextFolding.folded(text).count == 2_000_000)
    }
}

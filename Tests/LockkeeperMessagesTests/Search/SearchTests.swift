import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperTesting
import Testing

@testable import LockkeeperMessages

@Suite("Search finds what the messages say, whatever the index knows (I-3)")
struct SearchTests {
    @Test(
        "words of Chinese, Japanese and Korean are found, and Latin ones glued to them (B90)",
        arguments: IndexState.allCases
    )
    func wordsWithoutSpaces(index: IndexState) async throws {
        try await withAccount { account in
            try await account.store(
                try messages(["今天玩成语接龙游戏", "オンラインで買う", "끝말잇기 게임을", "重跑gen后"]),
                index: index
            )
            #expect(try await account.found("成语接龙") == ["m1"])
            #expect(try await account.found("オンライン") == ["m2"])
            #expect(try await account.found("게임") == ["m3"])
            #expect(try await account.found("gen") == ["m4"])
            #expect(try await account.found("语") == ["m1"])
            #expect(try await account.found("戏") == ["m1"])
            #expect(try await account.found("后") == ["m4"])
            #expect(try await account.found("语成") == [])
        }
    }

    @Test(
        "what a person types is taken literally, whatever it would mean to SQLite (B92)",
        arguments: IndexState.allCases
    )
    func literalText(index: IndexState) async throws {
        let texts = [
            "multi-agent", "a\"b", "it's", "*", "NEAR(", "c++", "col:word", "OR", "$prev", "(",
            "/usr/bin", "a.b", "text:x", "^begin", "{a b}", "\"\"", "%", "_", "\\",
        ]
        try await withAccount { account in
            try await account.store(try messages(texts), index: index)
            for (number, text) in texts.enumerated() {
                let expected = texts.indices.reversed()
                    .filter { texts[$0].lowercased().contains(text.lowercased()) }
                    .map { "m\($0 + 1)" }
                #expect(expected.contains("m\(number + 1)"))
                // The whole as a phrase, because one of them holds a space.
                #expect(try await account.found(text, .phrase) == expected, "\(text)")
            }
            for nothing in ["", "   ", "\n\t", "\u{200D}"] {
                #expect(try await account.found(nothing) == [])
                #expect(try await account.found(nothing, .phrase) == [])
            }
            #expect(try await account.found(String(repeating: "long ", count: 2_000)) == [])
            #expect(try await account.found(String(repeating: "x", count: 10_000)) == [])
        }
    }

    @Test("NUL is white space to search: what stands behind it is found (B94)")
    func nul() async throws {
        for index in IndexState.allCases {
            try await withAccount { account in
                try await account.store(
                    [
                        message("x", seq: 1, "a\0secret😀", from: "n\0", sentAt: 1_000),
                        message("x\0y", seq: 2, "other", from: "n", sentAt: 2_000),
                    ],
                    index: index
                )
                #expect(try await account.found("secret") == ["x"])
                #expect(try await account.found("a secret", .phrase) == ["x"])
                #expect(try await account.found("asecret") == [])
                #expect(try await account.found("😀") == ["x"])
                #expect(try await account.found(SearchQuery("secret", sender: "n\0")) == ["x"])
                #expect(try await account.found(SearchQuery("secret", sender: "n")) == [])
                #expect(
                    try await account.messages.message("x", in: "c")?.body == "a\0secret😀"
                )
            }
        }
    }

    @Test(
        "composed and decomposed, wide and narrow, upper and lower case are the same (B96)",
        arguments: IndexState.allCases
    )
    func equivalentForms(index: IndexState) async throws {
        let korean = "감사합니다".decomposedStringOfTest
        let bodies = ["cafe\u{301}", korean, "ła\u{328}ka", "ＡＢＣ", "Straße", "ｶﾞｷﾞ"]
        try await withAccount { account in
            try await account.store(try messages(bodies), index: index)
            #expect(try await account.found("caf\u{E9}") == ["m1"])
            #expect(try await account.found("CAFÉ") == ["m1"])
            #expect(try await account.found("cafe") == [])
            #expect(try await account.found("감사합니다") == ["m2"])
            #expect(try await account.found("\u{142}\u{105}ka") == ["m3"])
            #expect(try await account.found("abc") == ["m4"])
            #expect(try await account.found("STRASSE") == ["m5"])
            #expect(try await account.found("ガギ") == ["m6"])
            for (number, body) in bodies.enumerated() {
                let stored = try await account.messages.message(
                    try MessageID("m\(number + 1)"),
                    in: "c"
                )
                #expect(stored.map { Array($0.body?.utf8 ?? "".utf8) } == Array(body.utf8))
            }
        }
    }

    @Test("emoji are found by their parts, a flag only as a whole", arguments: IndexState.allCases)
    func emoji(index: IndexState) async throws {
        try await withAccount { account in
            try await account.store(
                try messages(["so 👍🏽", "👨‍👩‍👧 home", "I ❤️ it", "🇩🇪🇸🇪", "👍"]),
                index: index
            )
            #expect(try await account.found("👍") == ["m5", "m1"])
            #expect(try await account.found("👍🏽") == ["m1"])
            #expect(try await account.found("👩") == ["m2"])
            #expect(try await account.found("❤") == ["m3"])
            #expect(try await account.found("🇸🇪") == ["m4"])
            #expect(try await account.found("🇩🇪") == ["m4"])
            #expect(try await account.found("🇪🇸") == [])
        }
    }

    @Test(
        "words in any order, a phrase in one piece across line ends",
        arguments: IndexState.allCases
    )
    func wordsAndPhrases(index: IndexState) async throws {
        try await withAccount { account in
            try await account.store(
                try messages([
                    "good morning", "morning, good people", "good\r\n\tmorning", "goodmorning",
                ]),
                index: index
            )
            #expect(try await account.found("morning good") == ["m4", "m3", "m2", "m1"])
            #expect(try await account.found("good morning", .phrase) == ["m3", "m1"])
            #expect(try await account.found(" good  morning ", .phrase) == ["m3", "m1"])
            #expect(try await account.found("od mo", .phrase) == ["m3", "m1"])
        }
    }

    @Test("by conversation, sender and time", arguments: IndexState.allCases)
    func filters(index: IndexState) async throws {
        try await withAccount { account in
            var events: [Event] = []
            for number in 1...12 {
                events.append(
                    try message(
                        MessageID("m\(number)"),
                        seq: Int64(number),
                        "word \(number)",
                        from: number.isMultiple(of: 2) ? "ann" : "bob",
                        in: number.isMultiple(of: 3) ? "d" : "c",
                        sentAt: 0
                    ) { $0.serverAt = instant(Int64(number) * 3_600_000) }
                )
            }
            try await account.store(events, index: index)
            #expect(try await account.found(SearchQuery("word", conversation: "d")).count == 4)
            #expect(
                try await account.found(SearchQuery("word", conversation: "d", sender: "ann"))
                    == ["m12", "m6"]
            )
            #expect(
                try await account.found(
                    SearchQuery(
                        "word",
                        after: instant(3 * 3_600_000),
                        before: instant(5 * 3_600_000)
                    )
                ) == ["m4", "m3"]
            )
            #expect(try await account.found(SearchQuery("w", sender: "ann")).count == 6)
            #expect(try await account.found(SearchQuery("word", conversation: "unknown")) == [])
            #expect(try await account.found(SearchQuery("word", sender: "unknown")) == [])
        }
    }

    @Test("a snippet shows the first match, and where all of them are")
    func snippets() async throws {
        try await withAccount { account in
            let far = String(repeating: "lorem ipsum ", count: 40) + "Ｃafé\nhere, and café again"
            try await account.store(try messages(["A cafe\u{301} near", far]), index: .caughtUp)
            let hits = try await account.messages.search(SearchQuery("CAFÉ"), limit: 10)
            let marked = hits.map { hit in
                let text = Array(hit.snippet.text.utf8)
                return hit.snippet.matches.map { String(decoding: text[$0], as: UTF8.self) }
            }
            #expect(marked == [["Ｃafé", "café"], ["cafe\u{301}"]])
            #expect(hits[0].snippet.isCutBefore && !hits[0].snippet.isCutAfter)
            #expect(hits[0].snippet.text.count <= SearchSnippet.characterCountMax)
            #expect(hits[1].snippet.text == "A cafe\u{301} near")
            #expect(!hits[1].snippet.isCutBefore && !hits[1].snippet.isCutAfter)
        }
    }

    @Test("an edited text is found by the new one alone, a recalled one by nothing")
    func changes() async throws {
        for index in IndexState.allCases {
            try await withAccount { account in
                try await account.store(
                    try messages(["first draft", "second", "third"]),
                    index: index
                )
                try await account.messages.ingest([
                    edit("m1", version: 2, "final words"), recall("m2", version: 2),
                ])
                for isCaughtUp in [false, true] {
                    if isCaughtUp { try await account.messages.catchUpSearch() }
                    #expect(try await account.found("draft") == [])
                    #expect(try await account.found("final") == ["m1"])
                    #expect(try await account.found("second") == [])
                    #expect(try await account.found("third") == ["m3"])
                }
            }
        }
    }

    @Test("supplied text finds its message, and goes with the text that it was supplied for")
    func suppliedText() async throws {
        for index in IndexState.allCases {
            try await withAccount { account in
                try await account.store(try messages(["成语接龙", "other", "third"]), index: index)
                let store = account.messages
                #expect(try await store.supplySearchText("Chengyu Jielong", for: "m1", in: "c"))
                #expect(try await store.supplySearchText("extra", for: "m2", in: "c"))
                #expect(try await store.supplySearchText("removed", for: "m3", in: "c"))
                #expect(try await store.supplySearchText(nil, for: "m3", in: "c"))
                #expect(try await !store.supplySearchText("nobody", for: "m9", in: "c"))
                for isCaughtUp in [false, true] {
                    if isCaughtUp { try await store.catchUpSearch() }
                    #expect(try await account.found("jielong") == ["m1"])
                    #expect(try await account.found("接龙 chengyu") == ["m1"])
                    #expect(try await account.found("extra") == ["m2"])
                    #expect(try await account.found("removed") == [])
                    // Nothing is found across the end of the message's own text.
                    #expect(try await account.found("龙 chengyu", .phrase) == [])
                }
                let hit = try await store.search(SearchQuery("jielong"), limit: 1).first
                #expect(hit?.snippet.text == "成语接龙" && hit?.snippet.matches == [])
                try await store.ingest([recall("m1", version: 2), edit("m2", version: 2, "new")])
                #expect(try await account.found("jielong") == [])
                #expect(try await account.found("extra") == [])
                #expect(try await account.found("new") == ["m2"])
                try await account.test.expectSound()
            }
        }
    }

    @Test("what has expired is not found any more, in the index or not (R-63)")
    func expired() async throws {
        for index in IndexState.allCases {
            try await withAccount { account in
                let now = account.session.wallClock.milliseconds()
                let events = [
                    message("m1", seq: 1, "short lived") {
                        $0.expiresAt = instant(now + 1_000)
                    },
                    message("m2", seq: 2, "long lived") { $0.expiresAt = instant(now + 9_000) },
                ]
                try await account.store(events, index: index)
                #expect(try await account.found("lived") == ["m2", "m1"])
                account.test.wallClock.set(milliseconds: now + 2_000)
                #expect(try await account.found("lived") == ["m2"])
            }
        }
    }

    @Test("an edit that waits for its message is found once the message is there")
    func editFirst() async throws {
        try await withAccount { account in
            try await account.messages.ingest([edit("m1", version: 2, "early words")])
            try await account.messages.catchUpSearch()
            #expect(try await account.found("early") == [])
            try await account.messages.ingest(try messages(["late"]))
            #expect(try await account.found("early") == ["m1"])
            try await account.messages.catchUpSearch()
            #expect(try await account.found("early") == ["m1"])
            #expect(try await account.found("late") == [])
        }
    }
}

extension String {
    /// Hangul syllables taken apart into letters, by the arithmetic of the Unicode Standard.
    fileprivate var decomposedStringOfTest: String {
        var result = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            let index = Int(scalar.value) - 0xAC00
            let parts = [
                0x1100 + index / 588, 0x1161 + index % 588 / 28, 0x11A7 + index % 28,
            ]
            for part in parts where part != 0x11A7 {
                if let letter = Unicode.Scalar(UInt32(part)) { result.append(letter) }
            }
        }
        return String(result)
    }
}

import LockkeeperPlatform
import Testing

@Suite("Reading on the command line: timelines both ways and around a message, gaps, one message")
struct ReadingProcessTests {
    private func workspace() async throws -> TestWorkspace {
        let workspace = try await TestWorkspace()
        var lines = (1...9).map { number in
            #"{"conversation":"c","id":"m\#(number)","seq":\#(number * 10),"sender":"u2","#
                + #""sent_at":"2026-01-01T00:00:00Z","body":"text \#(number)"}"#
        }
        lines += [
            #"{"type":"history","conversation":"c","from":1,"to":35}"#,
            #"{"type":"history","conversation":"c","from":61,"to":90}"#,
            #"{"type":"recall","conversation":"c","id":"m2","version":2}"#,
        ]
        let ingested = try await workspace.ingest(lines.joined(separator: "\n") + "\n")
        try #require(ingested.status == .exited(0), "\(ingested.errorText)")
        return workspace
    }

    private func shown(_ workspace: TestWorkspace, _ options: [String]) async throws -> [String] {
        let result = try await workspace.run(["timeline", "c"] + options)
        #expect(result.status == .exited(0), "\(result.errorText)")
        return result.lines.compactMap { $0.split(separator: "\t").first.map(String.init) }
    }

    @Test("a timeline is read back, onwards and around a message, and says what is missing")
    func timeline() async throws {
        let workspace = try await workspace()
        #expect(try await shown(workspace, ["--limit", "3"]) == ["90", "80", "70"])
        #expect(
            try await shown(workspace, ["--before", "80", "--limit", "4"])
                == ["70", "60", "51 to 59", "50", "41 to 49", "40", "36 to 39"]
        )
        #expect(try await shown(workspace, ["--after", "70"]) == ["90", "80"])
        #expect(try await shown(workspace, ["--after", "0", "--limit", "2"]) == ["20", "10"])
        #expect(
            try await shown(workspace, ["--around", "m3", "--limit", "3"]) == [
                "41 to 49", "40", "36 to 39", "30", "20",
            ]
        )
        let json = try await workspace.run([
            "timeline", "c", "--around", "m2", "--limit", "1", "--json",
        ])
        let message = try PrintedObject(try #require(json.lines.first))
        #expect(message.string("id") == "m2" && message.int("recalled") == 1)
        let gaps = try await workspace.run(["timeline", "c", "--json"])
        let objects = try gaps.lines.map { try PrintedObject($0) }
        #expect(objects.compactMap { $0.ints("gap") } == [[51, 59], [41, 49], [36, 39]])
        for wrong in [["--around", "m77"], ["--before", "3", "--after", "2"], ["--around", ""]] {
            let result = try await workspace.run(["timeline", "c"] + wrong)
            #expect(result.status == .exited(64))
        }
    }

    @Test("pages break no shared place in two: each says with which option the next one is read")
    func sharedPlace() async throws {
        let workspace = try await TestWorkspace(accountOptions: ["--order", "ties"])
        let ids = ["z", "a b", #"c\u0000d"#, #"e\\f"#, "g"]
        let lines = ids.enumerated().map { number, id in
            #"{"conversation":"c","id":"\#(id)","seq":\#(number == 0 ? 4 : 5),"sender":"u2","#
                + #""sent_at":"2026-01-01T00:00:00Z","body":"\#(number)"}"#
        }
        let ingested = try await workspace.ingest(lines.joined(separator: "\n") + "\n")
        try #require(ingested.status == .exited(0), "\(ingested.errorText)")
        /// Reads one message a page, as the page before says.
        func walk(_ word: String, from first: [String]) async throws -> [String] {
            var (shown, options): ([String], [String]?) = ([], first)
            while let now = options, shown.count < 9 {
                let page = try await workspace.run(["timeline", "c", "--limit", "1"] + now)
                #expect(page.status == .exited(0), "\(page.errorText)")
                shown += page.lines.compactMap { $0.split(separator: " ").last.map(String.init) }
                let note = page.errorText.split(separator: "\n")
                    .first { $0.contains("\(word): --") }
                options = note.map { note in
                    // As a shell would take it.
                    let words = note.replacing("'", with: "").split(separator: " --")
                    let option = words[1].split(separator: " ", maxSplits: 1)
                    return ["--\(option[0])", String(option[1])]
                }
            }
            return shown
        }
        #expect(try await walk("older", from: []) == ["4", "3", "2", "1", "0"])
        #expect(try await walk("newer", from: ["--after", "0"]) == ["0", "1", "2", "3", "4"])
        let json = try await workspace.run(["timeline", "c", "--json"])
        let places = try json.lines.map { try PrintedObject($0).string("place") }
        #expect(places == ["5:g", #"5:e\\f"#, #"5:c\u{0}d"#, "5:a b", "4:z"])
        for wrong in ["x", "5:", "end", #"5:\x"#, "0"] {
            let result = try await workspace.run(["timeline", "c", "--before", wrong])
            #expect(result.status == .exited(64), "\(wrong)")
        }
    }

    // B94: an id with NUL is an id like others.
    @Test("an id that no argument can hold is named as it is shown")
    func escapedID() async throws {
        let workspace = try await TestWorkspace()
        let line =
            #"{"conversation":"c\u0000","id":"m\u0007","seq":1,"sender":"u2","#
            + #""sent_at":"2026-01-01T00:00:00Z","body":"found"}"#
        let ingested = try await workspace.ingest(line + "\n")
        try #require(ingested.status == .exited(0), "\(ingested.errorText)")
        let conversation = #"c\u{0}"#
        for words in [
            ["timeline", conversation], ["timeline", conversation, "--around", #"m\u{7}"#],
            ["message", conversation, #"m\u{7}"#],
            ["search", "found", "--conversation", conversation],
        ] {
            let result = try await workspace.run(words)
            #expect(result.status == .exited(0), "\(result.errorText)")
            #expect(result.lines.first?.contains("found") == true, "\(words)")
        }
        let list = try await workspace.run(["conversations"])
        #expect(list.lines.first?.contains(conversation) == true)
        #expect(try await workspace.run(["delete", conversation, #"m\u{7}"#]).status == .exited(0))
    }

    @Test(
        "a conversation that nothing has named is said to be unknown; one without messages is not"
    )
    func unknownConversation() async throws {
        let workspace = try await workspace()
        let unknown = try await workspace.run(["timeline", "d"])
        #expect(unknown.status == .exited(64))
        #expect(unknown.errorText.contains("No event has named the conversation 'd'"))
        _ = try await workspace.ingest(
            #"{"type":"history","conversation":"d","from":1,"to":2}"# + "\n"
        )
        let empty = try await workspace.run(["timeline", "d"])
        #expect(empty.status == .exited(0) && empty.lines.isEmpty)
    }

    @Test(
        "a gap at the border of two pages is on both of them, and none is on a page apart from it"
    )
    func gapAtBorder() async throws {
        let workspace = try await workspace()
        #expect(
            try await shown(workspace, ["--limit", "4"]) == ["90", "80", "70", "60", "51 to 59"]
        )
        #expect(
            try await shown(workspace, ["--before", "60", "--limit", "1"])
                == ["51 to 59", "50", "41 to 49"]
        )
        #expect(
            try await shown(workspace, ["--after", "50", "--limit", "1"]) == ["60", "51 to 59"]
        )
        #expect(try await shown(workspace, ["--before", "30", "--limit", "1"]) == ["20"])
    }

    @Test("one message is shown by its id, whatever became of it")
    func message() async throws {
        let workspace = try await workspace()
        let shown = try await workspace.run(["message", "c", "m3"])
        #expect(shown.lines == ["30\t2026-01-01T00:00:00Z\tu2: text 3"], "\(shown.lines)")
        let recalled = try await workspace.run(["message", "c", "m2", "--json"])
        #expect(try PrintedObject(try #require(recalled.lines.first)).int("recalled") == 1)
        #expect(try await workspace.run(["message", "c", "m77"]).status == .exited(64))
        // Deleted, cleared and over are alike: the place is left.
        #expect(try await workspace.run(["delete", "c", "m4"]).status == .exited(0))
        _ = try await workspace.ingest(
            #"{"conversation":"c","id":"over","seq":91,"sender":"u2","sent_at":"2026-01-01T00:00:00Z","#
                + #""body":"secret","kind":"poll","version":3,"expires_at":"2026-01-02T00:00:00Z","#
                + #""client_id":"k","reply_to":"m1","mentions":["me"]}"#
        )
        for (id, seq) in [("m4", 40), ("over", 91)] {
            let gone = try await workspace.run(["message", "c", id])
            #expect(gone.lines == ["\(seq)\t-\t?: (gone)"], "\(gone.lines)")
            let json = try await workspace.run(["message", "c", id, "--json"])
            let object = try PrintedObject(try #require(json.lines.first))
            #expect(object.int("gone") == 1 && object.int("seq") == seq)
            for field in ["client_id", "reply_to"] { #expect(!object.has(field), "\(json.lines)") }
            #expect(object.string("body") == nil && object.string("sender") == nil)
        }
        #expect(try await workspace.run(["message", "c"]).status == .exited(64))
    }

    @Test("what cannot be meant is refused, and makes nothing: no text, no such conversation")
    func mistyped() async throws {
        let workspace = try await workspace()
        for words in [
            ["search", ""], ["search", " "], ["search", "text", "--conversation", "typo"],
            ["read", "typo", "0"], ["timeline", "typo"],
        ] {
            let refused = try await workspace.run(words)
            #expect(refused.status == .exited(64), "\(words): \(refused.errorText)")
        }
        #expect(try await workspace.run(["conversations"]).lines.count == 1)
        // A line of spaces is an empty one.
        let ingested = try await workspace.ingest("  \n\t\r\n")
        #expect(ingested.status == .exited(0), "\(ingested.errorText)")
        #expect(try ingested.summary.int("unreadable") == 0)
    }

    @Test("who has put what on a message is shown with it")
    func reactions() async throws {
        let workspace = try await workspace()
        _ = try await workspace.ingest(
            """
            {"type":"reaction","conversation":"c","id":"m3","by":"u3","emoji":"👍","version":1}
            {"type":"reaction","conversation":"c","id":"m3","by":"u4","emoji":"🎉","version":1,"slot":"one"}
            {"type":"reaction","conversation":"c","id":"m3","by":"u5","emoji":"👍","version":1}
            {"type":"reaction","conversation":"c","id":"m3","by":"u5","emoji":"👍","version":2,"removed":true}
            """
        )
        let shown = try await workspace.run(["message", "c", "m3"])
        #expect(shown.lines.dropFirst() == ["  👍 u3", "  🎉 u4"], "\(shown.lines)")
        let json = try await workspace.run(["message", "c", "m3", "--json"])
        let reactions = try PrintedObject(try #require(json.lines.first)).objects("reactions")
        #expect(reactions.map { $0.string("by") } == ["u3", "u4"])
        #expect(reactions.map { $0.string("slot") } == ["👍", "one"])
    }

    @Test("conversations are paged by the last one of a page, and texts are cut in the list")
    func conversations() async throws {
        let workspace = try await workspace()
        let long = String(repeating: "long ", count: 1_000)
        let lines = (1...5).map { number in
            #"{"conversation":"d\#(number)","id":"m","seq":1,"sender":"u2","#
                + #""sent_at":"2026-02-0\#(number)T00:00:00Z","body":"\#(long)"}"# + "\n"
        }
        _ = try await workspace.ingest(lines.joined())
        func page(_ options: [String]) async throws -> [String] {
            let page = try await workspace.run(["conversations"] + options)
            #expect(page.status == .exited(0), "\(page.errorText)")
            #expect(page.lines.allSatisfy { $0.utf8.count < 700 })
            return page.lines.map { String($0.split(separator: "\t")[1]) }
        }
        #expect(try await page(["--limit", "2"]) == ["d5", "d4"])
        #expect(try await page(["--limit", "2", "--after", "d4"]) == ["d3", "d2"])
        #expect(try await page(["--after", "d2"]) == ["d1", "c"])
        #expect(try await page(["--after", "c"]) == [])
        let unknown = try await workspace.run(["conversations", "--after", "nowhere"])
        #expect(unknown.status == .exited(64))
        let json = try await workspace.run(["conversations", "--limit", "1", "--json"])
        let last = try PrintedObject(try #require(json.lines.first)).object("last")
        #expect(last.int("cut") == 1 && last.string("preview")?.hasPrefix("long long") == true)
    }

    @Test("the sum of what is unread is the stored one: muted conversations are left out")
    func unread() async throws {
        let workspace = try await TestWorkspace(accountOptions: ["--own-id", "me"])
        let lines = ["a", "b", "c"].map { conversation in
            #"{"conversation":"\#(conversation)","id":"m","seq":1,"sender":"u2","#
                + #""sent_at":"2026-02-01T00:00:00Z","body":"x"}"# + "\n"
        }
        _ = try await workspace.ingest(
            lines.joined()
                + """
                {"type":"read","conversation":"a","seq":0}
                {"type":"read","conversation":"b","seq":0}
                {"type":"conversation","conversation":"b","version":1,"muted":true}
                """
        )
        let sums = try await workspace.run(["unread"])
        #expect(sums.lines == ["1\ta", "1\tb", "?\tc", "1\tin all"])
        let json = try await workspace.run(["unread", "--json"])
        let total = try PrintedObject(try #require(json.lines.last))
        #expect(total.int("total") == 1 && total.int("unknown") == 1 && total.int("mentions") == 0)
    }

    @Test("what was cleared is purged, and an unknown conversation is named")
    func purge() async throws {
        let workspace = try await workspace()
        #expect(try await workspace.run(["purge", "c"]).lines == ["0 removed"])
        #expect(try await workspace.run(["clear", "c", "90"]).status == .exited(0))
        let purged = try await workspace.run(["purge", "c", "--json"])
        #expect(purged.lines == [#"{"v":1,"removed":9}"#])
        #expect(try await workspace.run(["purge", "typo"]).status == .exited(64))
        try await workspace.expectSound()
    }
}

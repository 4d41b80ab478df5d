import LockkeeperDomain
import LockkeeperMessages
import Testing

@Suite struct EventDecoderTests {
    @Test("A message line gives every field that it has, and nothing for those that it has not")
    func decodesMessages() throws {
        let full = try decode(
            """
            {"type":"message","conversation":"c","id":"m","seq":7,"sender":"p","sent_at":\
            "2004-11-15T01:50:00Z","body":"hi","version":3,"kind":"image","counts":false,\
            "incoming":false,"server_at":"2004-11-15T01:51:00Z","client_id":"k","reply_to":"l",\
            "mentions":["q","p"],"mentions_me":true,"attachments":[{"url":"u", "id":"a1"}],\
            "expires_at":"2005-11-15T01:50:00Z","z":[1, 2],"a":{"x" : null}}
            """
        )
        let sentAt = try Timestamp("2004-11-15T01:50:00Z")
        let expected = MessageEvent(
            conversation: "c",
            id: "m",
            sequence: 7,
            sender: "p",
            sentAt: sentAt,
            body: "hi",
            version: 3,
            kind: "image",
            counts: false,
            isIncoming: false,
            serverAt: try Timestamp("2004-11-15T01:51:00Z"),
            clientID: "k",
            replyTo: "l",
            mentions: ["q", "p"],
            mentionsMe: true,
            attachments: try Attachments(#"[{"url":"u","id":"a1"}]"#),
            expiresAt: try Timestamp("2005-11-15T01:50:00Z"),
            extra: try ExtraFields(#"{"z":[1,2],"a":{"x":null}}"#)
        )
        #expect(full == .message(expected))
        #expect(expected.attachments?.ids == ["a1"])
        #expect(expected.extra?.description == #"{"a":{"x":null},"z":[1,2]}"#)

        // No type is a message; version 1 is the default; nothing else has one here.
        let bare = try decode(
            #"{"conversation":"c","id":"m","seq":7,"sender":"p","sent_at":"2004-11-15T01:50:00Z","#
                + #""body":""}"#
        )
        let expectedBare = MessageEvent(
            conversation: "c",
            id: "m",
            sequence: 7,
            sender: "p",
            sentAt: sentAt,
            body: ""
        )
        #expect(bare == .message(expectedBare))
        #expect(expectedBare.kind == nil && expectedBare.attachments == nil)
    }

    @Test("The type decides wherever it stands, and a field of another type's is extra")
    func findsTheTypeLast() throws {
        let line = #"{"body":"x","seq":9,"version":2,"id":"m","conversation":"c","type":"edit"}"#
        let extra = try ExtraFields(#"{"seq":9}"#)
        let edit = EditEvent(conversation: "c", id: "m", version: 2, body: "x", extra: extra)
        #expect(try decode(line) == .edit(edit))
        #expect(
            try decode(#"{"\u0074ype":"recall","conversation":"c","id":"m","version":0}"#)
                == .recall(RecallEvent(conversation: "c", id: "m", version: 0))
        )
    }

    @Test("A position and a page are read with their defaults")
    func decodesPositionsAndPages() throws {
        #expect(
            try decode(#"{"type":"read","conversation":"c","seq":0}"#)
                == .read(ReadEvent(conversation: "c", sequence: 0))
        )
        #expect(
            try decode(
                #"{"type":"read","conversation":"c","seq":5,"by":"p","kind":"delivered"}"#
            ) == .read(ReadEvent(conversation: "c", sequence: 5, reader: "p", kind: .delivered))
        )
        #expect(
            try decode(#"{"type":"page","stream":"s","after":null,"next":"n"}"#)
                == .page(SyncPage(stream: "s", after: nil, next: "n"))
        )
        #expect(
            try decode(#"{"type":"page","stream":"s","after":"n","next":"o","done":true}"#)
                == .page(SyncPage(stream: "s", after: "n", next: "o", done: true))
        )
    }

    @Test(
        "What these merge rules do not know is kept whole for later ones",
        arguments: ["poll", "Delete", ""]
    )
    func keepsOthersForLater(type: String) throws {
        let event = try decode(#" { "x" : [ 1 , "a b" ] , "type" : "\#(type)" } "#)
        let line = Array(#"{"x":[1,"a b"],"type":"\#(type)"}"#.utf8)
        #expect(event == .later(LaterEvent(type: type, line: line)))
    }

    @Test("A position by message id is read; where a line has both, the place decides (M-9)")
    func decodesPositionsByMessage() throws {
        let event = ReadEvent(conversation: "c", target: .message("m"), reader: "p")
        #expect(
            try decode(#"{"type":"read","conversation":"c","id":"m","by":"p"}"#) == .read(event)
        )
        #expect(
            try decode(#"{"type":"read","conversation":"c","id":"m","seq":3}"#)
                == .read(ReadEvent(conversation: "c", sequence: 3))
        )
    }

    @Test("What is said about messages and conversations is read with its defaults")
    func decodesTheRest() throws {
        #expect(
            try decode(#"{"type":"delete","conversation":"c","id":"m","version":3}"#)
                == .delete(DeleteEvent(conversation: "c", id: "m"))
        )
        #expect(
            try decode(
                #"{"type":"reaction","conversation":"c","id":"m","by":"p","emoji":"x","version":1}"#
            )
                == .reaction(
                    ReactionEvent(
                        conversation: "c",
                        id: "m",
                        reactor: "p",
                        emoji: "x",
                        slot: "x",
                        version: 1
                    )
                )
        )
        let conversation = ConversationEvent(
            conversation: "c",
            version: 2,
            title: "t",
            muted: true,
            extra: try ExtraFields(#"{"role":"x"}"#)
        )
        #expect(
            try decode(
                #"{"type":"conversation","conversation":"c","version":2,"title":"t","muted":true,"#
                    + #""role":"x"}"#
            ) == .conversation(conversation)
        )
        #expect(
            try decode(#"{"type":"member","conversation":"c","who":"p","version":1}"#)
                == .member(MemberEvent(conversation: "c", person: "p", version: 1))
        )
        #expect(
            try decode(#"{"type":"clear","conversation":"c","seq":4}"#)
                == .clear(ClearEvent(conversation: "c", sequence: 4))
        )
        #expect(
            try decode(#"{"type":"history","conversation":"c","from":1,"to":1}"#)
                == .history(HistoryEvent(conversation: "c", from: 1, to: 1))
        )
        #expect(
            try decode(#"{"type":"reset","stream":"s","expected":"k"}"#)
                == .reset(ResetEvent(stream: "s", expected: "k"))
        )
    }

    @Test("A provisional message may lack its seq and is the only one that may (M-4)")
    func decodesProvisionalMessages() throws {
        guard
            case .message(let message) = try decode(BadLine.message(["seq": nil, "version": "0"]))
        else { throw EventError(.mistyped, reason: "a message was expected") }
        #expect(message.isProvisional)
        #expect(message.sequence == nil)
    }

    @Test("Each bad line is refused with its rule and its field", arguments: BadLine.all)
    func refusesBadLines(bad: BadLine) {
        var decoder = EventDecoder()
        do {
            let event = try decoder.decode(line: bad.bytes)
            Issue.record("read as \(event)")
        } catch {
            #expect(error.code == bad.code)
            #expect(error.field == bad.field)
            #expect(!error.reason.isEmpty)
        }
    }

    @Test("A body and a line are read up to their bounds and not beyond")
    func boundsSizes() throws {
        var limits = Limits()
        limits.bodyByteCountMax = 6
        var decoder = EventDecoder(limits: limits)
        // Counted is the text, not the way it is written.
        let six = BadLine.message(["body": #""\u00e9\u00e9éa""#])
        _ = try decoder.decode(line: Array(BadLine.message(["body": #""\u00e9\u00e9é""#]).utf8))
        #expect(failure(six, &decoder)?.code == .bodyTooLong)
        let edit = #"{"type":"edit","conversation":"c","id":"m","version":2,"body":"1234567"}"#
        #expect(failure(edit, &decoder)?.field == "body")

        limits = Limits()
        limits.lineByteCountMax = edit.utf8.count
        decoder = EventDecoder(limits: limits)
        _ = try decoder.decode(line: Array(edit.utf8))
        #expect(failure(edit + " ", &decoder)?.code == .lineTooLong)
    }

    @Test("A decoder that refused a line reads the next one as if nothing had been")
    func recoversFromBadLines() throws {
        var decoder = EventDecoder()
        let good = BadLine.message(["seq": "4"])
        let expected = try decode(good)
        for bad in BadLine.all {
            _ = try? decoder.decode(line: bad.bytes)
            #expect(try decoder.decode(line: Array(good.utf8)) == expected)
        }
    }

    @Test("An error names the field and the place and nothing of the content")
    func keepsContentOutOfErrors() {
        let line = BadLine.message(["body": #""geheim"#, "id": #""geheim""#])
        var decoder = EventDecoder()
        #expect(failure(line, &decoder)?.description.contains("geheim") == false)
        let error = EventError(.outOfRange, field: "seq", at: 3, reason: "the integer is bad")
        #expect(error.description == "seq: the integer is bad (at byte 3)")
    }

    @Test("Two conversations whose ids Swift's String calls equal are two")
    func comparesIdentifiersAsBytes() throws {
        var decoder = EventDecoder()
        let composed = try decoder.decode(line: Array(BadLine.message(["id": "\"é\""]).utf8))
        let decomposed = try decoder.decode(
            line: Array(BadLine.message(["id": "\"e\u{301}\""]).utf8)
        )
        #expect(composed != decomposed)
    }

    private func failure(_ line: String, _ decoder: inout EventDecoder) -> EventError? {
        do throws(EventError) {
            _ = try decoder.decode(line: Array(line.utf8))
            return nil
        } catch {
            return error
        }
    }
}

/// Decodes one line with a decoder of its own.
func decode(_ line: String) throws(EventError) -> Event {
    var decoder = EventDecoder()
    return try decoder.decode(line: Array(line.utf8))
}

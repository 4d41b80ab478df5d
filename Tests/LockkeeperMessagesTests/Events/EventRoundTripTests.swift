import LockkeeperDomain
import LockkeeperMessages
import Testing

/// Export and import rest on these: one event has one form, and the form says the whole event.
@Suite struct EventRoundTripTests {
    @Test("Whatever an event holds, its line decodes to it and encodes to the same bytes")
    func roundTrips() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed=\(seed)")
        var source = EventSource(seed: seed)
        var decoder = EventDecoder()
        for number in 0..<20_000 {
            let event = try source.event()
            try event.validate()
            let line = EventEncoder.line(event)
            let read = try decoder.decode(line: line)
            let again = EventEncoder.line(read)
            guard read == event, again == line, !line.contains(UInt8(ascii: "\n")) else {
                let text = String(decoding: line, as: UTF8.self)
                Issue.record("seed=\(seed), event \(number): \(text)")
                return
            }
        }
    }

    @Test("A line that was damaged anywhere is refused, or is another event that round-trips")
    func survivesDamage() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed=\(seed)")
        var source = EventSource(seed: seed)
        var generator = SplitMix64(seed: ~seed)
        var decoder = EventDecoder()
        var refused = 0
        for number in 0..<20_000 {
            var line = EventEncoder.line(try source.event())
            let place = Int.random(in: 0..<line.count, using: &generator)
            switch number % 4 {
            case 0: line[place] = UInt8.random(in: 0...255, using: &generator)
            case 1: line.remove(at: place)
            case 2: line.insert(line.randomElement(using: &generator) ?? 0, at: place)
            default: line.removeSubrange(place...)
            }
            guard let event = try? decoder.decode(line: line) else {
                refused += 1
                continue
            }
            let canonical = EventEncoder.line(event)
            guard try decoder.decode(line: canonical) == event else {
                let text = String(decoding: line, as: UTF8.self)
                Issue.record("seed=\(seed), event \(number): \(text)")
                return
            }
        }
        // Damage inside of a text often makes another valid text; anywhere else it must be seen.
        #expect(refused > 5000)
    }

    @Test("A line that is written in another way becomes the canonical one")
    func canonicalizes() throws {
        let line = #"""
            { "z" : 1.0e2 , "body" : "\u0061\/\n" , "sent_at":"2004-11-15T03:50:00.1999+02:00",
            "id" :"m", "conversation":"c","seq":1 ,"sender":"p", "version":1, "\u0041":" x" }
            """#
        let canonical =
            #"{"type":"message","conversation":"c","id":"m","seq":1,"sender":"p","#
            + #""sent_at":"2004-11-15T01:50:00.199Z","body":"a/\n","A":" x","z":1.0e2}"#
        let event = try decode(line)
        #expect(String(decoding: EventEncoder.line(event), as: UTF8.self) == canonical)
        #expect(try decode(canonical) == event)
    }

    @Test("What an explicit value says is kept, even where it equals the default of a reader (M-2)")
    func keepsExplicitDefaults() throws {
        let line =
            #"{"type":"edit","conversation":"c","id":"m","version":2,"mentions":[],"#
            + #""mentions_me":false,"attachments":[]}"#
        #expect(String(decoding: EventEncoder.line(try decode(line)), as: UTF8.self) == line)
    }

    @Test("An encoder puts each event on a line of its own")
    func separatesLines() throws {
        let page = Event.page(SyncPage(stream: "s", after: nil, next: "n"))
        var encoder = EventEncoder()
        encoder.append(page)
        encoder.append(.later(LaterEvent(type: "x", line: Array(#"{"type":"x"}"#.utf8))))
        encoder.append(page)
        let line = #"{"type":"page","stream":"s","after":null,"next":"n"}"#
        #expect(
            String(decoding: encoder.bytes, as: UTF8.self)
                == "\(line)\n{\"type\":\"x\"}\n\(line)\n"
        )
    }

    @Test("A program's event is held to the same ranges as a line")
    func validatesPrograms() throws {
        func code(_ event: Event) -> (EventError.Code, String?)? {
            do throws(EventError) {
                try event.validate()
                return nil
            } catch {
                return (error.code, error.field)
            }
        }
        var message = MessageEvent(
            conversation: "c",
            id: "m",
            sequence: 1,
            sender: "p",
            sentAt: .latest,
            body: ""
        )
        #expect(code(.message(message)) == nil)
        message.extra = try ExtraFields(#"{"se\u0071":1}"#)
        #expect(try #require(code(.message(message))) == (.reservedField, "seq"))
        message.extra = nil
        message.replyTo = try MessageID(bytes: [0x61, 0xFF])
        #expect(try #require(code(.message(message))) == (.notUTF8, "reply_to"))
        message.replyTo = nil
        message.sequence = 0
        #expect(try #require(code(.message(message))) == (.outOfRange, "seq"))
        #expect(throws: EventError.self) { try ExtraFields("[]") }
        // An empty object and none would be two values with one line.
        #expect(throws: EventError.self) { try ExtraFields("{}") }
        #expect(throws: EventError.self) { try ExtraFields(#"{"a":1,"a":2}"#) }
        #expect(throws: EventError.self) { try Attachments(#"[{"id":"a"},]"#) }
    }
}

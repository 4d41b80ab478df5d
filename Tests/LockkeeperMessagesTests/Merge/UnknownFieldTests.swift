import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import Testing

/// What Lockkeeper does not know is merged key by key, as what it knows is field by field.
@Suite("Unknown fields (M-2, M-3)")
struct UnknownFieldTests {
    private func extra(_ store: MessageStore) async throws -> String? {
        try await store.message("m1", in: "c")?.extra
    }

    private func original(_ fields: String, version: Int64 = 1) throws -> Event {
        try message("m1", seq: 1, version: version) { $0.extra = try ExtraFields(fields) }
    }

    private func edited(_ fields: String, version: Int64) throws -> Event {
        try edit("m1", version: version, "edited") { $0.extra = try ExtraFields(fields) }
    }

    @Test("an edit takes no unknown field of its message away, and changes those that it carries")
    func ofEdits() async throws {
        try await withAccount { account in
            let store = account.messages
            let events = [
                try original(#"{"a":1,"b":1}"#), try edited(#"{"b":2,"c":2}"#, version: 2),
                edit("m1", version: 3, "again"),
            ]
            for (number, order) in permutations(of: events).enumerated() {
                let conversation = try ConversationID("c\(number)")
                for event in order { try await store.ingest([event.moved(to: conversation)]) }
                let stored = try await store.message("m1", in: conversation)
                #expect(stored?.extra == #"{"a":1,"b":2,"c":2}"#, "\(order)")
            }
            #expect(try await store.quarantine().isEmpty)
            // And out and in again.
            let lines = try await store.exported()
            let copy = try await account.another("copy")
            try await copy.importing(lines)
            #expect(try await copy.exported() == lines)
            // A redelivery is none of news.
            try await store.ingest(events)
            let again = try await store.ingest(events)
            #expect(again.outcomes.updated + again.outcomes.quarantined == 0)
        }
    }

    @Test("of two values at one version the larger bytes stand and the other is kept aside")
    func atOneVersion() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([try original(#"{"a":2,"b":1}"#), message("m2", seq: 2)])
            let receipt = try await store.ingest([try original(#"{"a":1,"b":1}"#)])
            #expect(receipt.outcomes == counts(quarantined: 1))
            #expect(try await extra(store) == #"{"a":2,"b":1}"#)
            let list = try await store.quarantine()
            #expect(list.map(\.reason) == ["conflict"])
            let item = try #require(try await store.quarantined(list[0].number))
            let line = #"{"conversation":"c","id":"m1","version":1,"extra":{"a":1}}"#
            #expect(String(decoding: item.content, as: UTF8.self) == line)
            // A person may take the other one; no repetition undoes it.
            _ = try await store.acceptQuarantined(list[0].number)
            try await store.ingest([try original(#"{"a":2,"b":1}"#)])
            #expect(try await extra(store) == #"{"a":1,"b":1}"#)
            #expect(try await store.quarantine().count == 1)
        }
    }

    @Test("the same of a conversation, a member and a reaction")
    func elsewhere() async throws {
        try await withAccount { account in
            let store = account.messages
            for fields in [#"{"a":2}"#, #"{"a":1}"#] {
                let extra = try ExtraFields(fields)
                try await store.ingest([
                    message("m1", seq: 1), conversation { $0.extra = extra },
                    .member(
                        MemberEvent(conversation: "c", person: "bob", version: 1, extra: extra)
                    ),
                    .reaction(
                        ReactionEvent(
                            conversation: "c",
                            id: "m1",
                            reactor: "bob",
                            emoji: "👍",
                            version: 1,
                            extra: extra
                        )
                    ),
                ])
            }
            try await store.ingest([
                conversation(version: 2) { $0.extra = try? ExtraFields(#"{"b":1}"#) }
            ])
            let lines = try await store.exported()
            #expect(lines.filter { $0.contains(#""a":2"#) }.count == 3)
            #expect(lines.contains { $0.contains(#""version":2,"b":1"#) })
            let list = try await store.quarantine()
            #expect(list.count == 3)
            for item in list { _ = try await store.acceptQuarantined(item.number) }
            #expect(try await store.exported().filter { $0.contains(#""a":1"#) }.count == 3)
        }
    }

    // A field of an edit that only messages know, and the other way round.
    @Test("unknown fields with the name of another event's field stay unknown through an export")
    func names() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([
                try original(#"{"by":"eve"}"#), try edited(#"{"sender":"eve","x":1}"#, version: 2),
                edit("m1", version: 3, "newest") { $0.editor = "bob" },
            ])
            let lines = try await store.exported()
            let copy = try await account.another("copy")
            try await copy.importing(lines)
            #expect(try await copy.exported() == lines)
            #expect(try await extra(copy) == #"{"by":"eve","sender":"eve","x":1}"#)
            let stored = try #require(try await copy.message("m1", in: "c"))
            #expect(stored.sender == "bob" && stored.body == "newest")
        }
    }

    // A trace number in every delivery must not bring the merge to a stop.
    @Test("unknown fields leave half of the quarantine to what weighs more, and refuse no batch")
    func room() async throws {
        var limits = Limits()
        limits.quarantineCountMax = 6
        try await withAccount(limits: limits) { account in
            let store = account.messages
            for number in 0..<9 { try await store.ingest([try original(#"{"trace":\#(number)}"#)]) }
            #expect(try await extra(store) == #"{"trace":8}"#)
            #expect(try await store.quarantine().count == 3)
            for body in ["a", "b", "c"] { try await store.ingest([message("m1", seq: 1, body)]) }
            #expect(try await store.quarantine().count == 6)
        }
    }
}

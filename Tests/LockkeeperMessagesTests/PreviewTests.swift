import Lockkeeper
import LockkeeperDomain
import Testing

@testable import LockkeeperMessages

@Suite("The list of conversations reads the beginning of a text, and nothing that may be large")
struct PreviewTests {
    private func preview(_ text: String) -> (text: String, isCut: Bool) {
        let preview = MessagePreview(of: text)
        return (String(decoding: preview.bytes, as: UTF8.self), preview.isCut)
    }

    @Test("a text of up to 512 bytes is its own preview, NUL and all")
    func short() {
        for text in ["", "a", "a\u{0}b", String(repeating: "é", count: 256)] {
            #expect(preview(text) == (text, false))
        }
    }

    @Test("a longer one is cut between two characters, wherever in them the bound lies")
    func cut() {
        let family = "👩‍👩‍👧‍👦"
        for character in ["x", "é", "e\u{301}\u{323}", "字", "𠜎", family, "\r\n", "a\u{0}"] {
            for lead in 0..<30 {
                let text =
                    String(repeating: "-", count: lead)
                    + String(repeating: character, count: 600)
                let (start, isCut) = preview(text)
                #expect(isCut && start.utf8.count <= 512)
                #expect(start.utf8.count > 512 - 2 * max(character.utf8.count, 4))
                // Characters, not only bytes: what is left begins with a whole one.
                #expect(text.starts(with: start), "\(character) \(lead)")
            }
        }
        // One character without an end is cut between scalars.
        let endless = "a" + String(repeating: "\u{301}", count: 400)
        #expect(preview(endless).text.utf8.count > 500)
    }

    @Test(
        "the preview follows what becomes of the last message, and is what the message begins with"
    )
    func follows() async throws {
        try await withAccount { account in
            let store = account.messages
            func last() async throws -> LastMessage? { try await store.conversations().first?.last }
            let long = String(repeating: "long text ", count: 100_000)
            try await store.ingest([message("m1", seq: 1, "one"), message("m2", seq: 2, long)])
            let stored = try #require(try await last())
            #expect(stored.id == "m2" && stored.isCut && stored.preview?.utf8.count ?? 0 > 500)
            #expect(long.hasPrefix(stored.preview ?? "-"))
            #expect(try await store.conversation("c")?.last == stored)
            let page = try await store.conversations(
                after: ConversationPlace(isPinned: true, lastAt: nil, id: "a"),
                limit: 9
            )
            #expect(page.map(\.last) == [stored])
            try await store.ingest([edit("m2", version: 2, "edited")])
            #expect(try await last()?.preview == "edited")
            // In one batch, whichever comes last.
            try await store.ingest([message("m3", seq: 3, "three"), edit("m3", version: 2, "3")])
            #expect(try await last()?.preview == "3")
            try await store.ingest([recall("m3", version: 3)])
            let recalled = try #require(try await last())
            #expect(recalled.isRecalled && recalled.preview == nil && !recalled.isCut)
            try await store.ingest([delete("m3"), delete("m2")])
            #expect(try await last()?.preview == "one")
            try await store.ingest([
                message("m4", seq: 4, "") { $0.attachments = try Attachments(#"[{"id":"a"}]"#) }
            ])
            let empty = try #require(try await last())
            #expect(empty.preview == "" && empty.hasAttachments)
        }
    }

    @Test("the list's queries name no column that may be large")
    func queries() {
        for query in [MessageStore.conversationsQuery, MessageStore.conversationOfRowQuery] {
            let text = query.description
            for column in ["m.body", "m.mentions", "m.extra"] { #expect(!text.contains(column)) }
            // Of attachments only whether there are any: the column's type is in the row's header.
            #expect(
                text.replacing("typeof(m.attachments)", with: "").contains("m.attachments") == false
            )
        }
    }
}

import Lockkeeper
import LockkeeperDomain
import Testing

@testable import LockkeeperMessages

// B95: somebody writes bytes into the tables that are no text. Nothing of ours does.
@Suite("A damaged text spoils its own row and hides no other, wherever messages are read (B95)")
struct DamagedTextTests {
    /// What is damaged in the row of "m2".
    enum Part: String, CaseIterable {
        case body, id, sender
    }

    /// Damages "m2" of three messages.
    private func damage(_ part: Part, of account: TestAccount) async throws {
        let column =
            switch part {
            case .body: "body"
            case .id: "message_id"
            case .sender: "sender"
            }
        try await account.damage(
            "UPDATE lk_message SET \(column) = CAST(x'61FF62' AS TEXT) WHERE seq = 2"
        )
    }

    @Test(
        "timeline, live timeline, conversations and one message show it as damaged, beside others",
        arguments: Part.allCases
    )
    func reading(part: Part) async throws {
        // The text that is damaged must not have been indexed while it was whole.
        var limits = Limits()
        limits.upkeepIdleAfter = .seconds(3_600)
        try await withAccount(limits: limits) { account in
            let store = account.messages
            try await store.ingest(try messages(["one", "two", "three"]))
            try await damage(part, of: account)
            let page = try await store.timeline("c", limit: 9)
            #expect(page.map(\.sequence) == [3, 2, 1])
            #expect(page.map(\.isDamaged) == [false, true, false])
            let (live, _) = try store.observeTimeline("c", limit: 9).startBlocking()
            #expect(live.items == page)
            // As the summary of its conversation.
            try await store.ingest([.delete(DeleteEvent(conversation: "c", id: "m3"))])
            let list = try await store.conversations()
            #expect(list.map(\.id) == ["c"] && list.first?.last?.isDamaged == true)
            let (lists, _) = try store.observeConversations(limit: 9).startBlocking()
            #expect(lists.items == list)
            let id = try #require(list.first?.last?.id)
            #expect(try await store.message(id, in: "c")?.isDamaged == true)
        }
    }

    @Test(
        "search finds others, and what can be read of it, however far the index is",
        arguments: Part.allCases,
        IndexState.allCases
    )
    func searching(part: Part, index: IndexState) async throws {
        try await withAccount { account in
            try await account.store(
                try messages(["text one", "text two", "text three"]),
                index: index
            )
            try await damage(part, of: account)
            let readable = part == .body ? ["m3", "m1"] : ["m3", "m2", "m1"]
            let found = try await account.messages.search(SearchQuery("text"), limit: 9)
            let others = found.filter { $0.message.sequence != 2 }.map(\.message.id.description)
            #expect(others == ["m3", "m1"])
            #expect(found.count == readable.count)
            #expect(found.allSatisfy { $0.message.isDamaged == ($0.message.sequence == 2) })
            // What the search's own table holds is no more trusted than the messages.
            try await account.damage(
                "UPDATE lk_search_text SET text = CAST(x'61FF62' AS TEXT)"
            )
            #expect(try await account.found("text").count == readable.count)
            try await account.damage("UPDATE lk_search_state SET folding = 0")
            try await account.messages.catchUpSearch()
            #expect(try await account.found("text").count == readable.count)
        }
    }

    @Test(
        "an export is JSON all the same, and a fresh store takes each line",
        arguments: Part.allCases
    )
    func exporting(part: Part) async throws {
        try await withAccount { account in
            try await account.messages.ingest(try messages(["one", "two", "three"]))
            try await damage(part, of: account)
            let lines = try await account.messages.exported()
            let target = try await account.another("target")
            try await target.importing(lines)
            let page = try await target.timeline("c", limit: 9)
            #expect(page.map(\.sequence) == [3, 2, 1])
            // What is shown there is what could be read here; it is text now.
            #expect(page.allSatisfy { !$0.isDamaged })
            #expect(page.map(\.body).contains(part == .body ? "a\u{FFFD}b" : "two"))
        }
    }

    // Limits count bytes, as what is stored does: not characters, of which one may have many.
    @Test(
        "a text of as many bytes as are allowed is taken, one byte more is refused, at any letter"
    )
    func byteLimits() async throws {
        try await withAccount { account in
            let store = account.messages
            let bodyMax = Limits().bodyByteCountMax
            for (number, letter) in ["a", "é", "語", "😀", "\0"].enumerated() {
                let size = letter.utf8.count
                let filler = String(repeating: "x", count: bodyMax % size)
                let body = String(repeating: letter, count: bodyMax / size) + filler
                let id = try MessageID("m\(number)")
                try await store.ingest([message(id, seq: Int64(number) + 1, body)])
                #expect(try await store.message(id, in: "c")?.body == body)
                #expect(throws: EventError.self) {
                    try message(id, seq: 1, body + "x").validate()
                }
                let name = String(repeating: letter, count: 512 / size)
                let rest = String(repeating: "x", count: 512 % size)
                #expect(throws: Never.self) { try MessageID(name + rest) }
                #expect(throws: IdentifierError.self) { try MessageID(name + rest + "x") }
            }
        }
    }
}

import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import Testing

/// What went wrong elsewhere and has no better place among the other suites.
@Suite("Field reports about merging")
struct FieldReportTests {
    @Test(
        "B60: a live message beyond a gap moves no cursor, so that what lies between is asked for"
    )
    func liveBeyondGap() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([message("m100", seq: 100)], closing: page(nil, "k100"))
            let live = try await store.ingest([message("m130", seq: 130)])
            #expect(live.cursors.isEmpty)
            #expect(try await store.cursors() == ["inbox": "k100"])
            let between = try (101...129).map { try message(MessageID("m\($0)"), seq: Int64($0)) }
            try await store.ingest(between, closing: page("k100", "k130"))
            #expect(try await store.timeline("c", limit: 100).count == 31)
            #expect(try await store.cursors() == ["inbox": "k130"])
        }
    }

    @Test(
        "B62: the order is that of seq, whatever the senders' clocks say; what has no seq goes last"
    )
    func sendersClocks() async throws {
        try await withAccount { account in
            let store = account.messages
            let hour: Int64 = 3_600_000
            let clocks: [Int64] = [3 * hour, -180_000, 0, -1_796_000_000_000, 2_300_000_000_000]
            let now: Int64 = 1_796_000_000_000
            let events = try clocks.enumerated().map { number, shift in
                try message(
                    MessageID("m\(number + 1)"),
                    seq: Int64(number + 1),
                    sentAt: now + shift
                )
            }
            try await store.ingest(
                events.shuffled() + [message("own", seq: nil, version: 0, sentAt: now)]
            )
            let order = try await store.timeline("c", limit: 9).reversed()
            #expect(order.map(\.id) == ["m1", "m2", "m3", "m4", "m5", "own"])
            #expect(order.prefix(5).map { $0.sentAt } == clocks.map { instant(now + $0) })
            try await store.ingest([read(upTo: 2)])
            #expect(try await store.unread() == 4)
            try await store.ingest([message("own", seq: 6, sentAt: 1)])
            #expect(try await store.timeline("c", limit: 1).map(\.id) == ["own"])
        }
    }

    @Test("B66: a recall that comes while its message's process is gone hides it everywhere")
    func recalledWhileAway() async throws {
        try await withAccount { account in
            let helper = try await account.process("helper")
            try await helper.ingest([read(upTo: 0), message("m1", seq: 1, "secret")])
            await helper.session.close()
            let position = try await account.session.database.head()
            try await account.messages.ingest([recall("m1")], closing: page(nil, "k1"))
            #expect(try await account.messages.shown() == ["m1:"])
            #expect(try await account.messages.unread() == 0)
            #expect(try await account.messages.conversation("c")?.last?.preview == nil)
            #expect(try await !account.messages.exported().joined().contains("secret"))
            let ranges = account.session.changes(after: position).makeAsyncIterator()
            let range = try #require(try await ranges.next())
            #expect(range.tables.contains { $0.name == "lk_message" })
        }
    }

    // There is no edit count: only whether and when.
    @Test("B70: a redelivery of older versions changes nothing, before and after a restart")
    func redeliveredVersions() async throws {
        try await withAccount { account in
            let events = [
                message("m1", seq: 1, "one"),
                edit("m1", version: 2, "two") { $0.editedAt = instant(2) },
                edit("m1", version: 3, "three") { $0.editedAt = instant(3) },
            ]
            try await account.messages.ingest(events)
            let late = try await account.messages.ingest(Array(events.prefix(2)))
            #expect(late.outcomes == counts(stale: 2) && late.commit == nil)
            let later = try await account.process("later")
            let again = try await later.ingest(events)
            #expect(again.commit == nil)
            let stored = try #require(try await later.message("m1", in: "c"))
            #expect(stored.body == "three" && stored.version == 3)
            #expect(stored.editedAt == instant(3))
        }
    }

    @Test("B73: no version of a recalled message's text is left, whenever the edits came")
    func recalledVersions() async throws {
        try await withAccount { account in
            let store = account.messages
            let words = ["first", "second", "third", "fourth"]
            let edits = words.dropFirst().enumerated().map { number, word in
                edit("m1", version: Int64(number + 2), "word-\(word)")
            }
            try await store.ingest([edits[2], message("m1", seq: 1, "word-first"), edits[0]])
            try await store.ingest([recall("m1", version: 3)])
            try await store.ingest([edits[1], edits[2], message("m1", seq: 1, "word-first")])
            #expect(try await store.shown() == ["m1:"])
            #expect(try await !store.exported().joined().contains("word-"))
            #expect(try await store.quarantine().isEmpty)
        }
    }

    @Test("B94: a NUL within text and ids is kept, and tells ids apart")
    func innerNUL() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([
                message("x\0y", seq: 1, "a\0secret😀", from: "n\0"), message("x", seq: 2, "other"),
                read(upTo: "x\0y"), reaction("x\0y", by: "n\0", "e\0"),
            ])
            let stored = try #require(try await store.message("x\0y", in: "c"))
            #expect(stored.body == "a\0secret😀" && stored.sender == "n\0")
            #expect(try await store.message("x", in: "c")?.body == "other")
            #expect(try await store.reactions(to: "x\0y", in: "c").map(\.emoji) == ["e\0"])
            #expect(try await store.conversation("c")?.readSequence == 1)
            let target = try await account.another("target")
            let lines = try await store.exported()
            try await target.importing(lines)
            #expect(try await target.exported() == lines)
        }
    }

    // A damaged row shows as damaged and hides no other.
    @Test("B95: stored bytes that are not UTF-8 spoil their own row only, and input is refused")
    func damagedText() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest((1...4).map { try message(MessageID("m\($0)"), seq: Int64($0)) })
            _ = try await account.session.database.write { transaction in
                try transaction.execute(
                    "UPDATE lk_message SET body = CAST(x'61FF62' AS TEXT) WHERE message_id = 'm2'"
                )
                try transaction.execute(
                    "UPDATE lk_message SET body = CAST(x'EDA080' AS TEXT) WHERE message_id = 'm3'"
                )
                try transaction.execute(
                    "UPDATE lk_message SET message_id = CAST(x'6DFF' AS TEXT) WHERE message_id = 'm4'"
                )
            }
            let page = try await store.timeline("c", limit: 9).reversed()
            #expect(page.map(\.sequence) == [1, 2, 3, 4])
            #expect(page.map(\.isDamaged) == [false, true, true, true])
            #expect(page.dropFirst().first?.body == "a\u{FFFD}b")
            #expect(page.last?.id.bytes == [0x6D, 0xFF])
            #expect(try await store.conversation("c")?.last?.sequence == 4)
            var decoder = EventDecoder()
            let line = Array(#"{"conversation":"c","id":"m","seq":1,"sender":"b","body":""#.utf8)
            #expect(throws: EventError.self) {
                try decoder.decode(
                    line: line + [0xFF] + Array(#"","sent_at":"2004-11-15T01:50:00Z"}"#.utf8)
                )
            }
        }
    }

    @Test("B69: what is deleted is the id: its text comes under another one, and it never again")
    func sentAgainAfterDeletion() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([message("m1", seq: 1, "hello")])
            try await store.delete("m1", in: "c")
            #expect(try await store.shown() == [])
            let again = try await store.ingest([message("m2", seq: 2, "hello")])
            #expect(again.outcomes == counts(inserted: 1))
            // Redelivered, at a newer version, or by a push: it stays away, on every device alike.
            try await store.ingest([
                message("m1", seq: 1, "hello"), message("m1", seq: 1, "hello", version: 2),
                message("m1", seq: nil, "hello", version: 0),
            ])
            #expect(try await store.shown() == ["m2:hello"])
        }
    }
}

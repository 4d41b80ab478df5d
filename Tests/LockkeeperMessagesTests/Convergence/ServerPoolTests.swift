import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import Testing

/// What servers really send, each pool in every order there is (I-5). `Docs/MESSAGES.md` says which
/// server sends it and what the end is.
@Suite("Pools that servers produce, in every order (I-5)")
struct ServerPoolTests {
    /// A pool, and what the conversation shows in the end.
    struct Pool: CustomTestStringConvertible {
        let testDescription: String
        let events: [Event]
        let shown: [String]
        var authority = ServerContract.Authority.server

        init(
            _ name: String,
            _ events: [Event],
            shown: [String],
            authority: ServerContract.Authority = .server
        ) {
            testDescription = name
            self.events = events
            self.shown = shown
            self.authority = authority
        }
    }

    @Test("every order leads to one state, and it is the right one", arguments: pools)
    func everyOrder(pool: Pool) async throws {
        let contract = ServerContract(authority: pool.authority)
        try await withAccount(contract: contract) { account in
            let rehearsal = Rehearsal(store: account.messages)
            var generator = SeededGenerator(seed: 1)
            let deliveries = Delivery.all(
                of: EventPool(events: pool.events),
                exhaustiveCountMax: 6,
                randomCount: 30,
                &generator
            )
            let found = try await rehearsal.disagreement(
                about: EventPool(events: pool.events),
                deliveries: deliveries
            )
            #expect(found == nil, "\(found.map(\.description) ?? "")")
            try await account.messages.ingest(pool.events)
            #expect(try await account.messages.shown() == pool.shown)
        }
    }

    private static let original = message("m1", seq: 1, "original")
    private static let edited = edit("m1", version: 2, "edited") {
        $0.editor = "bob"
        $0.editedAt = instant(2_000)
    }

    static let pools: [Pool] = texts + ends + positions

    private static let texts = [
        Pool(
            "a snapshot after the edit: the message whole, at the edit's version",
            [original, edited, message("m1", seq: 1, "edited", version: 2)],
            shown: ["m1:edited"]
        ),
        Pool(
            "a push, then the message in full",
            [message("m1", seq: nil, "orig…", version: 0, sentAt: 900), original, edited],
            shown: ["m1:edited"]
        ),
        Pool(
            "the confirmation of an own message, and its echo",
            [
                message("m1", seq: nil, "mine", version: 0, from: "me") { $0.clientID = "k" },
                message("m1", seq: 1, "mine", from: "me") {
                    $0.clientID = "k"
                    $0.isIncoming = false
                },
                read(upTo: 0),
            ],
            shown: ["m1:mine"]
        ),
        Pool(
            "the same time in another precision",
            [message("m1", seq: 1, sentAt: 1_234), message("m1", seq: 1, sentAt: 1_000)],
            shown: ["m1:text"]
        ),
        Pool(
            "attachment addresses that are signed again",
            ["1", "2", "3"].compactMap { number in
                try? message("m1", seq: 1) {
                    $0.attachments = try Attachments(#"[{"id":"a","url":"\#(number)"}]"#)
                }
            },
            shown: ["m1:text"]
        ),
        Pool(
            "unknown fields of a message, of its edits, and another value at one version",
            [
                unknown(#"{"x":1,"y":1}"#), unknown(#"{"x":2}"#),
                unknown(#"{"y":2,"z":2}"#, editedAt: 2), unknown(#"{"x":3}"#, editedAt: 3),
                unknown(#"{"z":1}"#, editedAt: 2),
            ].compactMap { $0 },
            shown: ["m1:text"]
        ),
        Pool(
            "a message that is given another place",
            [
                original, message("m1", seq: 3, "original", version: 2), message("m2", seq: 2),
                read(upTo: 1),
            ],
            shown: ["m2:text", "m1:original"]
        ),
        Pool(
            "two contents at one version",
            [message("m1", seq: 1, "a"), message("m1", seq: 1, "b"), message("m1", seq: 1, "a")],
            shown: ["m1:b"]
        ),
    ]

    private static let ends = [
        Pool(
            "a forged and a true recall, where only the author may",
            [
                original, recalled(by: "eve"), recalled(by: "bob"),
                message("m2", seq: 2, "stays"),
            ],
            shown: ["m1:", "m2:stays"],
            authority: .author
        ),
        Pool(
            "a forged recall alone, where only the author may",
            [original, recalled(by: "eve"), edited],
            shown: ["m1:edited"],
            authority: .author
        ),
        Pool(
            "a recall, then an edit that was under way",
            [original, recall("m1", version: 2), edit("m1", version: 3, "late"), reaction("m1")],
            shown: ["m1:"]
        ),
        Pool(
            "a recall that carries the place of a message that never comes",
            [recall("m1", version: 1, seq: 1, from: "bob"), message("m2", seq: 2), read(upTo: 0)],
            shown: ["m1:", "m2:text"]
        ),
        Pool(
            "a deletion and the redelivery of what was deleted",
            [original, edited, delete("m1"), reaction("m1"), message("m2", seq: 2)],
            shown: ["m2:text"]
        ),
        Pool(
            "a clear, late history below it and a message above",
            [
                original, message("m2", seq: 2), clear(upTo: 2), message("m3", seq: 3),
                read(upTo: 1),
            ],
            shown: ["m3:text"]
        ),
        Pool(
            "a clear and a message that is given a place above it",
            [original, clear(upTo: 1), message("m1", seq: 2, "original", version: 2)],
            shown: []
        ),
    ]

    private static let positions = [
        Pool(
            "a position before its messages, by place",
            [read(upTo: 2), original, message("m2", seq: 2), message("m3", seq: 3)],
            shown: ["m1:original", "m2:text", "m3:text"]
        ),
        Pool(
            "a position before its messages, by message, and an older one by place",
            [read(upTo: "m2"), read(upTo: 1), original, message("m2", seq: 2)],
            shown: ["m1:original", "m2:text"]
        ),
        Pool(
            "pages that overtake each other, with their events",
            [original, .page(page(nil, "k1")), .page(page("k1", "k2")), .page(page("k2", "k3"))],
            shown: ["m1:original"]
        ),
        Pool(
            "overlapping ranges of history, and conversation state of three versions",
            [
                history(1...5), history(4...9), conversation { $0.title = "a" },
                conversation(version: 2) { $0.isMuted = true },
                conversation(version: 3) { $0.title = "b" }, member("bob"),
            ],
            shown: []
        ),
        Pool(
            "a reaction that is put on, taken off and put on again",
            [
                original, reaction("m1", version: 1), reaction("m1", version: 2, removed: true),
                reaction("m1", version: 3),
            ],
            shown: ["m1:original"]
        ),
    ]

    /// A message, or an edit of a version, of which Lockkeeper knows not all fields.
    private static func unknown(_ fields: String, editedAt version: Int64? = nil) -> Event? {
        guard let extra = try? ExtraFields(fields) else { return nil }
        guard let version else { return message("m1", seq: 1) { $0.extra = extra } }
        return edit("m1", version: version) { $0.extra = extra }
    }

    private static func recalled(by person: PersonID) -> Event {
        .recall(RecallEvent(conversation: "c", id: "m1", version: 2, recaller: person))
    }
}

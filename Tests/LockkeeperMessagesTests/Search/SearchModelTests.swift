import Lockkeeper
import LockkeeperDomain
import LockkeeperTesting
import LockkeeperText
import Testing

@testable import LockkeeperMessages

@Suite("Search against a model that looks at every text (I-3, I-5)")
struct SearchModelTests {
    /// Words of few characters, so that needles of every length are frequent and rare.
    private struct Words {
        var generator: SeededGenerator
        private let characters = ["a", "b", "ab", "é", "e\u{301}", "成", "语", "接龙", "👍", "Z", "ß"]

        init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

        mutating func text(_ count: ClosedRange<Int>) -> String {
            (0..<Int.random(in: count, using: &generator)).map { _ in
                Int.random(in: 0..<5, using: &generator) == 0
                    ? " " : characters.randomElement(using: &generator) ?? ""
            }.joined()
        }

        mutating func number(_ range: ClosedRange<Int>) -> Int {
            Int.random(in: range, using: &generator)
        }
    }

    /// What the messages say.
    private struct Said: Equatable {
        var body: String?
        let conversation: String
        let seq: Int64
        let sender: String
        let at: Int64
        var version: Int64
    }

    @Test("random histories, indexed at random moments: every answer and every page is the model's")
    func histories() async throws {
        for _ in 0..<6 {
            let seed = UInt64.random(in: 0...UInt64.max)
            print("seed=\(seed)")
            try await run(Words(seed: seed), "seed=\(seed)")
        }
    }

    private func run(_ words: Words, _ seed: String) async throws {
        var words = words
        try await withAccount { account in
            var said: [String: Said] = [:]
            for _ in 0..<12 {
                let events = try makeEvents(&words, &said)
                try await account.messages.ingest(events)
                switch words.number(0...3) {
                case 0: try await account.messages.catchUpSearch()
                case 1: try await step(account)
                default: break
                }
                for _ in 0..<4 { try await compare(&words, said, account, seed) }
            }
            try await account.messages.catchUpSearch()
            for _ in 0..<12 { try await compare(&words, said, account, seed) }
            try await account.test.expectSound()
        }
    }

    /// One step of the index, which may be half of something.
    private func step(_ account: TestAccount) async throws {
        _ = try await account.session.database.submit(
            durability: .committed,
            class: .upkeep,
            waitMax: nil
        ) { connection, _ in
            _ = try SearchIndexer(connection: connection, now: 0).step()
        }
    }

    private func makeEvents(
        _ words: inout Words,
        _ said: inout [String: Said]
    ) throws -> [Event] {
        var events: [Event] = []
        for _ in 0..<words.number(1...40) {
            let known = said.keys.sorted().randomElement(using: &words.generator)
            switch (words.number(0...9), known) {
            case (0, let id?):
                guard var message = said[id], message.conversation == "c" else { continue }
                message.version += 1
                events.append(try recall(MessageID(id), version: message.version))
                message.body = nil
                said[id] = message
            case (1...2, let id?):
                guard var message = said[id], message.conversation == "c" else { continue }
                message.version += 1
                let body = words.text(0...12)
                events.append(try edit(MessageID(id), version: message.version, body))
                if message.body != nil { message.body = body }
                said[id] = message
            default:
                let number = said.count + 1
                let message = Said(
                    body: words.text(0...12),
                    conversation: words.number(0...2) == 0 ? "d" : "c",
                    seq: Int64(number),
                    sender: words.number(0...1) == 0 ? "ann" : "bob",
                    at: Int64(words.number(0...5)) * 1_000_000,
                    version: 1
                )
                said["m\(number)"] = message
                events.append(try event(message, "m\(number)"))
            }
        }
        return events
    }

    private func event(_ said: Said, _ id: String) throws -> Event {
        try message(
            MessageID(id),
            seq: said.seq,
            said.body ?? "",
            from: PersonID(said.sender),
            in: ConversationID(said.conversation),
            sentAt: said.at
        )
    }

    private func compare(
        _ words: inout Words,
        _ said: [String: Said],
        _ account: TestAccount,
        _ seed: String
    ) async throws {
        let query = SearchQuery(
            words.text(1...4),
            match: words.number(0...1) == 0 ? .words : .phrase,
            conversation: words.number(0...2) == 0 ? "c" : nil,
            sender: words.number(0...2) == 0 ? "ann" : nil,
            after: words.number(0...3) == 0 ? instant(2_000_000) : nil,
            before: words.number(0...3) == 0 ? instant(4_000_000) : nil
        )
        let expected = model(query, said)
        let limit = words.number(1...7)
        var found: [String] = []
        var place: SearchPlace?
        repeat {
            let page = try await account.messages.search(query, after: place, limit: limit)
            #expect(page.count <= limit)
            found += page.map(\.message.id.description)
            place = page.count < limit ? nil : page.last?.place
        } while place != nil
        #expect(found == expected, "\(seed): \(query), pages of \(limit)")
    }

    private func model(_ query: SearchQuery, _ said: [String: Said]) -> [String] {
        let text = String(decoding: TextFolding.folded(query.text), as: UTF8.self)
        let needles =
            query.match == .words
            ? text.split(separator: " ").map(String.init)
            : [String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())]
                .filter { !$0.isEmpty }
        guard !needles.isEmpty else { return [] }
        let hits = said.filter { _, message in
            guard let body = message.body else { return false }
            if let only = query.conversation?.description, message.conversation != only {
                return false
            }
            if let only = query.sender?.description, message.sender != only { return false }
            if let after = query.after, message.at < after.millisecondsSince1970 { return false }
            if let before = query.before, message.at >= before.millisecondsSince1970 {
                return false
            }
            let folded = TextFolding.folded(body)
            return needles.allSatisfy { contains(folded, Array($0.utf8)) }
        }
        return hits.sorted { left, right in
            if left.value.at != right.value.at { return left.value.at > right.value.at }
            if left.value.conversation != right.value.conversation {
                return left.value.conversation < right.value.conversation
            }
            return left.value.seq > right.value.seq
        }.map(\.key)
    }

    private func contains(_ text: [UInt8], _ needle: [UInt8]) -> Bool {
        guard text.count >= needle.count else { return false }
        return (0...(text.count - needle.count)).contains { text[$0...].starts(with: needle) }
    }
}

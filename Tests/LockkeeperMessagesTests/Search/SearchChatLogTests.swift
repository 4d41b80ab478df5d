import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperTesting
import LockkeeperText
import Testing

@testable import LockkeeperMessages

@Suite("Searching real chat logs: while they are ingested, and after")
struct SearchChatLogTests {
    /// A common word, a rarer one, one of two characters, one of one, a phrase, and nothing.
    private static let queries = [
        SearchQuery("the"), SearchQuery("ubuntu"), SearchQuery("ok"), SearchQuery("q"),
        SearchQuery("how do i", match: .phrase), SearchQuery("zq"), SearchQuery("xyzzyx"),
    ]

    @Test("hits equal a look at every text, at every moment, by every page")
    func equalsScan() async throws {
        guard let events = try ChatData.events(of: "irc-small.ndjson") else { return }
        try await withAccount { account in
            let bodies = Self.bodies(events)
            async let ingesting: Void = {
                for start in stride(from: 0, to: events.count, by: 100) {
                    let batch = Array(events[start..<min(start + 100, events.count)])
                    try await account.messages.ingest(batch)
                    try await account.messages.catchUpSearch()
                }
            }()
            for _ in 0..<5 {
                for query in Self.queries {
                    // What is being ingested is found or not; all that is found is true.
                    let hits = try await account.messages.search(query, limit: 100_000)
                    let needles = SearchNeedles(query.text, match: query.match)
                    for hit in hits {
                        #expect(needles.match(TextFolding.folded(hit.message.body ?? "")))
                    }
                }
            }
            try await ingesting
            for query in Self.queries { try await compare(query, bodies, account) }
        }
    }

    @Test(
        "the large log: hits equal a look at every text, and a page is far below what a look costs",
        .enabled(
            if: Environment.variable("LOCKKEEPER_TEST_ALL") != nil,
            "a long form: runs with Scripts/test --all"
        )
    )
    func large() async throws {
        guard let events = try ChatData.events(of: "irc-large.ndjson") else { return }
        try await withAccount { account in
            let clock = SystemClock()
            var began = clock.now()
            for start in stride(from: 0, to: events.count, by: 10_000) {
                let batch = Array(events[start..<min(start + 10_000, events.count)])
                try await account.messages.ingest(batch)
                if start == 100_000 { try await account.messages.catchUpSearch() }
            }
            print("ingest: \(clock.now().duration(since: began))")
            let bodies = Self.bodies(events)
            for query in Self.queries { try await compare(query, bodies, account) }
            began = clock.now()
            try await account.messages.catchUpSearch()
            print("index: \(clock.now().duration(since: began))")
            var slowest: Duration = .zero
            for query in Self.queries {
                try await compare(query, bodies, account)
                var durations: [Duration] = []
                for _ in 0..<100 {
                    began = clock.now()
                    _ = try await account.messages.search(query, limit: 50)
                    durations.append(clock.now().duration(since: began))
                }
                durations.sort()
                print("\(query.text): p50 \(durations[50]) p99 \(durations[98])")
                slowest = max(slowest, durations[50])
            }
            // A look at every text, for the measure of this machine and build.
            began = clock.now()
            let needles = SearchNeedles("xyzzyx", match: .words)
            let isThere = events.contains { event in
                guard case .message(let message) = event else { return false }
                return needles.match(TextFolding.folded(message.body))
            }
            #expect(!isThere)
            #expect(slowest * 3 < clock.now().duration(since: began))
        }
    }

    /// What each message says in the end, folded: no message of the logs is recalled.
    private static func bodies(_ events: [Event]) -> [MessageKey: [UInt8]] {
        var bodies: [MessageKey: (version: Int64, body: String)] = [:]
        for event in events {
            switch event {
            case .message(let message):
                let key = MessageKey(conversation: message.conversation, id: message.id)
                if (bodies[key]?.version ?? -1) < message.version {
                    bodies[key] = (message.version, message.body)
                }
            case .edit(let edit):
                let key = MessageKey(conversation: edit.conversation, id: edit.id)
                if let body = edit.body, (bodies[key]?.version ?? -1) < edit.version {
                    bodies[key] = (edit.version, body)
                }
            default: break
            }
        }
        return bodies.mapValues { TextFolding.folded($0.body) }
    }

    private struct MessageKey: Hashable {
        let conversation: ConversationID
        let id: MessageID
    }

    private func compare(
        _ query: SearchQuery,
        _ bodies: [MessageKey: [UInt8]],
        _ account: TestAccount
    ) async throws {
        let needles = SearchNeedles(query.text, match: query.match)
        let expected = Set(
            bodies.filter { needles.match($0.value) }.map(\.key)
        )
        let hits = try await account.messages.search(query, limit: 1_000_000)
        let found = hits.map {
            MessageKey(conversation: $0.message.conversation, id: $0.message.id)
        }
        #expect(Set(found) == expected, "\(query.text)")
        #expect(found.count == expected.count, "\(query.text)")
        let first = try await account.messages.search(query, limit: 20)
        #expect(first == Array(hits.prefix(20)), "\(query.text)")
    }
}

import CLockkeeperSQLite
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperTesting
import Testing

@testable import Lockkeeper
@testable import LockkeeperMessages

@Suite("The index of texts: behind the commits, checked, made anew, and forgetful")
struct SearchIndexTests {
    @Test("indexing is no commit and nobody's news")
    func noCommit() async throws {
        try await withAccount { account in
            try await account.messages.ingest(try messages(["one", "two"]))
            let head = try await account.session.database.head()
            try await account.messages.catchUpSearch()
            #expect(try await account.messages.searchStatus().indexedCount == 2)
            #expect(try await account.session.database.head() == head)
            // What becomes of the index with an edit is not told either.
            try await account.messages.ingest([edit("m1", version: 2, "three")])
            let ranges = try await account.session.ranges(after: head, commitCount: 1)
            #expect(!ranges.flatMap(\.tables).isEmpty)
            #expect(!ranges.flatMap(\.tables).contains { $0.name.hasPrefix("lk_search") })
        }
    }

    @Test("where no host lives a process indexes once it has rested", .timeLimit(.minutes(1)))
    func sessionUpkeep() async throws {
        var limits = Limits()
        limits.upkeepIdleAfter = .milliseconds(20)
        try await withAccount(limits: limits) { account in
            try await account.messages.ingest(try messages((1...300).map { "text \($0)" }))
            while try await !account.messages.searchStatus().isCaughtUp {
                try await Task.sleep(for: .milliseconds(5))
            }
            #expect(try await account.found("text 7").count == 57)
        }
    }

    @Test("a host indexes what helpers have written", .timeLimit(.minutes(1)))
    func hostUpkeep() async throws {
        var limits = Limits()
        limits.slowPollInterval = .milliseconds(20)
        try await withAccount(limits: limits) { account in
            let host = try await account.test.process("host", role: .host)
            let serving = try await host.serve()
            let helper = try await account.process("helper")
            try await helper.ingest(try messages((1...300).map { "text \($0)" }))
            while try await !account.messages.searchStatus().isCaughtUp {
                try await Task.sleep(for: .milliseconds(5))
            }
            await serving.close()
        }
    }

    @Test("an index that is out of step is found by the check, and made anew (B88)")
    func outOfStep() async throws {
        try await withAccount { account in
            try await account.store(try messages(["alpha", "beta", "gamma"]), index: .caughtUp)
            try await account.damage("DELETE FROM lk_search_text WHERE message = 2")
            await #expect(throws: UnsoundStore.self) { try await account.test.expectSound() }
            // The messages are whole, and their changes go on.
            try await account.messages.ingest([recall("m2", version: 2), recall("m1", version: 2)])
            #expect(try await account.found("gamma") == ["m3"])
            try await account.messages.rebuildSearch()
            #expect(try await account.found("beta") == [])
            try await account.test.expectSound()
        }
    }

    @Test("segments that are damaged keep no message from changing, nor from being found (B88)")
    func damagedSegments() async throws {
        try await withAccount { account in
            try await account.store(try messages(["alpha", "beta", "gamma"]), index: .caughtUp)
            try await account.damage("DELETE FROM lk_search_data WHERE id > 10")
            await #expect(throws: UnsoundStore.self) { try await account.test.expectSound() }
            #expect(try await account.found("beta") == ["m2"])
            try await account.messages.ingest([
                recall("m2", version: 2), edit("m1", version: 2, "delta"),
            ])
            #expect(try await account.found("beta") == [])
            #expect(try await account.found("delta") == ["m1"])
            try await account.messages.rebuildSearch()
            #expect(try await account.found("gamma") == ["m3"])
            #expect(try await account.messages.searchStatus().isCaughtUp)
            try await account.test.expectSound()
        }
    }

    @Test("making it anew tells how far it is, and every answer is complete meanwhile")
    func rebuild() async throws {
        try await withAccount { account in
            try await account.store(
                try messages((1...1_000).map { "text \($0)" }),
                index: .caughtUp
            )
            let reported = Collector<SearchStatus>()
            async let rebuilding: Void = account.messages.rebuildSearch { reported.append($0) }
            for _ in 0..<20 { #expect(try await account.found("text 77").count == 19) }
            try await rebuilding
            let waiting = reported.values.map(\.waitingCount)
            #expect(waiting.first == 1_000 && waiting.last == 0)
            #expect(waiting == waiting.sorted(by: >))
            #expect(reported.values.contains { $0.isBeingMade })
            #expect(reported.values.last?.isCaughtUp == true)
            #expect(try await account.found("text 77").count == 19)
        }
    }

    @Test("an index of older rules is made anew, one of newer rules is left alone and not used")
    func otherRules() async throws {
        try await withAccount { account in
            try await account.store(try messages(["alpha"]), index: .caughtUp)
            try await account.damage("UPDATE lk_search_state SET folding = folding + 1")
            try await account.messages.catchUpSearch()
            #expect(try await account.messages.searchStatus().isBeingMade)
            #expect(try await account.found("alpha") == ["m1"])
            try await account.messages.ingest([recall("m1", version: 2)])
            #expect(try await account.found("alpha") == [])
            try await account.damage("UPDATE lk_search_state SET folding = 1")
            try await account.messages.catchUpSearch()
            #expect(try await account.messages.searchStatus().isCaughtUp)
        }
    }

    @Test("an hour without a number left has its messages looked through instead")
    func fullHour() async throws {
        try await withAccount { account in
            try await account.store(try messages(["alpha"]), index: .caughtUp)
            try await account.damage(
                "UPDATE lk_search_text SET doc = \(SearchKeys.lastDoc(from: 0))"
            )
            try await account.messages.ingest([message("m2", seq: 2, "beta", sentAt: 2_000)])
            try await account.messages.catchUpSearch()
            #expect(try await account.found("beta") == ["m2"])
            #expect(try await account.messages.searchStatus().waitingCount == 1)
            try await account.messages.ingest([recall("m2", version: 2)])
            #expect(try await account.found("beta") == [])
            #expect(try await account.messages.searchStatus().waitingCount == 0)
            try await account.messages.rebuildSearch()
        }
    }

    @Test("rows whose numbers are given again are indexed like new ones")
    func reusedRows() async throws {
        try await withAccount { account in
            try await account.store(try messages(["alpha", "beta"]), index: .caughtUp)
            try await account.damage("UPDATE lk_search_state SET through = 100")
            try await account.messages.ingest([message("m3", seq: 3, "gamma", sentAt: 3_000)])
            #expect(try await account.found("gamma") == ["m3"])
            try await account.messages.catchUpSearch()
            #expect(try await account.found("gamma") == ["m3"])
        }
    }

    @Test("the index's part of a search is read by its numbers, without sorting")
    func plans() async throws {
        try await withAccount { account in
            try await account.store(try messages(["alpha"]), index: .caughtUp)
            let plans = try await account.session.database.readConnection { connection in
                try SearchRun.plannedQueries.map { query, _ in
                    var lines: [String] = []
                    let select = try connection.prepare("EXPLAIN QUERY PLAN \(query)")
                    while try select.step() { lines.append(select.string(3)) }
                    return lines
                }
            }
            for (plan, (_, steps)) in zip(plans, SearchRun.plannedQueries) {
                #expect(plan.count == steps.count, "\(plan)")
                for (line, step) in zip(plan, steps) { #expect(line.hasPrefix(step), "\(plan)") }
            }
        }
    }

    // B98. A library without FTS5 is made of the one that is there: what it would lack is taken out of
    // every connection of the process as it is opened.
    @Test(
        "without FTS5 everything else works, search reads every message, and the status says so (B98)"
    )
    func withoutFullText() async throws {
        await #expect(processExitsWith: .success) {
            LibraryWithoutFullText.install()
            try await withAccount { account in
                try await account.messages.ingest(try messages(["alpha", "beta gamma", "語 xy"]))
                try await account.messages.catchUpSearch()
                let status = try await account.messages.searchStatus()
                try #require(status.shortcoming != nil && !status.isCaughtUp)
                try #require(try await account.found("gamma") == ["m2"])
                try #require(try await account.found("語") == ["m3"])
                try await account.messages.ingest([recall("m2", version: 2)])
                try #require(try await account.found("gamma") == [])
                let notes = try await account.app.status().accounts[0].notes
                try #require(notes.contains { $0.hasPrefix("search is not available") })
                // No half-made table: a capable library finds nothing in its way.
                let tables = try await account.session.database.read { transaction in
                    try transaction.query("SELECT name FROM sqlite_schema WHERE name = 'lk_search'")
                    {
                        $0.text(0)
                    }
                }
                try #require(tables.isEmpty)
            }
        }
    }

    @Test("an index that a program without FTS5 had to leave is made anew by one that has it (B98)")
    func withoutFullTextBesideOthers() async throws {
        // Nobody makes it anew before the test has looked.
        var limits = Limits()
        limits.upkeepIdleAfter = .seconds(3_600)
        try await TestWorkspace.with(limits: limits) { test in
            let app = try await test.process("app")
            try await app.addAccount("alice")
            let store = try MessageStore(try await app.activate("alice"))
            try await store.ingest(try messages(["alpha", "beta", "gamma"]))
            try await store.catchUpSearch()
            let root = test.root
            await #expect(processExitsWith: .success) { [root = root as String] in
                LibraryWithoutFullText.install()
                let helper = try await Workspace.open(
                    at: root,
                    name: "helper",
                    schemas: [.messages]
                )
                let store = try MessageStore(try await helper.session("alice"))
                try #require(try await store.search(SearchQuery("beta"), limit: 9).count == 1)
                try await store.ingest([recall("m2", version: 2), message("m4", seq: 4, "delta")])
                try #require(try await store.search(SearchQuery("beta"), limit: 9).isEmpty)
                try #require(try await store.search(SearchQuery("delta"), limit: 9).count == 1)
                await helper.close()
            }
            #expect(try await store.searchStatus().isBeingMade)
            #expect(try await store.search(SearchQuery("beta"), limit: 9).isEmpty)
            try await store.catchUpSearch()
            #expect(try await store.searchStatus().isCaughtUp)
            for text in ["alpha", "gamma", "delta"] {
                #expect(try await store.search(SearchQuery(text), limit: 9).count == 1)
            }
        }
    }
}

/// Makes a SQLite without FTS5 of the one that the process has.
enum LibraryWithoutFullText {
    private typealias EntryPoint =
        @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?, UnsafeRawPointer?) -> Int32

    static func install() {
        let dropModules: EntryPoint = { database, _, _ in
            guard let database else { return SQLITE_ERROR }
            return sqlite3_drop_modules(database, nil)
        }
        // SQLite declares every entry point without parameters, and calls it with these three.
        sqlite3_auto_extension(unsafeBitCast(dropModules, to: (@convention(c) () -> Void).self))
    }
}

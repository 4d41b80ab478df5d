import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperTesting
import Testing

@testable import Lockkeeper

@Suite("A switch as its caller sees it (I-2, I-12)")
struct SwitchTests {
    @Test("of two processes that switch at once one wins whole, and the other is told")
    func atOnce() async throws {
        try await withNotes { test, app, _ in
            for account in ["bob", "carol"] as [AccountID] { try await app.addAccount(account) }
            let other = try await test.process("other")
            var active: AccountID = "alice"
            for _ in 0..<12 {
                let targets = (["alice", "bob", "carol"] as [AccountID]).filter { $0 != active }
                let left = active
                async let first = outcome(of: app, from: left, to: targets[0])
                async let second = outcome(of: other, from: left, to: targets[1])
                let outcomes = await [first, second]
                let winners = zip(targets, outcomes).filter { $0.1 == nil }.map(\.0)
                #expect(winners.count == 1)
                #expect(outcomes.compactMap { $0 } == [.accountInactive])
                let states = try await app.accounts().filter { $0.state == .active }
                #expect(states.map(\.id) == winners)
                active = try #require(winners.first)
            }
        }
    }

    // Found by stress: in the middle of a switch no account is active. Who looked then activated his
    // own beside the other.
    @Test(
        "of processes that switch to one account or another at once each leaves exactly one active"
    )
    func toWhicheverAtOnce() async throws {
        try await withNotes { test, app, _ in
            try await app.addAccount("bob")
            let other = try await test.process("other")
            for round in 0..<12 {
                async let first = app.makeOnlyActive(round % 2 == 0 ? "bob" : "alice")
                async let second = other.makeOnlyActive(round % 3 == 0 ? "alice" : "bob")
                // A session of an account that the other one has left in between cannot be had.
                _ = try? await first
                _ = try? await second
                let active = try await app.accounts().filter { $0.state == .active }
                #expect(active.count == 1, "\(active.map(\.id))")
            }
            for account in try await app.accounts() where account.state == .active {
                try await app.signOut(account.id)
            }
            #expect(try await app.makeOnlyActive("bob").isNew)
            #expect(try await !app.makeOnlyActive("bob").isNew)
            try await app.activate("alice")
            try await app.addAccount("carol")
            await expect(.invalidInput) { try await app.makeOnlyActive("carol") }
        }
    }

    @Test("a switch to an account that cannot be opened leaves everything as it was and says why")
    func targetCannotBeOpened() async throws {
        try await withNotes { test, app, alice in
            try await app.addAccount("bob")
            try await app.activate("bob")
            try await app.signOut("bob")
            let before = try await app.accounts()
            let path = "\(test.root)/accounts/bob/messages-1.db"
            try FileSystem.rename(path, to: path + ".away")
            let error = await #expect(throws: LockkeeperError.self) {
                try await app.replaceAccount("alice", with: "bob")
            }
            #expect(
                error?.description.contains("bob/messages-1.db") == true,
                "\(error?.description ?? "")"
            )
            #expect(try await app.accounts() == before)
            try await alice.note("as before")
            #expect(alice.ended == nil)
            try FileSystem.rename(path + ".away", to: path)
            try await app.replaceAccount("alice", with: "bob")
        }
    }

    private func outcome(
        of workspace: Workspace,
        from old: AccountID,
        to new: AccountID
    ) async -> LockkeeperError.Code? {
        do {
            try await workspace.replaceAccount(old, with: new)
            return nil
        } catch {
            return (error as? LockkeeperError)?.code
        }
    }
}

import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperStorage
import LockkeeperTesting
import Testing

@testable import Lockkeeper

/// A process may die between any two steps of a switch (I-12). Here it only stops there, which
/// leaves the same files: each step is one durable act.
@Suite("A switch that was begun and not ended is finished by whoever comes next (I-2, I-12)")
struct InterruptedSwitchTests {
    /// After which step of `Workspace+Switch` the switching process stops.
    enum Stop: Int, CaseIterable {
        case intended, retired, advanced, activated, completed

        func includes(_ step: Stop) -> Bool { rawValue >= step.rawValue }
    }

    @Test("by the next process that opens the workspace, from every step", arguments: Stop.allCases)
    func finishedByOpening(stop: Stop) async throws {
        try await withInterruptedSwitch(after: stop) { test, _, held in
            try await expectFinished(try await test.process("next"), held)
        }
    }

    @Test(
        "by a process that has it open and asks for a session, from every step",
        arguments: Stop.allCases
    )
    func finishedBySession(stop: Stop) async throws {
        try await withInterruptedSwitch(after: stop) { _, helper, held in
            try await expectFinished(helper, held)
        }
    }

    @Test("by the next switch, which begins where the unfinished one was meant to end")
    func finishedBySwitch() async throws {
        try await withInterruptedSwitch(after: .intended) { _, helper, _ in
            let alice = try await helper.replaceAccount("bob", with: "alice")
            try await alice.note("back")
            #expect(try await states(helper) == ["alice active", "bob retired"])
        }
    }

    // Found from outside: every command waited for half a minute, and the switch was taken back by
    // whoever had only looked.
    @Test("one that cannot be finished for now keeps nobody from opening, is told, and stays")
    func blocked() async throws {
        try await withNotes { test, app, alice in
            let gate = Gate()
            let inside = await alice.holdWriter(until: gate)
            _ = try await app.work { try $0.registry.use { try $0.beginRetirement(of: "alice") } }
            let looker = try await test.process("looker")
            let pending = try await looker.status().pendingSwitch
            #expect(pending?.contains("signing out of alice") == true, "\(pending ?? "none")")
            gate.open()
            try await inside.value
            let next = try await test.process("next")
            #expect(try await next.status().pendingSwitch == nil)
            #expect(try await states(next) == ["alice retired"])
        }
    }

    @Test("an interrupted activation is finished, and an interrupted signing out as well")
    func single() async throws {
        try await withNotes { test, app, alice in
            _ = try await app.work { try $0.registry.use { try $0.beginActivation(of: "alice") } }
            let next = try await test.process("next")
            let again = try await next.session("alice")
            #expect(again.token.generation > alice.token.generation)
            await expect(.superseded) { try await alice.note("x") }

            _ = try await app.work { try $0.registry.use { try $0.beginRetirement(of: "alice") } }
            _ = try await test.process("third")
            await expect(.superseded) { try await again.note("x") }
            #expect(try await states(next) == ["alice retired"])
        }
    }

    // I-2: before the fence is written the old session may still commit, and afterwards never.
    @Test(
        "a session of the account that is left commits until its fence is written, and never after"
    )
    func fence() async throws {
        for stop in Stop.allCases {
            try await withInterruptedSwitch(after: stop) { _, _, held in
                if stop == .intended {
                    try await held.note("in time")
                } else {
                    await expect(.superseded) { try await held.note("late") }
                }
            }
        }
    }

    @Test("a switch to an account whose file cannot be opened is turned round by who comes next")
    func targetCannotBeOpened() async throws {
        for stop in [Stop.intended, .retired, .advanced] {
            try await withInterruptedSwitch(after: stop) { test, helper, held in
                let path = try await messagesPath(of: "bob", helper)
                try FileSystem.rename(path, to: path + ".away")
                let next = try await test.process("next")
                // Opening a workspace gives it a second, which a busy machine may use up; opening an
                // account waits for it.
                let alice = try await next.session("alice")
                #expect(try await states(next) == ["alice active", "bob retired"], "\(stop)")
                #expect(alice.token.generation > held.token.generation)
                try await alice.note("on")
                await expect(.superseded) { try await held.note("late") }
                try FileSystem.rename(path + ".away", to: path)
            }
        }
    }

    @Test("a switch of which neither account can be opened is turned round once one can be")
    func halfFenced() async throws {
        try await withInterruptedSwitch(after: .intended) { test, helper, held in
            let path = try await messagesPath(of: "alice", helper)
            try FileSystem.rename(path, to: path + ".away")
            let bobs = try await messagesPath(of: "bob", helper)
            try FileSystem.rename(bobs, to: bobs + ".away")
            // Neither account can be opened: nothing can be finished, and the workspace opens.
            let next = try await test.process("next")
            await #expect(throws: LockkeeperError.self) { _ = try await next.session("alice") }
            try FileSystem.rename(path + ".away", to: path)
            let alice = try await next.session("alice")
            #expect(try await states(next) == ["alice active", "bob retired"])
            #expect(alice.token.generation > held.token.generation)
            try await alice.note("on")
            try FileSystem.rename(bobs + ".away", to: bobs)
        }
    }

    // Found from outside: such an account jammed every activation of the workspace.
    @Test("a switch away from an account whose file is lost succeeds, and status says what is lost")
    func leavingALostFile() async throws {
        try await withInterruptedSwitch(after: .intended) { test, helper, _ in
            let path = try await messagesPath(of: "alice", helper)
            try FileSystem.rename(path, to: path + ".away")
            let next = try await test.process("next")
            #expect(try await states(next) == ["alice retired", "bob active"])
            let accounts = try await next.status().accounts
            #expect(accounts.map { $0.problem == nil } == [false, true])
            try FileSystem.rename(path + ".away", to: path)
            let alice = try await next.activate("alice")
            try await alice.note("back")
        }
    }

    private func messagesPath(of account: AccountID, _ workspace: Workspace) async throws -> String
    {
        try await workspace.work { try AccountFiles(account, of: $0).path(of: .messages) }
    }

    // MARK: - The switch, step by step

    private func withInterruptedSwitch(
        after stop: Stop,
        _ body: (_ test: TestWorkspace, _ helper: Workspace, _ held: Session) async throws -> Void
    ) async throws {
        try await withNotes { test, app, alice in
            try await app.addAccount("bob")
            try await app.activate("bob")
            try await app.signOut("bob")
            let helper = try await test.process("helper")
            let held = try await helper.session("alice")
            try await app.work { try switchAccounts($0, stoppingAfter: stop) }
            try await body(test, helper, held)
        }
    }

    /// The steps of `Workspace.carryOut`, as far as the process comes.
    private func switchAccounts(_ workspace: Workspace, stoppingAfter stop: Stop) throws {
        let deadline = workspace.deadlineOfOpening()
        let registry = workspace.registry
        var intent = try registry.use { try $0.beginSwitch(from: "alice", to: "bob") }
        guard let old = intent.retiring, let new = intent.activating else {
            Issue.record("a switch retires one account and activates another")
            return
        }
        guard stop.includes(.retired) else { return }
        try AccountFiles(old.account, of: workspace)
            .writeFences(old.generation, .retired, deadline: deadline)
        guard stop.includes(.advanced) else { return }
        intent = try registry.use { [intent] in try $0.advance(intent) }
        guard stop.includes(.activated) else { return }
        try AccountFiles(new.account, of: workspace)
            .writeFences(new.generation, .active, deadline: deadline)
        guard stop.includes(.completed) else { return }
        try registry.use { [intent] in try $0.complete(intent) }
    }

    private func expectFinished(_ workspace: Workspace, _ held: Session) async throws {
        let bob = try await workspace.session("bob")
        #expect(try await states(workspace) == ["alice retired", "bob active"])
        await expect(.accountInactive) { _ = try await workspace.session("alice") }
        await expect(.superseded) { try await held.note("late") }
        try await bob.database.write { try $0.execute("CREATE TABLE note (text TEXT)") }
        try await bob.note("bob's")
        let intent = try await workspace.work { try $0.registry.use { try $0.intent() } }
        #expect(intent == nil)
    }

    private func states(_ workspace: Workspace) async throws -> [String] {
        try await workspace.accounts().map { "\($0.id) \($0.state.rawValue)" }
    }
}

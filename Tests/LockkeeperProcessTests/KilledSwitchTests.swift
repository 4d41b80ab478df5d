import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperSimulation
import Testing

/// A process that switches is killed by SIGKILL before each single change that it makes to a file:
/// each write, truncation, sync and deletion of registry and accounts. Whoever comes next finishes
/// what was begun (I-2, I-12).
@Suite("A switch whose process is killed at any change of a file is finished by the next process")
struct KilledSwitchTests {
    private static let accounts: [AccountID] = ["alice", "bob"]

    /// Who comes next.
    private enum Finisher: CaseIterable {
        /// A tool that opens the workspace.
        case tool
        /// A helper that was open all the time and asks for a session of the account it knows.
        case oldHelper
        /// A helper that starts for the account that was left.
        case newHelper
        /// Another switch.
        case nextSwitch
    }

    @Test("one account is active, registry and fences agree, and the old token writes nothing more")
    func everyChange() async throws {
        let test = try await TestWorkspace()
        let added = try await test.run(["account", "add", "bob", "--activate"])
        try #require(added.status == .exited(0), "\(added.errorText)")
        try #require(try await test.run(["account", "sign-out", "bob"]).status == .exited(0))
        let helper = try await open(test, "old helper")
        try await helper.session("alice").database.write {
            try $0.execute("CREATE TABLE note (text TEXT)")
        }
        let lossTurn = Int.random(in: 0...1)
        print("the registry is lost at the changes from \(4 * lossTurn) on")
        var change = 0
        var activeBefore: AccountID = "alice"
        var ends: Set<String> = []
        while change < 1000 {
            let held = try await helper.session(activeBefore)
            guard try await killSwitch(in: test, at: change) else { break }
            let finisher = Finisher.allCases[change % Finisher.allCases.count]
            // Each other four times the registry is lost as well, and the fences have to tell.
            if change / Finisher.allCases.count % 2 == lossTurn {
                try FileSystem.remove("\(test.root)/workspace.db")
            }
            try await finish(finisher, test, helper, activeBefore)
            let active = try await expectAtRest(test, "change \(change), \(finisher)")
            ends.insert(active == activeBefore ? "kept" : "switched")
            try await expectHeld(held, isCurrent: active == activeBefore, "change \(change)")
            activeBefore = active
            change += 1
        }
        print("a switch makes \(change) changes to files")
        // As many as there are steps, at least: intent, two fences, registry, two fences, registry.
        #expect(change > 20)
        #expect(change < 1000)
        #expect(ends == ["kept", "switched"])
        await helper.close()
        for account in Self.accounts { try await test.expectSound(account: "\(account)") }
    }

    // MARK: - Parts

    /// Starts a switch in a process of its own and kills it before a change.
    ///
    /// - Returns: `false` where the switch makes fewer changes and has ended.
    private func killSwitch(in test: TestWorkspace, at change: Int) async throws -> Bool {
        let worker = try test.start([
            "simulate-worker", "--number", "0", "--life", "1", "--can-stand",
        ])
        worker.send(SwitchOrder.stand(change: change).line)
        worker.send(SwitchOrder.makeSwitch(offset: 1).line)
        while let line = await worker.nextLine() {
            let said = try #require(SwitchLine(Array(line.utf8)), "\(line)")
            switch said.statement {
            case .switches: continue
            case .stands:
                try worker.process.signal(.kill)
                _ = await worker.end()
                return true
            case .switched:
                worker.closeInput()
                #expect(await worker.end().status == .exited(0))
                return false
            default: Issue.record("unexpected: \(line)")
            }
        }
        Issue.record("the worker ended: \(await worker.end().errorText)")
        return false
    }

    private func finish(
        _ finisher: Finisher,
        _ test: TestWorkspace,
        _ helper: Workspace,
        _ left: AccountID
    ) async throws {
        switch finisher {
        case .tool:
            let listed = try await test.run(["account", "list"])
            #expect(listed.status == .exited(0), "\(listed.errorText)")
        case .oldHelper:
            // It may be refused: then the account is not active any more, which is an end as well.
            _ = try? await helper.session(left)
        case .newHelper:
            let ingested = try await test.run(["ingest", "-", "--account", "\(left)"])
            #expect([.exited(0), .exited(69)].contains(ingested.status), "\(ingested.errorText)")
        case .nextSwitch:
            let other = Self.accounts.first { $0 != left } ?? left
            let switched = try await test.run(["switch", "\(other)"])
            #expect(switched.status == .exited(0), "\(switched.errorText)")
        }
    }

    /// Expects that one account is active and that each registry row says what the fences say.
    ///
    /// - Returns: the active account.
    private func expectAtRest(_ test: TestWorkspace, _ comment: Comment) async throws -> AccountID {
        let judge = try await open(test, "judge")
        let atRest = try await WorkspaceAtRest(judge)
        await judge.close()
        #expect(atRest.problems == [], comment)
        #expect(atRest.active.count == 1, comment)
        return try #require(atRest.active.first, comment)
    }

    private func expectHeld(
        _ held: Session,
        isCurrent: Bool,
        _ comment: Comment
    ) async throws {
        do {
            try await held.database.write(durability: .committed) {
                try $0.execute("CREATE TABLE IF NOT EXISTS note (text TEXT)")
                try $0.execute("INSERT INTO note VALUES ('x')")
            }
            #expect(isCurrent, comment)
        } catch let error as LockkeeperError {
            #expect(error.code == .superseded, comment)
        }
    }

    private func open(_ test: TestWorkspace, _ name: String) async throws -> Workspace {
        try await Workspace.openApart(at: test.root, name: name, schemas: [.messages])
    }
}

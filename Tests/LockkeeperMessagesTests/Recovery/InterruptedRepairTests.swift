import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperStorage
import LockkeeperTesting
import Synchronization
import Testing

@testable import Lockkeeper

@Suite("A repair whose process died: what is said of it, and by whoever ends it (5.8, I-11)")
struct InterruptedRepairTests {
    private final class Heard: Sendable {
        let reports = Mutex<[RepairReport]>([])
    }

    /// Damages a page, and leaves what a process leaves that died in a repair.
    private func interrupted(
        in phase: RecoveryPhase,
        _ body: (_ test: TestWorkspace, _ next: Workspace) async throws -> Void
    ) async throws {
        let account = try await AccountAtRest.shared.value
        try await account.damaged { path in
            let leaves = try pages(of: "lk_message", path)
            try overwrite(path, page: leaves[leaves.count / 2])
        } _: { test, _ in
            let app = try await test.process("app")
            let intent = RecoveryIntent(
                account: "alice",
                folder: "recovery-1",
                damaged: [.messages: 1],
                phase: phase,
                beganAt: 1
            )
            if phase == .published { _ = try await app.repair("alice") }
            if phase == .salvaging {
                let damaged = AccountAtRest.folder(in: test.root) + "/damaged"
                for folder in [damaged, damaged + "/recovery-1"] {
                    try FileSystem.makeDirectory(folder, mode: 0o700)
                }
                try StoreFiles(AccountAtRest.database(in: test.root)).move(
                    to: damaged + "/recovery-1"
                )
            }
            try app.registry.use { try $0.note(intent) }
            await app.close()
            try await body(test, try await test.process("next"))
        }
    }

    @Test(
        "check names the state and no missing file, and who opens the account tells the losses",
        arguments: [RecoveryPhase.confirmed, .salvaging]
    )
    func told(phase: RecoveryPhase) async throws {
        try await interrupted(in: phase) { test, next in
            let findings = try await next.inspect("alice")
            let unfinished = try #require(findings.first { $0.code == "repair-unfinished" })
            #expect(unfinished.explanation.contains(phase.rawValue))
            #expect(!findings.contains { $0.code == "file-missing" })
            if phase == .salvaging { #expect(findings.count == 1) }
            let status = try #require(try await next.status().accounts.first)
            #expect(status.recovery?.contains(phase.rawValue) == true)
            if phase == .salvaging { #expect(status.problem == nil) }
            let heard = Heard()
            next.onFinishedRepair { report in heard.reports.withLock { $0.append(report) } }
            // All that the command check looks at goes on with nothing.
            #expect(try await next.warnings(of: "alice").isEmpty)
            #expect(heard.reports.withLock { $0.isEmpty })
            #expect(try await next.inspect("alice").contains { $0.code == "repair-unfinished" })
            _ = try await next.session("alice")
            let reports = heard.reports.withLock { $0 }
            let report = try #require(reports.first)
            #expect(reports.count == 1 && report.outcome == .repaired && !report.isWhole)
            #expect(report.lines.contains { $0.contains("lk_message") && $0.contains(" lost") })
            #expect(try await next.inspect("alice").isEmpty)
            #expect(try await next.repair("alice").outcome == .nothingFound)
        }
    }

    @Test("one that had published its files is told from its report by whoever notes its end")
    func published() async throws {
        try await interrupted(in: .published) { _, next in
            let report = try await next.repair("alice")
            #expect(report.outcome == .repairedByAnother && !report.isWhole)
            #expect(report.lines.contains { $0.contains("lk_message") && $0.contains(" lost") })
            #expect(try await next.repair("alice").outcome == .nothingFound)
        }
    }

    @Test("a restore that takes the place of a repair says so")
    func restored() async throws {
        let account = try await AccountAtRest.shared.value
        try await account.damaged { _ in
        } _: { test, _ in
            let app = try await test.process("app")
            let backup = test.root + "/backup.db"
            _ = try await app.backUp("alice", to: backup)
            let intent = RecoveryIntent(
                account: "alice",
                folder: "recovery-1",
                damaged: [.messages: 1],
                beganAt: 1
            )
            try app.registry.use { try $0.note(intent) }
            let report = try await app.restore("alice", from: backup)
            #expect(report.notes.contains { $0.contains("was not at its end") }, "\(report.notes)")
            #expect(try await app.inspect("alice").isEmpty)
        }
    }

    @Test("a registry that is lost during a repair is made anew with it, and it is gone on with")
    func lostRegistry() async throws {
        try await interrupted(in: .salvaging) { test, next in
            await next.close()
            for suffix in ["", "-journal"] {
                try FileSystem.remove(test.root + "/workspace.db" + suffix)
            }
            let after = try await test.process("after")
            #expect(after.hasRebuiltRegistry)
            #expect(try await after.inspect("alice").map(\.code).contains("repair-unfinished"))
            let store = try MessageStore(try await after.session("alice"))
            #expect(try await store.exported().count > 9_000)
            #expect(try await after.inspect("alice").isEmpty)
        }
    }
}

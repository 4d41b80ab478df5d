import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperTesting
import Testing

@testable import Lockkeeper

@Suite("Accounts: signing in and out, and what an id may be (I-2, I-13)")
struct AccountTests {
    @Test(
        "after signing out every session is refused and says so, and the account can still be read"
    )
    func signOut() async throws {
        try await withNotes { test, app, alice in
            let helper = try await test.process("helper")
            let held = try await helper.session("alice")
            try await held.note("kept")
            try await app.signOut("alice")
            for session in [alice, held] {
                let error = await expect(.superseded) { try await session.note("x") }
                #expect(error?.answer == .newSession)
                #expect(error?.remedy.contains("signed out") == true)
                await expect(.superseded) { _ = try await session.notes() }
                #expect(session.ended != nil)
            }
            await expect(.accountInactive) { _ = try await helper.session("alice") }
            let inspection = try await helper.inspectionSession("alice")
            #expect(try await inspection.notes() == ["kept"])
            await expect(.accountInactive) { try await inspection.note("x") }
            await expect(.accountInactive) { try await app.signOut("alice") }
        }
    }

    @Test("activating an active account is a new generation that supersedes the old one")
    func activateAgain() async throws {
        try await withNotes { _, app, alice in
            let again = try await app.activate("alice")
            #expect(again.token.generation > alice.token.generation)
            #expect(again.database.store == alice.database.store)
            await expect(.superseded) { try await alice.note("x") }
            try await again.note("y")
            #expect(try await app.account("alice").generation == again.token.generation)
        }
    }

    @Test("an account that is unknown, known twice or never activated is told apart")
    func unknown() async throws {
        try await withNotes { _, app, _ in
            await expect(.unknownAccount) { _ = try await app.session("nobody") }
            await expect(.unknownAccount) { _ = try await app.activate("nobody") }
            await expect(.accountExists) { try await app.addAccount("alice") }
            try await app.addAccount("bob")
            await expect(.accountInactive) { _ = try await app.session("bob") }
            await expect(.accountInactive) { _ = try await app.inspectionSession("bob") }
            await expect(.unknownAccount) { _ = try await app.replaceAccount("alice", with: "zoe") }
            // A switch that cannot begin leaves the first account active.
            #expect(try await app.account("alice").state == .active)
        }
    }

    @Test("an account is not added over databases that nobody knows; other files are put aside")
    func unknownFiles() async throws {
        try await withNotes { test, app, _ in
            let folder = "\(test.root)/accounts/bob"
            for name in ["", "/documents", "/damaged"] {
                try FileSystem.makeDirectory(folder + name)
            }
            for name in ["documents/x", "damaged/left-1-y", "y", "messages-3.db"] {
                try FileSystem.replaceFile(at: "\(folder)/\(name)", with: Array(name.utf8))
            }
            let error = await expect(.damaged) { try await app.addAccount("bob") }
            #expect(error?.answer == .recover)
            #expect(try FileSystem.list(folder).count == 4)
            try FileSystem.remove("\(folder)/messages-3.db")
            try await app.addAccount("bob")
            #expect(try FileSystem.list(folder).sorted() == ["account.json", "damaged"])
            let aside = try FileSystem.list("\(folder)/damaged").sorted()
            #expect(aside == ["left-1-documents", "left-1-y", "left-2-y"])
            let kept = try FileSystem.contents(of: "\(folder)/damaged/left-2-y")
            #expect(String(decoding: kept, as: UTF8.self) == "y")
        }
    }

    // Ids are bytes; a folder's name must neither leave the workspace nor meet another's where a
    // file system folds case or forms.
    @Test("ids with slashes, NUL, dots, 512 bytes, other cases and forms each have their own store")
    func ids() async throws {
        try await TestWorkspace.with(schemas: []) { test in
            let app = try await test.process("app")
            let names = [
                "a/b", "../../escape", ".", "..", ".hidden", "a\0b", "a", "A", "é", "e\u{301}",
                "alice@example.org", "a b", "~a", "-", String(repeating: "x", count: 64),
                String(repeating: "x", count: 65), String(repeating: "y", count: 512),
            ]
            for name in names {
                let session = try await app.addAndActivate(try AccountID(name))
                try await session.note(name)
            }
            let directories = try names.map { WorkspacePaths.directoryName(for: try AccountID($0)) }
            #expect(Set(directories.map { $0.lowercased() }).count == names.count)
            #expect(directories.allSatisfy { !$0.contains("/") && !$0.hasPrefix(".") })
            let helper = try await test.process("helper")
            for name in names {
                let notes = try await helper.session(try AccountID(name)).notes()
                #expect(notes.map { Array($0.utf8) } == [Array(name.utf8)])
            }
            let listed = try await app.accounts().map(\.id)
            #expect(listed == (try names.map { try AccountID($0) }.sorted()))
        }
    }
}

extension Workspace {
    /// A new account with the table of notes.
    fileprivate func addAndActivate(_ id: AccountID) async throws -> Session {
        try await addAccount(id)
        let session = try await activate(id)
        try await session.database.write { try $0.execute("CREATE TABLE note (text TEXT)") }
        return session
    }
}

@Suite("A workspace's folder and its one instance per process")
struct WorkspaceTests {
    @Test("the registry and the lock files can be read by their owner only")
    func modes() async throws {
        try await TestWorkspace.with { test in
            let app = try await test.process("app")
            try await app.addAccount("alice")
            try await app.activate("alice")
            let paths = [
                "workspace.db", "workspace.locks", "accounts", "accounts/alice",
                "accounts/alice/account.locks", "accounts/alice/account.json",
                "accounts/alice/messages-1.db",
                "accounts/alice/messages-1.db-wal", "accounts/alice/settings-1.db",
            ]
            for path in paths {
                let mode = try FileSystem.status("\(test.root)/\(path)")?.mode
                #expect(mode.map { $0 & 0o077 } == 0, "\(path)")
            }
        }
    }

    // Found from outside: an empty store beside the old file hid everything.
    @Test("an account that no charter and no registry knows any more is added with its own files")
    func lostRegistry() async throws {
        let test = try TestWorkspace()
        let app = try await test.process("app")
        try await app.addAccount("alice")
        let generation = try await app.activate("alice").token.generation
        await app.close()
        try FileSystem.remove("\(test.root)/workspace.db")
        try FileSystem.remove("\(test.root)/accounts/alice/account.json")
        let next = try await test.process("next")
        let added = try await next.addAccount("alice", ownID: [1])
        #expect(added.state == .active && added.generation == generation && added.ownID == [1])
        #expect(try FileSystem.status("\(test.root)/accounts/alice/messages-2.db") == nil)
        try await next.addAccount("bob")
        await next.close()
        try FileSystem.removeTree(test.root)
    }

    @Test("a second open of one folder shares the instance, and is refused with other settings")
    func oneInstance() async throws {
        try await TestWorkspace.with { test in
            let first = try await Workspace.open(at: test.root, name: "app", schemas: [.messages])
            let again = try await Workspace.open(
                at: test.root + "/.",
                name: "app",
                schemas: [.messages]
            )
            #expect(first === again)
            await expect(.invalidInput) {
                _ = try await Workspace.open(at: test.root, name: "other", schemas: [.messages])
            }
            await expect(.invalidInput) { _ = try await Workspace.open(at: test.root, name: "app") }
            await first.close()
        }
    }
}

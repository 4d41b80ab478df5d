import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperStorage
import LockkeeperTesting
import Testing

@testable import Lockkeeper

@Suite("Removing an account: everything of it goes, and nothing of others")
struct RemovalTests {
    private static let secret = "the text that must go"

    /// Alice with a note that must go, and bob with one that must stay.
    private func withTwo(
        _ body: (_ test: TestWorkspace, _ app: Workspace, _ alice: Session) async throws -> Void
    ) async throws {
        try await withNotes { test, app, alice in
            try await app.addAccount("bob")
            let bob = try await app.activate("bob")
            try await bob.database.write { try $0.execute("CREATE TABLE note (text TEXT)") }
            try await bob.note("bob's")
            try await alice.note(Self.secret, durability: .durable)
            try await body(test, app, alice)
            let after = try await test.process("after")
            #expect(try await after.session("bob").notes() == ["bob's"])
        }
    }

    private func folder(_ test: TestWorkspace) -> String { "\(test.root)/accounts/alice" }

    private func expectErased(_ test: TestWorkspace, _ comment: Comment? = nil) throws {
        #expect(try FileSystem.list(folder(test)) == ["account.locks"], comment)
        let secret = Array(Self.secret.utf8)
        for path in try files(below: test.root) {
            let bytes = try FileSystem.contents(of: path)
            #expect(bytes.firstRange(of: secret) == nil, "\(path)")
        }
    }

    private func files(below folder: String) throws -> [String] {
        try FileSystem.list(folder).flatMap { name in
            let path = "\(folder)/\(name)"
            switch try FileSystem.status(path, followingLinks: false)?.kind {
            case .directory: return try files(below: path)
            case .regular: return [path]
            default: return []
            }
        }
    }

    @Test(
        "databases, logs, what was moved aside, whatever lies in the folder; the id is free again"
    )
    func everything() async throws {
        try await withTwo { test, app, alice in
            let secret = Array(Self.secret.utf8)
            for name in ["damaged", "inbox", "documents", "documents/deep", "backups"] {
                try FileSystem.makeDirectory("\(folder(test))/\(name)")
                try FileSystem.replaceFile(at: "\(folder(test))/\(name)/x", with: secret)
            }
            for name in ["messages-9.db", "messages-9.db-wal", "x.tmp"] {
                try FileSystem.replaceFile(at: "\(folder(test))/\(name)", with: secret)
            }
            let store = alice.database.store
            try await app.removeAccount("alice")
            try expectErased(test)
            #expect(try await app.accounts().map(\.id) == ["bob"])
            await expect(.unknownAccount) { _ = try await app.session("alice") }
            await expect(.unknownAccount) { try await app.removeAccount("alice") }

            try await app.addAccount("alice")
            let again = try await app.activate("alice")
            #expect(again.database.store != store)
            #expect(again.token.generation > alice.token.generation)
            await #expect(throws: LockkeeperError.self) { _ = try await again.notes() }
        }
    }

    @Test("every process that had it open gets accountRemoved from every call, and makes nothing")
    func openElsewhere() async throws {
        try await withTwo { test, app, alice in
            let helper = try await test.process("helper")
            let held = try await helper.session("alice")
            let feed = held.changes().makeAsyncIterator()
            let sleeping = try await test.process("sleeping")
            let asleep = try await sleeping.session("alice")
            try await sleeping.suspend()
            let remover = try await test.process("remover")
            try await remover.removeAccount("alice")
            try await sleeping.resume()
            for session in [alice, held, asleep] {
                for _ in 0..<2 {
                    await expect(.accountRemoved) { try await session.note("x") }
                    await expect(.accountRemoved) { _ = try await session.notes() }
                    await expect(.accountRemoved) { _ = try await session.database.head() }
                }
                #expect(session.ended != nil)
                let late = session.changes().makeAsyncIterator()
                await expect(.accountRemoved) { _ = try await late.next() }
            }
            await expect(.accountRemoved) { while try await feed.next() != nil {} }
            await expect(.unknownAccount) { _ = try await helper.session("alice") }
            try expectErased(test)
            for session in [alice, held, asleep] { await session.close() }
            try await sleeping.suspend()
            try await sleeping.resume()
            try expectErased(test)
        }
    }

    @Test("what was queued behind the removal is given back with the reason")
    func queued() async throws {
        try await withTwo { test, app, alice in
            let gate = Gate()
            let held = await alice.holdWriter(until: gate)
            let remover = try await test.process("remover")
            let removal = Task { try await remover.removeAccount("alice", waitMax: .seconds(60)) }
            let queued = (0..<3).map { number in
                Task { try await alice.note("\(number)", waitMax: .seconds(120)) }
            }
            while try !alice.attachment.membership.members().contains(where: {
                $0.activity == .excluding
            }) {
                await Task.yield()
            }
            gate.open()
            try await held.value
            try await removal.value
            for task in queued {
                // It may have had its turn before the process left.
                do { _ = try await task.value } catch let error as LockkeeperError {
                    #expect(error.code == .accountRemoved)
                }
            }
            await expect(.accountRemoved) { try await alice.note("x") }
            try expectErased(test)
        }
    }

    @Test("an account is added again under the id while another process still has the old one open")
    func addedAgain() async throws {
        try await withTwo { test, app, alice in
            let helper = try await test.process("helper")
            let held = try await helper.session("alice")
            let host = try await test.process("host", role: .host)
            let serving = try await host.serve()
            try await app.removeAccount("alice")
            await expect(.accountRemoved) { try await held.note("x") }
            try await app.addAccount("alice")
            let again = try await app.activate("alice")
            try await again.database.write { try $0.execute("CREATE TABLE note (text TEXT)") }
            let there = try await helper.session("alice")
            let feed = there.changes(after: try await there.database.head()).makeAsyncIterator()
            try await again.note("new")
            #expect(try await feed.next() != nil)
            #expect(try await there.notes() == ["new"])
            for session in [alice, held] {
                await expect(.accountRemoved) { try await session.note("x") }
            }
            await serving.close()
        }
    }

    // It was away while the account was removed and another one got the id: what it finds in the
    // registry is not its own.
    @Test(
        "a process that comes back to another account of the same id is told that its own is gone"
    )
    func comesBackToAnother() async throws {
        for isActive in [false, true] {
            try await withTwo { test, app, alice in
                let away = try await test.process("away")
                let held = try await away.session("alice")
                let feed = held.changes().makeAsyncIterator()
                try await away.suspend()
                try await app.removeAccount("alice")
                try await app.addAccount("alice")
                let again = isActive ? try await app.activate("alice") : nil
                try await again?.database.write { try $0.execute("CREATE TABLE note (text TEXT)") }
                try await again?.note("new")
                try await away.resume()
                await expect(.accountRemoved) { try await held.note("x") }
                await expect(.accountRemoved) { _ = try await held.notes() }
                await expect(.accountRemoved) { while try await feed.next() != nil {} }
                #expect((held.ended?.reason as? LockkeeperError)?.code == .accountRemoved)
                if isActive {
                    #expect(try await away.session("alice").notes() == ["new"])
                } else {
                    await expect(.accountInactive) { _ = try await away.session("alice") }
                }
            }
        }
    }

    @Test("who reads on is named, nothing was removed, and everybody goes on")
    func whoStays() async throws {
        try await withTwo { test, app, alice in
            let gate = Gate()
            let reading = Task {
                try await alice.database.read { transaction in
                    gate.arrive()
                    gate.waitUntilOpen()
                    return try transaction.query("SELECT count(*) FROM note") { $0.integer(0) }
                }
            }
            await gate.arrived()
            let remover = try await test.process("remover")
            let error = await expect(.busy) {
                try await remover.removeAccount("alice", waitMax: .milliseconds(400))
            }
            #expect(
                error?.holders.contains { $0.contains("app, helper") } == true,
                "\(error as Any)"
            )
            gate.open()
            #expect(try await reading.value == [1])
            #expect(try await alice.notes() == [Self.secret])
            try await alice.note("more")
            try await remover.removeAccount("alice")
            try expectErased(test)
        }
    }

    @Test("damaged and missing files are no hindrance, and a program that has one open is")
    func damaged() async throws {
        for isMissing in [true, false] {
            try await withTwo { test, app, alice in
                let path = "\(folder(test))/messages-1.db"
                await app.close()
                let bytes = Array(repeating: UInt8(0x5a), count: 8192)
                try FileDescriptor(opening: path, [.writeOnly, .truncate]).write(bytes)
                // A log with all pages in it would be as good as the file.
                try FileSystem.replaceFile(at: path + "-wal", with: [])
                let next = try await test.process("next")
                let reader = try ForeignProgram(
                    "database = open(path)\nstand()\n",
                    database: path
                )
                let error = await expect(.busy) { try await next.removeAccount("alice") }
                #expect(error?.holders.contains { $0.contains("\(reader.pid)") } == true)
                try reader.end()
                if isMissing { try FileSystem.remove(path) }
                try await next.removeAccount("alice")
                #expect(try FileSystem.list(folder(test)) == ["account.locks"])
            }
        }
    }

    /// Which files are gone, and what the registry says, when the removing process dies.
    enum Stop: CaseIterable {
        case marked, begun, erasedOne, erasedHalf, erased, withoutCharter

        var isRemoved: Bool { self != .marked }
    }

    // I-12. Dying leaves the files as they are between two of the removal's steps.
    @Test("a removal that was begun and not ended is completed by whoever comes next, once")
    func interrupted() async throws {
        for stop in Stop.allCases {
            try await withTwo { test, app, alice in
                await app.close()
                let victim = try await test.process("victim")
                try await victim.work { try $0.interruptRemoval(of: "alice", at: stop) }
                await victim.close()
                let next = try await test.process("next")
                if stop.isRemoved {
                    #expect(try await next.accounts().map(\.id) == ["bob"], "\(stop)")
                    try expectErased(test, "\(stop)")
                    try await next.addAccount("alice")
                    _ = try await next.activate("alice")
                } else {
                    // Only the mark was made: the account is what it was.
                    #expect(try await next.session("alice").notes() == [Self.secret])
                    let charter = try FileSystem.contents(of: "\(folder(test))/account.json")
                    #expect(AccountCharter(charter, in: "alice")?.isRemoving == false)
                }
                let removals = try await next.work { try $0.registry.use { try $0.removals() } }
                #expect(removals == [])
            }
        }
    }

    @Test("also by one whose registry was lost meanwhile")
    func interruptedAndLost() async throws {
        for stop in Stop.allCases {
            try await withTwo { test, app, alice in
                await app.close()
                let victim = try await test.process("victim")
                try await victim.work { try $0.interruptRemoval(of: "alice", at: stop) }
                await victim.close()
                try FileSystem.remove("\(test.root)/workspace.db")
                let next = try await test.process("next")
                #expect(try await next.accounts().map(\.id) == ["bob"], "\(stop)")
                try expectErased(test, "\(stop)")
            }
        }
    }

    @Test(
        "a process that had the account open comes back to an interrupted removal and opens nothing"
    )
    func comesBackToInterrupted() async throws {
        try await withTwo { test, app, alice in
            try await app.suspend()
            let victim = try await test.process("victim")
            try await victim.work { try $0.interruptRemoval(of: "alice", at: .begun) }
            try await app.resume()
            await expect(.accountRemoved) { try await alice.note("x") }
            await expect(.accountRemoved) { _ = try await alice.notes() }
            _ = try await test.process("next")
            try expectErased(test)
        }
    }

    @Test(
        "a removal finishes a switch first, and an activation that cannot be finished goes with it"
    )
    func withIntent() async throws {
        try await withTwo { test, app, alice in
            try await app.signOut("alice")
            await app.close()
            let path = "\(folder(test))/messages-1.db"
            try FileSystem.remove(path)
            let victim = try await test.process("victim")
            _ = try await victim.work {
                try $0.registry.use { try $0.beginActivation(of: "alice") }
            }
            try await victim.removeAccount("alice")
            let intent = try await victim.work { try $0.registry.use { try $0.intent() } }
            #expect(intent == nil)
        }
        try await withTwo { test, app, alice in
            try await app.signOut("bob")
            _ = try await app.work { workspace in
                try workspace.registry.use { try $0.beginSwitch(from: "alice", to: "bob") }
            }
            try await app.removeAccount("alice")
            #expect(try await app.accounts().map { "\($0.id) \($0.state)" } == ["bob active"])
        }
    }
}

extension Workspace {
    /// The steps of `Workspace+Removal`, as far as the process comes.
    fileprivate func interruptRemoval(of id: AccountID, at stop: RemovalTests.Stop) throws {
        let record = try registry.record(of: id)
        let paths = paths.account(directory: record.directory)
        try FileSystem.replaceFile(
            at: paths.charter,
            with: AccountCharter(record, isRemoving: true).bytes
        )
        if stop == .marked { return }
        _ = try registry.use { try $0.beginRemoval(of: id) }
        let kept = ["account.json", "account.locks"]
        let names = try FileSystem.list(paths.directory).filter { !kept.contains($0) }.sorted()
        let count: Int
        switch stop {
        case .marked, .begun: count = 0
        case .erasedOne: count = 1
        case .erasedHalf: count = names.count / 2
        case .erased, .withoutCharter: count = names.count
        }
        for name in names.prefix(count) { try FileSystem.remove("\(paths.directory)/\(name)") }
        if stop == .withoutCharter { try FileSystem.remove(paths.charter) }
    }
}

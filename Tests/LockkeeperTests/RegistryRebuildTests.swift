import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import LockkeeperTesting
import Testing

@testable import Lockkeeper

@Suite("A registry that is lost is made anew of the accounts' own files")
struct RegistryRebuildTests {
    private static let contract: ServerContract = {
        var contract = ServerContract()
        contract.delivery.retention = .drops
        contract.order = .ties
        return contract
    }()

    /// How a registry is lost.
    private enum Loss: CaseIterable {
        case removed, emptied, garbage, damaged, cutShort, foreign

        func happen(to path: String) throws {
            let sound = try FileSystem.contents(of: path)
            switch self {
            case .removed: try FileSystem.remove(path)
            case .emptied: try overwrite(path, [])
            case .garbage: try overwrite(path, Array(repeating: 0x5a, count: 8192))
            case .damaged:
                var bytes = sound
                for start in stride(from: 4096, to: bytes.count, by: 4096) {
                    bytes.replaceSubrange(start..<start + 64, with: repeatElement(0xa5, count: 64))
                }
                try overwrite(path, bytes)
            case .cutShort: try overwrite(path, Array(sound.prefix(sound.count / 2)))
            case .foreign:
                // A database, and none of ours.
                try FileSystem.remove(path)
                let made = try ChildProcess(
                    program: "python3",
                    arguments: [
                        "-c",
                        "import sqlite3,sys; sqlite3.connect(sys.argv[1]).execute('CREATE TABLE x(y)')",
                        path,
                    ]
                )
                try #require(try made.wait() == .exited(0))
            }
        }

        /// As a broken disk or a confused program does it: the file stays the same one.
        private func overwrite(_ path: String, _ bytes: [UInt8]) throws {
            let file = try FileDescriptor(opening: path, [.writeOnly, .truncate])
            try file.write(bytes)
        }
    }

    /// Three accounts: alice active with notes, bob signed out of, carol never activated.
    private func withAccounts(
        _ body: (_ test: TestWorkspace, _ app: Workspace, _ alice: Session) async throws -> Void
    ) async throws {
        try await withNotes { test, app, alice in
            try await app.addAccount("bob", ownID: [1, 0xff], contract: Self.contract)
            let bob = try await app.activate("bob")
            try await bob.database.write { try $0.execute("CREATE TABLE note (text TEXT)") }
            try await bob.note("bob's")
            try await app.signOut("bob")
            try await app.addAccount("carol", ownID: Array("c".utf8))
            try await alice.note("kept")
            try await body(test, app, alice)
        }
    }

    private func registryPath(_ test: TestWorkspace) -> String { "\(test.root)/workspace.db" }

    private func setAside(_ test: TestWorkspace) throws -> [String] {
        let folder = "\(test.root)/damaged"
        return try FileSystem.status(folder) == nil ? [] : FileSystem.list(folder).sorted()
    }

    @Test("with every account, its state, generation, own id and contract, however it was lost")
    func everything() async throws {
        for loss in Loss.allCases {
            try await withAccounts { test, app, alice in
                let before = try await app.accounts()
                await app.close()
                try loss.happen(to: registryPath(test))
                let lost = try? FileSystem.contents(of: registryPath(test))
                let next = try await test.process("next")
                #expect(try await next.accounts() == before, "\(loss)")
                #expect(before.map(\.state) == [.active, .retired, .retired])
                #expect(try await next.session("alice").notes() == ["kept"])
                #expect(try await next.activate("bob").notes() == ["bob's"])
                // What could not be used is kept as it was.
                let kept = try setAside(test).filter { !$0.hasSuffix("-journal") }
                if let lost {
                    try #require(kept == ["workspace-1.db"], "\(loss)")
                    let path = "\(test.root)/damaged/workspace-1.db"
                    #expect(try FileSystem.contents(of: path) == lost, "\(loss)")
                } else {
                    #expect(kept == [])
                }
            }
        }
    }

    @Test(
        "and no generation that it had given is given again, not that of a removed account either"
    )
    func counter() async throws {
        try await withAccounts { test, app, alice in
            let zoe = try await app.addAccountAndActivate("zoe")
            let given = zoe.token.generation
            try await app.removeAccount("zoe")
            await app.close()
            try FileSystem.remove(registryPath(test))
            let next = try await test.process("next")
            #expect(try await next.activate("bob").token.generation > given)
            #expect(try await next.session("alice").token == alice.token)
        }
    }

    @Test("while processes have it open, which go on with the new one and lose nothing")
    func attached() async throws {
        for loss in [Loss.removed, .damaged] {
            try await withAccounts { test, app, alice in
                let helper = try await test.process("helper")
                let held = try await helper.session("alice")
                let host = try await test.process("host", role: .host)
                let serving = try await host.serve()
                try loss.happen(to: registryPath(test))
                // Sessions do not need it, and whoever does makes it anew.
                try await held.note("one")
                _ = try? await helper.accounts()
                #expect(try await helper.accounts().map(\.id) == ["alice", "bob", "carol"])
                let bob = try await app.activate("bob")
                #expect(try await helper.session("bob").token == bob.token)
                #expect(try await host.account("bob").state == .active)
                #expect(try await app.session("alice") === alice)
                #expect(try await alice.notes() == ["kept", "one"])
                await serving.close()
            }
        }
    }

    @Test("by one of many that open at once")
    func manyAtOnce() async throws {
        try await withAccounts { test, app, alice in
            await app.close()
            try Loss.garbage.happen(to: registryPath(test))
            let counts = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        try await test.process("opener \(number)").accounts().count
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(counts == Array(repeating: 3, count: 8))
            let kept = try setAside(test).filter { !$0.hasSuffix("-journal") }
            #expect(kept == ["workspace-1.db"])
        }
    }

    // A hot journal of the old file would be played into the new one.
    @Test("and a journal that the lost one left behind is not played into it")
    func journal() async throws {
        try await withAccounts { test, app, alice in
            await app.close()
            let path = registryPath(test)
            try FileSystem.remove(path)
            try FileSystem.replaceFile(at: path + "-journal", with: Array("a journal".utf8))
            let next = try await test.process("next")
            #expect(try await next.accounts().count == 3)
            #expect(try setAside(test) == ["workspace-1.db-journal"])
        }
    }

    @Test("with the file that was published, not with a copy whose maker died before it was")
    func leftover() async throws {
        try await withAccounts { test, app, alice in
            let folder = try await app.work { try $0.attach("alice").paths }
            // A copy looks like a newer file: a higher number and a higher generation.
            try await app.work { workspace in
                try workspace.copyWithoutPublishing("alice")
            }
            try await alice.note("later")
            #expect(try FileSystem.list(folder.directory).contains("messages-2.db"))
            await app.close()
            try FileSystem.remove(registryPath(test))
            let next = try await test.process("next")
            let session = try await next.session("alice")
            #expect(session.token == alice.token)
            #expect(try await session.notes() == ["kept", "later"])
        }
    }

    // Whoever published it may have died before he wrote its number into the account's folder. Then
    // nothing was written to it either, because that is written first.
    @Test("with the file that was published, once something was written to it")
    func publishedWithoutCharter() async throws {
        for isUsed in [false, true] {
            try await withAccounts { test, app, alice in
                let charter = try await app.work { try $0.attach("alice").paths.charter }
                let old = try FileSystem.contents(of: charter)
                try await app.work { try $0.publishCopy("alice") }
                try FileSystem.replaceFile(at: charter, with: old)
                // He has not come to moving the old files away either.
                let folder = FileSystem.directory(of: charter)
                for name in try FileSystem.list("\(folder)/damaged") {
                    try FileSystem.rename("\(folder)/damaged/\(name)", to: "\(folder)/\(name)")
                }
                if isUsed { try await test.process("user").session("alice").note("later") }
                await app.close()
                try FileSystem.remove(registryPath(test))
                let next = try await test.process("next")
                let notes = try await next.session("alice").notes()
                #expect(notes == (isUsed ? ["kept", "later"] : ["kept"]))
            }
        }
    }

    @Test("a folder that somebody copied is no account")
    func copiedFolder() async throws {
        try await withAccounts { test, app, alice in
            await app.close()
            let accounts = "\(test.root)/accounts"
            try FileSystem.makeDirectory("\(accounts)/copy")
            try FileSystem.replaceFile(
                at: "\(accounts)/copy/account.json",
                with: try FileSystem.contents(of: "\(accounts)/alice/account.json")
            )
            try FileSystem.remove(registryPath(test))
            let next = try await test.process("next")
            #expect(try await next.accounts().count == 3)
        }
    }

    @Test("an account whose messages cannot be read is kept, and takes no writes until it can be")
    func damagedMessages() async throws {
        try await withAccounts { test, app, alice in
            let path = try await app.work { try AccountFiles("alice", of: $0).path(of: .messages) }
            await app.close()
            try FileSystem.rename(path, to: path + ".away")
            try FileSystem.remove(registryPath(test))
            let next = try await test.process("next")
            await expect(.accountInactive) { _ = try await next.session("alice") }
            await expect(.fileMissing) { _ = try await next.activate("alice") }
            try FileSystem.rename(path + ".away", to: path)
            #expect(try await next.activate("alice").notes() == ["kept"])
        }
    }

    /// A fence that a switch writes.
    fileprivate struct Step {
        let token: FencingToken
        let state: AccountState
        let kind: StoreKind
        let counterpart: FencingToken?
    }

    /// The fences of a switch from alice to bob, and, where it is turned round, of that.
    private func steps(_ intent: SwitchIntent, isTurned: Bool) throws -> [Step] {
        var intents = [intent]
        if isTurned {
            var last = intent.activating?.generation ?? Generation(0)
            let back = intent.turnedBack(retiringTarget: true) {
                last = last.next
                return last
            }
            intents.append(try #require(back))
        }
        return intents.flatMap { intent in
            [(intent.retiring, AccountState.retired), (intent.activating, .active)].flatMap {
                token,
                state in
                [StoreKind.settings, .messages].compactMap { kind in
                    token.map {
                        Step(
                            token: $0,
                            state: state,
                            kind: kind,
                            counterpart: intent.counterpart(of: $0)
                        )
                    }
                }
            }
        }
    }

    // What only the registry knew is the intent. The fences tell of the switch from its first one on
    // (I-2): at rest exactly one of the two is active, whichever step was the last.
    @Test(
        "in the middle of a switch, at every step: one of the two is active, and all fences agree",
        arguments: [false, true]
    )
    func duringSwitch(isTurned: Bool) async throws {
        for count in 0...(isTurned ? 8 : 4) {
            try await withAccounts { test, app, alice in
                try await app.work { workspace in
                    let intent = try workspace.registry.use {
                        try $0.beginSwitch(from: "alice", to: "bob")
                    }
                    for step in try steps(intent, isTurned: isTurned).prefix(count) {
                        try workspace.write(step)
                    }
                }
                await app.close()
                try FileSystem.remove(registryPath(test))
                let next = try await test.process("next")
                // Of the settings alone nobody knows anything: they say what the messages say.
                let isBobs = (2...5).contains(count)
                let states = try await next.accounts().map(\.state)
                let expected: [AccountState] =
                    isBobs ? [.retired, .active, .retired] : [.active, .retired, .retired]
                #expect(states == expected, "\(count) fences")
                let active = try await next.session(isBobs ? "bob" : "alice")
                try await active.note("on")
                for account in ["alice", "bob"] as [AccountID] {
                    let fences = try await next.work { try $0.fences(of: account) }
                    let info = try await next.account(account)
                    let said = "\(info.generation) \(info.state)"
                    #expect(fences == [said, said], "\(account), \(count) fences")
                }
                #expect(try await next.work { try $0.registry.use { try $0.intent() } } == nil)
            }
        }
    }

    // Whoever was added since under the id is another account, and one whose fence has come further
    // was activated and left since.
    @Test("a switch that came to its end long ago is not taken up again")
    func oldSwitch() async throws {
        for isRemoved in [false, true] {
            try await withAccounts { test, app, alice in
                _ = try await app.replaceAccount("alice", with: "bob")
                if isRemoved {
                    try await app.removeAccount("bob")
                    try await app.addAccount("bob")
                    try await app.activate("bob")
                }
                try await app.signOut("bob")
                await app.close()
                try FileSystem.remove(registryPath(test))
                let next = try await test.process("next")
                #expect(try await next.accounts().allSatisfy { $0.state == .retired })
            }
        }
    }
}

extension Workspace {
    /// A new active account with the table of notes.
    fileprivate func addAccountAndActivate(_ id: AccountID) async throws -> Session {
        try await addAccount(id)
        let session = try await activate(id)
        try await session.database.write { try $0.execute("CREATE TABLE note (text TEXT)") }
        return session
    }

    /// Writes one fence.
    fileprivate func write(_ step: RegistryRebuildTests.Step) throws {
        let path = try AccountFiles(step.token.account, of: self).path(of: step.kind)
        let connection = try StoreFile.open(
            path,
            for: .maintaining,
            environment: environment,
            busyDeadline: .never
        )
        defer { try? connection.close() }
        try Fence.advance(
            connection,
            path: path,
            to: step.token.generation,
            step.state,
            counterpart: step.counterpart
        )
    }

    /// What both fences of an account say.
    fileprivate func fences(of account: AccountID) throws -> [String] {
        let files = try AccountFiles(account, of: self)
        return try StoreKind.allCases.map { kind in
            let path = try files.path(of: kind)
            let connection = try StoreFile.open(
                path,
                for: .reading,
                environment: environment,
                busyDeadline: .never
            )
            defer { try? connection.close() }
            let fence = try Fence.read(from: connection, path: path)
            return "\(fence.generation) \(fence.state)"
        }
    }

    /// What the copying of distrusted files does, up to the publishing.
    fileprivate func copyWithoutPublishing(_ id: AccountID) throws {
        let attachment = try attach(id)
        let record = try registry.record(of: id)
        let generation = try registry.use { try $0.reserveGeneration() }
        for kind in StoreKind.allCases {
            let number = try attachment.nextFileNumber(of: kind, after: record.fileNumber(of: kind))
            let source = try StoreFile.open(
                attachment.paths.file(of: kind, number: record.fileNumber(of: kind)),
                for: .reading,
                environment: environment,
                busyDeadline: .never
            )
            defer { try? source.close() }
            var generator = SystemRandomNumberGenerator()
            try StoreFile.create(
                attachment.paths.file(of: kind, number: number),
                copying: source,
                key: nil,
                as: .random(using: &generator),
                at: generation,
                record.state,
                environment: environment,
                busyDeadline: .never
            )
        }
    }

    /// The same and the publishing: what happens to files of which a sync has failed.
    fileprivate func publishCopy(_ id: AccountID) throws {
        let record = try registry.record(of: id)
        try attach(id).membership.setDistrust(
            Distrust(bootID: environment.bootID, fileNumber: UInt64(record.messagesFile)),
            of: .messages
        )
        try replaceDistrustedFiles(of: id)
    }
}

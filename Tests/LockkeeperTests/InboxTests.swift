import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

@testable import Lockkeeper

/// A schema whose packets are rows of a table that takes the same text as often as it comes, so that a
/// packet which was applied twice is seen. Some packets do something else when they are taken.
private let notes = Schema(
    owner: "notes",
    migrations: [
        Migration(owner: "notes", name: "1_note", sql: "CREATE TABLE note (text TEXT)")
    ],
    intake: PacketIntake { session, packet in
        let text = String(decoding: packet.bytes, as: UTF8.self)
        if text == "slow", session.workspace.name == "slow" {
            slowDecoding.arrive()
            slowDecoding.waitUntilOpen()
        }
        if text == "undecodable" { throw NoNote() }
        return { connection, _ in
            switch text {
            case "refused": throw NoNote()
            case "too large":
                throw StorageError.system(SystemCallError(call: .write, errno: .noSpace))
            default:
                let statement = try connection.statement("INSERT INTO note VALUES (?1)")
                try statement.bind(1, text)
                try statement.run()
            }
        }
    }
)

private struct NoNote: Error {}

/// Where the process "slow" stands while it decodes the packet "slow".
private let slowDecoding = Gate()

/// Runs a test on a workspace of notes with the accounts alice, which is active, and bob, which is
/// not.
private func withInboxes(
    limits: Limits = Limits(),
    _ body: (_ test: TestWorkspace, _ app: Workspace, _ alice: Session) async throws -> Void
) async throws {
    try await TestWorkspace.with(schemas: [notes], limits: limits) { test in
        let app = try await test.process("app")
        try await app.addAccount("alice")
        try await app.addAccount("bob")
        try await body(test, app, try await app.activate("alice"))
    }
}

extension Workspace {
    /// Keeps packets as a process does that has found their account inactive, and looks no further.
    @discardableResult
    fileprivate func keep(_ texts: [String], for account: AccountID) async throws -> [KeptPacket] {
        var kept: [KeptPacket] = []
        for text in texts {
            kept.append(
                try await keep(
                    Packet(Array(text.utf8)),
                    for: account,
                    because: .accountInactive
                )
            )
        }
        return kept
    }

    /// Waits until others have applied what waits.
    fileprivate func expectNothingWaits(for account: AccountID) async throws {
        let end = LockkeeperTestSupport.patience()
        while try await !inbox(of: account).isEmpty {
            try #require(!end.hasPassed(at: SystemClock().now()), "a packet lies there")
            await Task.yield()
        }
    }

    /// Names that are recorded as applied.
    fileprivate func recorded(_ account: AccountID) async throws -> [PacketName] {
        try await inspectionSession(account).database.readConnection {
            try InboxTable($0).names(limit: 1000)
        }
    }
}

@Suite(
    "The inbox: each kept packet is applied once, by whoever comes (I-2, I-9, I-12)",
    .serialized
)
struct InboxTests {
    @Test("what is kept for an account that was never active is there once it is activated")
    func activation() async throws {
        try await withInboxes { test, app, alice in
            let helper = try await test.process("helper")
            let texts = (1...9).map { "packet \($0)" }
            let kept = try await helper.keep(texts, for: "bob")
            #expect(kept.allSatisfy { $0.reason == "accountInactive" && $0.parked == nil })
            #expect(try await app.inbox(of: "bob") == kept)
            #expect(kept.first?.processName == "helper")
            let bob = try await app.activate("bob")
            #expect(try await bob.notes() == texts)
            #expect(try await app.inbox(of: "bob").isEmpty)
            #expect(try await app.recorded("bob").isEmpty)
            #expect(try await alice.notes().isEmpty)
        }
    }

    @Test("a packet for an account that is not known is refused, and leaves no folder")
    func unknownAccount() async throws {
        try await withInboxes { test, app, _ in
            await expect(.unknownAccount) { try await app.keep(["x"], for: "carol") }
            await expect(.unknownAccount) { _ = try await app.inbox(of: "carol") }
            let folders = try FileSystem.list(test.root + "/accounts")
            #expect(folders.sorted() == ["alice", "bob"])
        }
    }

    // Whoever keeps a packet may die after the account was removed, and before he looks again.
    @Test(
        "a packet that came to an account after its removal is erased by who opens or adds it",
        arguments: [false, true]
    )
    func removedMeanwhile(isAdded: Bool) async throws {
        try await withInboxes { test, app, alice in
            let folder = app.paths.account(directory: "bob").directory
            let birth = try await app.work { try $0.registry.record(of: "bob").birth }
            try await app.removeAccount("bob")
            if isAdded { try await app.addAccount("bob") }
            try late("late", birth: birth, in: folder)
            if isAdded {
                // As a file without a name it is adopted, and then seen to be another's.
                try late("later", birth: birth, in: folder)
                let name = try FileSystem.list("\(folder)/inbox/waiting")[0]
                try FileSystem.rename(
                    "\(folder)/inbox/waiting/\(name)",
                    to: "\(folder)/inbox/waiting/\(name).0-1.tmp"
                )
                let bob = try await app.activate("bob")
                #expect(try await bob.notes() == [])
                #expect(try await app.inbox(of: "bob").isEmpty)
            } else {
                let next = try await test.process("next")
                #expect(try FileSystem.list(folder) == ["account.locks"])
                // The same where nobody has opened the workspace since.
                try late("late", birth: birth, in: folder)
                try await next.addAccount("bob")
                #expect(try FileSystem.list(folder).sorted() == ["account.json", "account.locks"])
                #expect(try await next.activate("bob").notes() == [])
            }
            _ = alice
        }
    }

    /// Keeps a packet as a process does that has looked into the registry long ago.
    private func late(_ text: String, birth: Generation, in folder: String) throws {
        let file = PacketFile(
            account: "bob",
            birth: birth,
            processName: "x",
            reason: "busy",
            keptAt: 0,
            packet: Packet(Array(text.utf8))
        )
        var generator = SystemRandomNumberGenerator()
        _ = try InboxFolder(account: folder).keep(file, limits: Limits(), using: &generator)
    }

    @Test("what was kept for an account stays its own where somebody died as he was adding it")
    func addedHalfway() async throws {
        try await withInboxes { test, app, alice in
            try await app.keep(["kept"], for: "bob")
            // The charter is there, and the row is not.
            try await app.work { workspace in
                try workspace.registry.use { registry in
                    _ = try registry.beginRemoval(of: "bob")
                    try registry.completeRemoval(of: "bob")
                }
            }
            let next = try await test.process("next")
            try await next.addAccount("bob")
            #expect(try await next.activate("bob").notes() == ["kept"])
            _ = alice
        }
    }

    @Test("packets wait for the account they were kept for, whatever is active, and for no other")
    func accountsApart() async throws {
        try await withInboxes { _, app, alice in
            try await app.keep(["for bob"], for: "bob")
            try await app.keep(["for alice"], for: "alice")
            try await alice.note("written")
            // The writer drains first.
            #expect(try await alice.notes() == ["for alice", "written"])
            // One that lies in another account's folder is put aside.
            let folder = InboxFolder(account: app.paths.account(directory: "alice").directory)
            let file = PacketFile(
                account: "bob",
                birth: Generation(1),
                processName: "x",
                reason: "busy",
                keptAt: 0,
                packet: Packet(Array("strayed".utf8))
            )
            var generator = SystemRandomNumberGenerator()
            _ = try folder.keep(file, limits: app.limits, using: &generator)
            let report = try await app.drainInbox(of: "alice")
            #expect(report.parkedCount == 1 && report.appliedCount == 0)
            #expect(try await app.inbox(of: "alice").map(\.parked) == ["wrong-account"])
            let bob = try await app.replaceAccount("alice", with: "bob")
            #expect(try await bob.notes() == ["for bob"])
        }
    }

    @Test(
        "two processes that drain at once, again and again, apply each packet once",
        arguments: 1...5
    )
    func twoDrains(round: Int) async throws {
        try await withInboxes { test, app, alice in
            let others = [try await test.process("one"), try await test.process("two")]
            for other in others { _ = try await other.session("alice") }
            let texts = (1...40).map { "packet \($0)" }
            try await app.keep(texts, for: "alice")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for other in others + [app] {
                    group.addTask {
                        let report = try await other.drainInbox(of: "alice")
                        #expect(report.obstacle == nil && report.parkedCount == 0)
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await alice.notes().sorted() == texts.sorted())
            #expect(try await app.inbox(of: "alice").isEmpty)
            // The names of packets whose files are gone are forgotten, by the next one at the latest.
            try await app.keep(["last"], for: "alice")
            _ = try await app.drainInbox(of: "alice")
            #expect(try await app.recorded("alice").isEmpty)
        }
    }

    @Test(
        "a packet that another process has applied, removed and forgotten meanwhile is not applied"
    )
    func settledMeanwhile() async throws {
        try await withInboxes { test, app, alice in
            let slow = try await test.process("slow")
            let held = try await slow.session("alice")
            try await app.keep(["slow"], for: "alice")
            async let late = slow.drainInbox(of: "alice")
            await slowDecoding.arrived()
            #expect(try await app.drainInbox(of: "alice").appliedCount == 1)
            #expect(try await app.recorded("alice").isEmpty)
            slowDecoding.open()
            let report = try await late
            #expect(report.appliedCount == 0 && report.leftCount == 0 && report.obstacle == nil)
            #expect(try await alice.notes() == ["slow"])
            _ = held
        }
    }

    // I-12: who dies after the commit leaves the file.
    @Test("the file of a packet whose name is recorded is removed, and not applied again")
    func recordedName() async throws {
        try await withInboxes { _, app, alice in
            let name = try #require(PacketName(try await app.keep(["once"], for: "bob")[0].name))
            let bob = try await app.activate("bob")
            #expect(try await bob.notes() == ["once"])
            // As if the process had died before it removed the file, with another one behind it.
            try await app.signOut("bob")
            let again = try await app.keep(["twice"], for: "bob")
            let second = try #require(PacketName(again[0].name))
            #expect(second != name)
            let files = app.paths.account(directory: "bob").directory
            let path = files + "/inbox/waiting/\(second)"
            let bytes = try FileSystem.contents(of: path)
            let next = try await app.activate("bob")
            #expect(try await next.notes() == ["once", "twice"])
            _ = try await next.database.submit(durability: .durable, waitMax: nil) {
                connection,
                _ in
                try InboxTable(connection).record(second)
            }
            try FileSystem.makeDirectory(files + "/inbox/waiting")
            try FileSystem.replaceFile(at: path, with: bytes)
            let report = try await app.drainInbox(of: "bob")
            #expect(report.appliedCount == 1 && report.leftCount == 0)
            #expect(try await next.notes() == ["once", "twice"])
            #expect(try await app.inbox(of: "bob").isEmpty)
            #expect(try await app.recorded("bob").isEmpty)
            _ = alice
        }
    }

    @Test(
        "a packet that cannot be applied is parked after five attempts, and keeps no other from it",
        arguments: ["undecodable", "refused"]
    )
    func badPacket(text: String) async throws {
        try await withInboxes { _, app, alice in
            try await app.keep([text, "good"], for: "alice")
            for attempt in 1...5 {
                let report = try await app.drainInbox(of: "alice")
                #expect(report.leftCount == 1 && report.parkedCount == 0 && report.obstacle == nil)
                #expect(try await app.inbox(of: "alice").map(\.attemptCount) == [attempt])
            }
            #expect(try await alice.notes() == ["good"])
            #expect(try await app.drainInbox(of: "alice").parkedCount == 1)
            let parked = try #require(try await app.inbox(of: "alice").first)
            #expect(parked.parked == "too-many-attempts" && parked.attemptCount == 5)
            #expect(try await app.retryPacket(parked.name, of: "alice"))
            #expect(try await app.inbox(of: "alice").first?.parked == nil)
            #expect(try await app.dropPacket(parked.name, of: "alice"))
            #expect(try await !app.dropPacket(parked.name, of: "alice"))
            #expect(try await app.inbox(of: "alice").isEmpty)
        }
    }

    @Test("a torn file is parked, and the one behind it is applied")
    func torn() async throws {
        try await withInboxes { _, app, alice in
            let kept = try await app.keep(["torn", "whole"], for: "alice")
            let path = app.paths.account(directory: "alice").directory + "/inbox/waiting/"
            let bytes = try FileSystem.contents(of: path + kept[0].name)
            try FileSystem.replaceFile(at: path + kept[0].name, with: bytes.dropLast(3))
            let report = try await app.drainInbox(of: "alice")
            #expect(report.parkedCount == 1 && report.appliedCount == 1)
            #expect(try await alice.notes() == ["whole"])
            #expect(try await app.inbox(of: "alice").map(\.parked) == ["torn"])
        }
    }

    @Test("a packet without room is left for later without an attempt, and others are applied")
    func noRoom() async throws {
        try await withInboxes { _, app, alice in
            try await app.keep(["too large", "small"], for: "alice")
            for _ in 1...7 {
                #expect(try await app.drainInbox(of: "alice").leftCount == 1)
            }
            #expect(try await alice.notes() == ["small"])
            let left = try #require(try await app.inbox(of: "alice").first)
            #expect(left.parked == nil && left.attemptCount == 0)
            #expect(try await app.dropPacket(left.name, of: "alice"))
        }
    }

    // What is kept while the database is busy is found by who held it.
    @Test("the writer who was in the way of a packet applies it once it has let go")
    func writerLooksAfter() async throws {
        try await withInboxes { test, app, alice in
            let gate = Gate()
            let holder = await alice.holdWriter(until: gate)
            let helper = try await test.process("helper")
            try await helper.keep(["kept"], for: "alice")
            gate.open()
            _ = try await holder.value
            // Nobody else does anything; the look is made on a thread of its own.
            try await app.expectNothingWaits(for: "alice")
            #expect(try await alice.notes() == ["kept"])
        }
    }

    @Test("a host applies what waits for an active account, although nobody opens or writes it")
    func hostTick() async throws {
        var limits = Limits()
        limits.slowPollInterval = .milliseconds(20)
        try await withInboxes(limits: limits) { test, app, alice in
            let host = try await app.serve()
            let helper = try await test.process("helper")
            try await helper.keep(["kept"], for: "alice")
            try await helper.keep(["later"], for: "bob")
            try await helper.expectNothingWaits(for: "alice")
            #expect(try await alice.notes() == ["kept"])
            #expect(try await helper.inbox(of: "bob").count == 1)
            await host.close()
        }
    }

    // A packet that was kept between the intent and the end of a switch found its account not active,
    // and the process that switched is dead: whoever finishes the switch applies it.
    @Test("who finishes another's switch applies what was kept for the account that becomes active")
    func finishedSwitch() async throws {
        try await withInboxes { test, app, _ in
            let helper = try await test.process("helper")
            _ = try await app.activate("bob")
            try await app.signOut("bob")
            _ = try await app.work { workspace in
                try workspace.registry.use { try $0.beginSwitch(from: "alice", to: "bob") }
            }
            try await helper.keep(["in the window"], for: "bob")
            let next = try await test.process("next")
            // Nobody who only opens the workspace waits for it.
            try await next.expectNothingWaits(for: "bob")
            let bob = try await next.inspectionSession("bob")
            #expect(try await bob.notes() == ["in the window"])
        }
    }

    // B50: nothing is lost in the window of a switch, and nothing lies there until the activation
    // after next.
    @Test("packets sent all the while that two accounts are switched are each in their own account")
    func switchWindow() async throws {
        try await withInboxes { test, app, _ in
            let accounts: [AccountID] = ["alice", "bob"]
            let helpers = [try await test.process("one"), try await test.process("two")]
            let isSwitching = Monitor(true)
            async let sent = withThrowingTaskGroup(of: [String].self) { group in
                for (number, helper) in helpers.enumerated() {
                    group.addTask {
                        var texts: [String] = []
                        while isSwitching.withLock({ $0 }) || texts.count < 10 {
                            let account = accounts[texts.count % 2]
                            let text = "\(account) \(number) \(texts.count)"
                            try await send(text, to: account, by: helper)
                            texts.append(text)
                        }
                        return texts
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            for turn in 0..<6 {
                _ = try await app.replaceAccount(accounts[turn % 2], with: accounts[1 - turn % 2])
                // Now nothing waits for the one that is active but what came after this.
            }
            isSwitching.withLock { $0 = false }
            let texts = try await sent
            _ = try await app.session("alice")
            #expect(try await app.inbox(of: "alice").isEmpty)
            _ = try await app.replaceAccount("alice", with: "bob")
            #expect(try await app.inbox(of: "bob").isEmpty)
            for account in accounts {
                let notes = try await app.inspectionSession(account).notes()
                #expect(notes.sorted() == texts.filter { $0.hasPrefix("\(account)") }.sorted())
            }
        }
    }

    @Test("a packet past the bound is refused with a typed error, and what is kept stays")
    func bound() async throws {
        var limits = Limits()
        limits.inboxPacketCountMax = 2
        try await withInboxes(limits: limits) { _, app, _ in
            try await app.keep(["1", "2"], for: "bob")
            await expect(.inboxFull) { try await app.keep(["3"], for: "bob") }
            #expect(try await app.activate("bob").notes() == ["1", "2"])
            try await app.keep(["3"], for: "bob")
        }
    }

    @Test("while the process is suspended nothing is kept and nothing is applied, and it says so")
    func suspended() async throws {
        try await withInboxes { test, app, alice in
            let helper = try await test.process("helper")
            let held = try await helper.session("alice")
            try await helper.suspend()
            await expect(.suspended) { try await helper.keep(["x"], for: "bob") }
            try await app.keep(["kept"], for: "alice")
            try await helper.resume()
            try await held.note("written")
            #expect(try await alice.notes() == ["kept", "written"])
        }
    }

    @Test("patience: something new is tried at once, what was left after pauses that grow")
    func patience() {
        var patience = InboxPatience()
        let retry = Backoff(least: .milliseconds(100), largest: .milliseconds(400))
        func at(_ milliseconds: Int64) -> MonotonicInstant {
            MonotonicInstant(nanoseconds: milliseconds * 1_000_000)
        }
        #expect(patience.isDue(1, now: at(0)))
        for (start, end) in [(0, 100), (100, 300), (300, 700), (700, 1100)] as [(Int64, Int64)] {
            patience.end(1, isEmpty: false, now: at(start), retry: retry)
            #expect(!patience.isDue(1, now: at(end - 1)) && patience.isDue(1, now: at(end)))
            #expect(patience.isDue(2, now: at(start)))
        }
        patience.end(1, isEmpty: true, now: at(1100), retry: retry)
        #expect(patience.isDue(1, now: at(1100)))
    }
}

/// Writes a text into an account, or keeps it as a packet where that cannot be done, and then looks
/// once more: as `deliver` does.
private func send(_ text: String, to account: AccountID, by helper: Workspace) async throws {
    do {
        _ = try await helper.session(account).note(text, durability: .durable)
    } catch let error as LockkeeperError {
        #expect([.accountInactive, .superseded, .busy].contains(error.code), "\(error)")
        _ = try await helper.keep(Packet(Array(text.utf8)), for: account, because: error.code)
        _ = try? await helper.session(account)
    }
}

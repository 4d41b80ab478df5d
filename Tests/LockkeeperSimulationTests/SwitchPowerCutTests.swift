import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperSimulation
import LockkeeperTesting
import Testing

/// The power goes at every point of a switch: what the disk may hold then is made from what was
/// written and synced, over all files at once: the registry, its journal, and both files of both
/// accounts.
@Suite("A switch that the power cut interrupts is finished by the next process (I-2, I-6)")
struct SwitchPowerCutTests {
    /// The mark before the switch.
    private static let begun = 0
    /// The mark behind its return.
    private static let returned = 1

    private let isWholeRun = Environment.variable("LOCKKEEPER_TEST_ALL") != nil

    @Test("one account is active, fences and registry agree, and a switch that returned stands")
    func everyPoint() async throws {
        let seed = UInt64.random(in: 0...UInt64(UInt32.max))
        print("seed=\(seed)")
        let (root, recorded) = try await recordSwitch()
        var actives: Set<AccountID> = []
        for end in 0...recorded.steps.count {
            for fate in fates(end, seed) {
                let image = DiskImage(of: recorded, cutAt: end, fate: fate)
                for isLost in isWholeRun ? [false, true] : [(end / 2).isMultiple(of: 2)] {
                    let comment: Comment =
                        "seed=\(seed), cut behind \(end) steps, \(fate), registry lost: \(isLost)"
                    let active = try await reopen(image, of: root, losing: isLost, comment)
                    if recorded.marks(before: end).contains(Self.returned) {
                        #expect(active == "bob", comment)
                    }
                    actives.insert(active)
                }
            }
        }
        #expect(recorded.steps.count > 40)
        #expect(actives == ["alice", "bob"])
        try FileSystem.removeTree(root)
    }

    // Section 4: the messages' fence decides, so whatever the settings say is on the disk by then; and
    // the one account is left before the other one is made active.
    @Test("each account's settings are fenced and synced before its messages, the left one's first")
    func order() async throws {
        let (root, recorded) = try await recordSwitch()
        let begin = try #require(recorded.steps.firstIndex(of: .mark(Self.begun)))
        func indices(_ account: String, _ kind: String, isSync: Bool) -> [Int] {
            let log = "/accounts/\(account)/\(kind)-1.db-wal"
            return recorded.steps.indices.filter { index in
                switch recorded.steps[index] {
                case .write(let path, _, _): index > begin && !isSync && path.hasSuffix(log)
                case .sync(let path, _, true): index > begin && isSync && path.hasSuffix(log)
                default: false
                }
            }
        }
        var ends: [Int] = []
        for account in ["alice", "bob"] {
            let settings = try #require(indices(account, "settings", isSync: false).last)
            let settingsSync = try #require(indices(account, "settings", isSync: true).last)
            let messages = try #require(indices(account, "messages", isSync: false).first)
            let messagesSync = try #require(indices(account, "messages", isSync: true).first)
            let first = try #require(indices(account, "settings", isSync: false).first)
            #expect(settings < settingsSync && settingsSync < messages && messages < messagesSync)
            if let end = ends.last { #expect(end < first) }
            ends.append(messagesSync)
        }
        try FileSystem.removeTree(root)
    }

    /// What becomes of the writes that no sync has covered. A disk that kept all of them holds what a
    /// killed process leaves, which is shown with real processes.
    private func fates(_ end: Int, _ seed: UInt64) -> [DiskImage.Fate] {
        func drawn(_ number: Int) -> DiskImage.Fate {
            .drawn(seed: seed &+ UInt64(100 * end + number))
        }
        guard isWholeRun else {
            return end.isMultiple(of: 2) ? [.lost] : [drawn(0)]
        }
        return [.lost, .kept] + (0..<10).map(drawn)
    }

    /// Makes a workspace with the active account alice and the retired account bob, switches in it,
    /// and records what is written.
    private func recordSwitch() async throws -> (root: String, RecordedWrites) {
        let test = try TestWorkspace(schemas: [])
        let setup = try await test.process("setup")
        for account in ["bob", "alice"] as [AccountID] {
            try await setup.addAccount(account)
            let session = try await setup.activate(account)
            try await session.database.write { try $0.execute("CREATE TABLE note (text TEXT)") }
        }
        try await setup.signOut("bob")
        await setup.close()
        // The kernel may not have written all of this back, but what lies before the switch is not
        // what this test is about.
        let root = try FileSystem.canonicalPath(test.root)
        let initial = try files(below: root)

        let zone = FaultZone(folder: root)
        zone.beginRecording()
        let app = try await test.process("app", vfs: FaultZone.vfs)
        let alice = try await app.session("alice")
        try await alice.database.write { try $0.execute("INSERT INTO note VALUES ('kept')") }
        zone.mark(Self.begun)
        try await app.replaceAccount("alice", with: "bob")
        zone.mark(Self.returned)
        let recorded = zone.endRecording(initial: initial)
        await app.close()
        return (root, recorded)
    }

    /// Writes an image into a folder of its own, opens the workspace there, and judges it.
    ///
    /// - Parameter isLost: whether the registry is lost as well, so that the accounts' own files have to
    ///   tell of the switch.
    /// - Returns: the active account.
    private func reopen(
        _ image: DiskImage,
        of root: String,
        losing isLost: Bool,
        _ comment: Comment
    ) async throws -> AccountID {
        let test = try TestWorkspace(schemas: [])
        try FileSystem.makeDirectory("\(test.root)/accounts")
        for account in ["alice", "bob"] {
            try FileSystem.makeDirectory("\(test.root)/accounts/\(account)")
        }
        for (path, bytes) in image.files {
            let copy = test.root + path.dropFirst(root.count)
            try FileDescriptor(opening: copy, [.writeOnly, .create, .truncate]).write(bytes)
        }
        if isLost { try FileSystem.remove("\(test.root)/workspace.db") }
        let next = try await test.process("next")
        let atRest = try await WorkspaceAtRest(next)
        #expect(atRest.problems == [], comment)
        #expect(atRest.active.count == 1, comment)
        let active = try #require(atRest.active.first, comment)
        try await expectSettingsFences(in: test, next, comment)
        let session = try await next.session(active)
        try await session.database.write { try $0.execute("INSERT INTO note VALUES ('next')") }
        await next.close()
        try FileSystem.removeTree(test.root)
        return active
    }

    /// The settings are fenced under the same hold of WRITER, so at rest they say the same.
    private func expectSettingsFences(
        in test: TestWorkspace,
        _ workspace: Workspace,
        _ comment: Comment
    ) async throws {
        for account in try await workspace.accounts() {
            let settings = try Connection(
                path: "\(test.root)/accounts/\(account.id)/settings-1.db",
                mode: .readWrite,
                clock: test.clock,
                busyDeadline: .never,
                jitterSeed: 1
            )
            let said = try settings.value("SELECT generation || ' ' || state FROM lk_fence")
            try settings.close()
            #expect(said?.text == "\(account.generation) \(account.state.rawValue)", comment)
        }
    }

    /// The databases, logs, journals and charters below a folder, with what is in them.
    private func files(below folder: String) throws -> [String: [UInt8]] {
        var found: [String: [UInt8]] = [:]
        for name in try FileSystem.list(folder) {
            let path = "\(folder)/\(name)"
            if try FileSystem.status(path)?.kind == .directory {
                found.merge(try files(below: path)) { $1 }
            } else if name == "account.json" || name.contains(".db") && !name.hasSuffix("-shm") {
                found[path] = try FileSystem.contents(of: path)
            }
        }
        return found
    }
}

import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperTesting
import Testing

@Suite("A suspended workspace holds nothing (B10)")
struct SuspensionTests {
    /// The files below a folder that this process has open.
    private func open(below root: String) throws -> [String] {
        try FileSystem.list("/proc/self/fd").compactMap { number in
            guard let target = try? FileSystem.canonicalPath("/proc/self/fd/\(number)"),
                target.hasPrefix(root + "/")
            else { return nil }
            return target
        }
    }

    /// The locks that this process has on files below a folder: `/proc/locks` has SQLite's, with the
    /// process; those of open file descriptions stand in `fdinfo`, because it lists them without.
    private func locks(below root: String) throws -> (posix: [KernelLock], ofd: [KernelLock]) {
        let inodes = try Set(
            files(below: root).compactMap { try FileSystem.status($0)?.identity.inode }
        )
        let pid = try ProcessIdentity.current().pid
        let posix = try KernelLock.all().filter { $0.kind == .process && $0.pid == pid }
        let ofd = try FileSystem.list("/proc/self/fdinfo").flatMap { number in
            // One that was closed meanwhile has none.
            KernelLock.list(in: (try? FileSystem.contents(of: "/proc/self/fdinfo/\(number)")) ?? [])
        }
        return (
            posix.filter { inodes.contains($0.file.inode) },
            ofd.filter { $0.kind == .openFileDescription && inodes.contains($0.file.inode) }
        )
    }

    private func files(below folder: String) throws -> [String] {
        try FileSystem.list(folder).flatMap { name in
            let path = "\(folder)/\(name)"
            let isFolder = try FileSystem.status(path)?.kind == .directory
            return try isFolder ? files(below: path) : [path]
        }
    }

    @Test("it has no file open, and so no lock, while others write; then it goes on")
    func holdsNothing() async throws {
        try await TestWorkspace.with(schemas: []) { test in
            let app = try await test.process("app", role: .host)
            let host = try await app.serve()
            try await app.addAccount("alice")
            let alice = try await app.activate("alice")
            try await alice.database.write { try $0.execute("CREATE TABLE note (text TEXT)") }
            try await alice.note("before", durability: .durable)
            #expect(try await alice.notes() == ["before"])
            #expect(try !open(below: test.root).isEmpty)
            let before = try locks(below: test.root)
            #expect(!before.posix.isEmpty && !before.ofd.isEmpty)

            try await app.suspend()
            #expect(app.isSuspended)
            #expect(try open(below: test.root) == [])
            let suspended = try locks(below: test.root)
            #expect(suspended.posix.isEmpty && suspended.ofd.isEmpty, "\(suspended)")
            await expect(.suspended) { try await alice.note("never") }
            await expect(.suspended) { _ = try await alice.notes() }
            await expect(.suspended) { _ = try await app.accounts() }
            await expect(.suspended) { _ = try await app.session("alice") }
            await expect(.suspended) { _ = try await app.status() }
            try await app.suspend()

            let other = try await test.process("other")
            try await other.session("alice").note("meanwhile", durability: .durable)
            await other.close()

            try await app.resume()
            #expect(!app.isSuspended)
            try await alice.note("after")
            #expect(try await alice.notes() == ["before", "meanwhile", "after"])
            let second = try await test.process("second", role: .host)
            await expect(.hostRunning) { _ = try await second.serve() }
            await host.close()
            _ = try await second.serve()
        }
    }

    @Test("what waits in line keeps its place, and goes on after it")
    func queued() async throws {
        try await withNotes { test, app, alice in
            let other = try await test.process("other")
            let gate = Gate()
            let inside = try await other.session("alice").holdWriter(until: gate)
            let waiting = Task {
                try await alice.note("waited", durability: .durable, waitMax: .seconds(60))
            }
            try await waitUntilWaiting("app", other)
            try await app.suspend()
            gate.open()
            try await inside.value
            try await other.session("alice").note("meanwhile")
            try await app.resume()
            _ = try await waiting.value
            #expect(try await alice.notes() == ["meanwhile", "waited"])
        }
    }

    @Test("what runs ends first; what does not end in time takes the suspension back")
    func running() async throws {
        try await withNotes { test, app, alice in
            let gate = Gate()
            let running = await alice.holdWriter(until: gate)
            await expect(.busy) { try await app.suspend(waitMax: .milliseconds(20)) }
            #expect(!app.isSuspended)
            let suspension = Task { try await app.suspend() }
            while !app.isSuspended { await Task.yield() }
            gate.open()
            try await suspension.value
            try await running.value
            #expect(try open(below: test.root) == [])
            try await app.resume()
            try await alice.note("after")
        }
    }

    @Test("a feed waits meanwhile, and misses nothing (I-7)")
    func feed() async throws {
        try await withNotes { test, app, alice in
            let head = try await alice.database.head()
            let feed = alice.changes(after: head).makeAsyncIterator()
            try await alice.note("1")
            let first = try #require(try await feed.next())
            try await app.suspend()
            let other = try await test.process("other")
            let there = try await other.session("alice")
            for number in 2...5 { try await there.note("\(number)") }
            try await app.resume()
            var last = first
            while last.last.rawValue < first.last.rawValue + 4 {
                let range = try #require(try await feed.next())
                #expect(range.predecessor == last.last)
                last = range
            }
        }
    }

    @Test("an account that was switched away from meanwhile is superseded after it (I-13)")
    func switched() async throws {
        try await withNotes { test, app, alice in
            try await app.suspend()
            let other = try await test.process("other")
            try await other.signOut("alice")
            try await app.resume()
            await expect(.superseded) { try await alice.note("late") }
            await expect(.superseded) { _ = try await alice.notes() }
        }
    }

    @Test("sessions that close while it is suspended stay closed")
    func closing() async throws {
        try await withNotes { _, app, alice in
            try await app.suspend()
            await alice.close()
            try await app.resume()
            await expect(.closed) { try await alice.note("late") }
            try await app.session("alice").note("again")
        }
    }
}

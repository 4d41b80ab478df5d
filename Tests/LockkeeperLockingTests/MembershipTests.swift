import Glibc
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperTestSupport
import Testing

@testable import LockkeeperLocking

/// Slots, records and guards of one lock file (I-12).
@Suite
struct MembershipTests {
    @Test("Two guards of one process exclude each other; shared ones do not")
    func guardsExclude() throws {
        let directory = try TemporaryDirectory()
        let membership = try makeMembership(directory)
        let held = try membership.take(.maintenance, .exclusive)
        #expect(try !membership.canTake(.maintenance, .exclusive))
        #expect(try membership.isHeld(.maintenance, against: .shared))
        #expect(try membership.canTake(.host, .exclusive))
        held.release()
        let one = try membership.take(.maintenance, .shared)
        let other = try membership.take(.maintenance, .shared)
        #expect(try !membership.isHeld(.maintenance, against: .shared))
        one.release()
        other.release()
    }

    // B35
    @Test("A wait ends at its deadline and names the holder, this process too")
    func busyNamesHolder() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory, name: "app", role: .host)
            try membership.setActivity(.checkpointing)
            let held = try membership.take(.maintenance, .exclusive)
            let wait = Deadline(after: .milliseconds(30), from: SystemClock().now())
            let error = #expect(throws: LockingError.self) {
                _ = try membership.acquire(.maintenance, .shared, until: wait)
            }
            #expect(wait.hasPassed(at: SystemClock().now()))
            guard case .busy(.maintenance, let holders, let waited) = error else {
                Issue.record("unexpected \(String(describing: error))")
                return
            }
            #expect(holders.map(\.identity.pid) == [getpid()])
            #expect(holders.first?.processName == "app")
            #expect(holders.first?.role == .host)
            #expect(holders.first?.activity == .checkpointing)
            #expect(holders.first?.condition == .running)
            #expect(holders.first?.description.hasPrefix("this process itself, pid ") == true)
            #expect(waited >= .milliseconds(30))
            held.release()
        }
    }

    @Test("A wait is granted when the holder lets go, and can be cancelled")
    func waitIsGrantedOrCancelled() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            let foreign = try ForeignProcess(directory, bytes: [18])
            let error = #expect(throws: LockingError.self) {
                _ = try membership.acquire(
                    .maintenance,
                    .exclusive,
                    until: .never,
                    isCancelled: { true }
                )
            }
            #expect(error == .cancelled)
            try foreign.kill()
            try membership.acquire(.maintenance, .exclusive, until: patience()).release()
        }
    }

    // B35
    @Test("A stopped holder of another program is named as stopped")
    func stoppedHolder() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            let foreign = try ForeignProcess(directory, bytes: [20])
            #expect(try membership.holders(of: .writer).map(\.condition) == [.running])
            #expect(try membership.holders(of: .queue).isEmpty)
            try foreign.child.signal(SIGSTOP)
            #expect(
                try eventually {
                    try membership.holders(of: .writer).map(\.condition) == [.stopped]
                }
            )
            let holder = try #require(try membership.holders(of: .writer).first)
            #expect(holder.identity.pid == foreign.pid)
            #expect(holder.processName == "foreign")
            #expect(holder.program == "python")
            #expect(holder.activity == .writing)
            let names = try membership.members().map(\.processName)
            #expect(names == ["test", "foreign"])
            try foreign.kill()
            #expect(try membership.holders(of: .writer).isEmpty)
            #expect(try membership.members().map(\.processName) == ["test"])
        }
    }

    @Test(
        "Who looks for what is in its own way does not find itself, but another membership beside"
    )
    func exceptSelf() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let first = try makeMembership(directory, name: "first")
            let second = try makeMembership(directory, name: "second")
            #expect(try first.members().map(\.processName) == ["first", "second"])
            #expect(try first.members(includingSelf: false).map(\.processName) == ["second"])
            let guardian = try first.take(.writer, .exclusive)
            // Both are of one process: it is named once, by the first record.
            #expect(try second.holders(of: .writer).map(\.processName) == ["first"])
            try second.setActivity(.idle)
            #expect(try first.holders(of: .writer, includingSelf: false).isEmpty)
            guardian.release()
        }
    }

    @Test("The oldest read is written into the record and taken away without touching the rest")
    func oldestRead() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            try membership.setActivity(.reading)
            let before = try membership.members()
            let read = OldestRead(purpose: .feed, since: MonotonicInstant(nanoseconds: 42))
            try membership.setOldestRead(read)
            #expect(try membership.members().first?.oldestRead == read)
            try membership.setOldestRead(nil)
            #expect(try membership.members().map(\.record) == before.map(\.record))
        }
    }

    // B32
    @Test("A slot is free when its byte is, whatever its record says of living processes")
    func recordsDecideNothing() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let zombie = try ChildProcess(program: "true")
            let unrelated = try ChildProcess(program: "sleep", arguments: ["60"])
            let identity = try #require(try ProcessIdentity.read(pid: zombie.pid))
            #expect(try eventually { try identity.condition() == .zombie })
            let file = try FileDescriptor(
                opening: directory.file("account.locks"),
                [.create, .readWrite]
            )
            for (slot, pid) in [getpid(), zombie.pid, unrelated.pid, 1].enumerated() {
                let record = ProcessRecord(
                    process: ProcessDescription(
                        identity: try #require(try ProcessIdentity.read(pid: pid)),
                        program: "dead",
                        processName: "dead",
                        role: .host
                    ),
                    activity: .writing,
                    since: MonotonicInstant(nanoseconds: 1)
                )
                try LockFileLayout.encode(record).withUnsafeBytes {
                    try file.write($0, at: LockFileLayout.offset(ofSlot: slot))
                }
            }
            let membership = try makeMembership(directory)
            #expect(try membership.slot() == 0)
            #expect(try membership.members().map(\.processName) == ["test"])
            #expect(try membership.canTake(.writer, .exclusive))
            try unrelated.signal(SIGKILL)
            try unrelated.wait()
            try zombie.wait()
        }
    }

    @Test("The 257th member is refused, and comes in when another one leaves (I-9)")
    func tooManyProcesses() throws {
        let directory = try TemporaryDirectory()
        var members = try (0..<256).map { try makeMembership(directory, name: "m\($0)") }
        let error = #expect(throws: LockingError.self) { _ = try makeMembership(directory) }
        #expect(
            error
                == .tooManyProcesses(path: directory.file("account.locks"), processCountMax: 256)
        )
        members.remove(at: 17)
        let late = try makeMembership(directory, name: "late")
        #expect(try late.slot() == 17)
        #expect(try late.members().count == 256)
    }

    @Test("A member that leaves is no longer shown, and its record is emptied")
    func leaving() throws {
        let directory = try TemporaryDirectory()
        let one = try makeMembership(directory, name: "one")
        do {
            let other = try makeMembership(directory, name: "other")
            #expect(try other.members().map(\.processName) == ["one", "other"])
        }
        #expect(try one.members().map(\.processName) == ["one"])
        let record = try one.withClaim { (claim) throws(SystemCallError) in
            try claim.descriptor.read(
                count: LockFileLayout.recordByteCount,
                at: LockFileLayout.offset(ofSlot: 1)
            )
        }
        #expect(record.allSatisfy { $0 == 0 })
    }

    @Test("An activity is seen by others with the time of its beginning")
    func activity() throws {
        let directory = try TemporaryDirectory()
        let one = try makeMembership(directory, name: "one")
        let other = try makeMembership(directory, name: "other")
        #expect(try other.members().first?.activity == .opening)
        for activity in ProcessActivity.allCases {
            let before = SystemClock().now()
            try one.setActivity(activity)
            let seen = try #require(try other.members().first)
            #expect(seen.activity == activity)
            #expect(seen.since >= before && seen.since <= SystemClock().now())
            #expect(seen.processName == "one")
        }
    }

    // B34
    @Test("A lock file that was removed or replaced is noticed by everything that locks")
    func replacedLockFile() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("account.locks")
        let membership = try makeMembership(directory)
        let turnstile = try Turnstile(membership)
        try FileSystem.remove(path)
        let replaced = LockingError.lockFileReplaced(path: path)
        #expect(throws: replaced) { _ = try membership.checkPath() }
        #expect(throws: replaced) { _ = try membership.tryAcquire(.writer, .exclusive) }
        #expect(throws: replaced) { _ = try turnstile.enter() }
        #expect(throws: replaced) { _ = try Turnstile(membership) }
        // What was refused holds nothing.
        #expect(try !membership.isHeld(.writer, against: .exclusive))
        #expect(try !membership.isHeld(.queue, against: .exclusive))
    }

    @Test("A lock file that is cut or overwritten while it is open does no harm")
    func damagedLockFile() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("account.locks")
        let one = try makeMembership(directory, name: "one")
        let held = try one.take(.writer, .exclusive)
        let file = try FileDescriptor(opening: path, .readWrite)

        try file.truncate(to: 0)
        #expect(try one.members().isEmpty)
        #expect(try one.holders(of: .writer).isEmpty)
        #expect(try one.notices().distrust(of: .messages) == nil)
        #expect(try !one.isAskedToLeave())
        try one.setActivity(.reading)

        let rubbish = [UInt8](repeating: 0xA5, count: 70_000)
        try rubbish.withUnsafeBytes { try file.write($0, at: 0) }
        #expect(try one.members().isEmpty)
        let other = try makeMembership(directory, name: "other")
        #expect(try other.slot() == 1)
        #expect(try other.notices().distrust(of: .messages) == nil, "a rubbish header is made anew")
        #expect(try !other.canTake(.writer, .exclusive))
        held.release()
        let admission = try Turnstile(other).enter()
        #expect(admission.number == 1)
    }

    @Test("A lock file of another version is refused and stays as it is")
    func otherVersion() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("account.locks")
        var header = LockFileLayout.emptyHeader
        header[7] = 2
        try FileSystem.replaceFile(at: path, with: header)
        #expect(throws: LockingError.lockFileVersion(path: path, version: 2)) {
            _ = try makeMembership(directory)
        }
        #expect(try FileSystem.contents(of: path) == header)
    }

    @Test("A distrust word is seen by others, for its file and boot alone")
    func distrust() throws {
        let directory = try TemporaryDirectory()
        let one = try makeMembership(directory)
        let other = try makeMembership(directory)
        #expect(try other.notices().distrust(of: .messages) == nil)
        let boot = try BootID.current()
        let word = Distrust(bootID: boot, fileNumber: 3)
        try one.setDistrust(word, of: .messages)
        #expect(try other.notices().distrust(of: .messages) == word)
        #expect(try other.notices().distrust(of: .settings) == nil)
        #expect(word.covers(fileNumber: 3, bootID: boot))
        #expect(!word.covers(fileNumber: 4, bootID: boot))
        #expect(!word.covers(fileNumber: 3, bootID: BootID(high: 1, low: 1)))
        #expect(try one.admissionCount() == 0, "the words do not overlap")
        #expect(try !one.isAskedToLeave())
    }
}

extension LockFileMembership {
    /// The slot that is taken.
    func slot() throws -> Int {
        try withClaim { (claim) throws(SystemCallError) in claim.slot }
    }
}

import Glibc
import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperTestSupport
import Testing

/// Coming in, and being asked to leave (I-11).
@Suite
struct PresenceTests {
    private func soon() -> Deadline {
        Deadline(after: .milliseconds(20), from: SystemClock().now())
    }

    @Test("Many are in at once, and ENTRY is free behind them")
    func manyAreIn() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            let one = try Presence.enter(membership, until: patience())
            let other = try Presence.enter(membership, until: patience())
            #expect(one.lock == .presence && one.mode == .shared)
            #expect(try !membership.isHeld(.entry, against: .exclusive))
            #expect(try membership.isHeld(.presence, against: .exclusive))
            one.release()
            #expect(try membership.isHeld(.presence, against: .exclusive))
            other.release()
            #expect(try !membership.isHeld(.presence, against: .exclusive))
        }
    }

    @Test("While ENTRY is held exclusively nobody comes in, and who is in is asked to leave")
    func exclusiveWork() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            let inside = try Presence.enter(membership, until: patience())
            let entry = try membership.acquire(.entry, .exclusive, until: patience())
            #expect(try !membership.isAskedToLeave())
            try membership.askToLeave(holding: entry)
            #expect(try membership.isAskedToLeave())
            let error = #expect(throws: LockingError.self) {
                _ = try Presence.enter(membership, until: soon())
            }
            guard case .busy(.entry, _, _) = error else {
                Issue.record("unexpected \(String(describing: error))")
                return
            }
            #expect(
                try !membership.canTake(.presence, .exclusive),
                "the worker sees that somebody is still in"
            )
            inside.release()
            #expect(try membership.canTake(.presence, .exclusive))
            entry.release()
        }
    }

    @Test("A leave word that a dead worker left behind counts for nothing and is cleared")
    func leftBehindWord() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            do {
                let entry = try membership.acquire(.entry, .exclusive, until: patience())
                try membership.askToLeave(holding: entry)
            }
            #expect(try !membership.isAskedToLeave())
            _ = try Presence.enter(membership, until: patience())
            // The next worker that has not asked yet asks nobody.
            let entry = try membership.acquire(.entry, .exclusive, until: patience())
            #expect(try !membership.isAskedToLeave())
            entry.release()
        }
    }

    @Test("Asking to leave without ENTRY is a programmer's error")
    func askingWithoutEntry() async {
        await #expect(processExitsWith: .failure) {
            let membership = try makeMembership(try TemporaryDirectory())
            let shared = try membership.acquire(.entry, .shared, until: patience())
            try membership.askToLeave(holding: shared)
        }
    }
}

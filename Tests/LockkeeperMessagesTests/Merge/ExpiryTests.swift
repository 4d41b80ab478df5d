import Lockkeeper
import LockkeeperDomain
import LockkeeperTesting
import Testing

@testable import LockkeeperMessages

// hidden at their time by every read, removed with what derives from them, not removed in a mass
// by a clock that jumps.
@Suite("Disappearing messages (R-63)")
struct ExpiryTests {
    private static let start: Int64 = 1_800_000_000_000
    private static let hour: Int64 = 3_600_000
    private static let secret = "the-disappearing-text"

    private static func expiring(_ id: MessageID, seq: Int64, after hours: Int64) -> Event {
        message(id, seq: seq, secret) {
            $0.expiresAt = instant(start + hours * hour)
            $0.mentionsMe = true
        }
    }

    @Test(
        "every read hides a message at its time, before anything was removed, and shows it before"
    )
    func hidden() async throws {
        try await withAccount { account in
            let store = account.messages
            account.test.wallClock.set(milliseconds: Self.start)
            try await store.ingest([
                read(upTo: 0), message("m1", seq: 1, "stays"),
                Self.expiring("m2", seq: 2, after: 1), reaction("m2"),
            ])
            #expect(try await store.shown() == ["m1:stays", "m2:\(Self.secret)"])
            #expect(try await store.unread() == 2)
            account.test.wallClock.set(milliseconds: Self.start + Self.hour)
            #expect(try await store.shown() == ["m1:stays"])
            let stored = try #require(try await store.message("m2", in: "c"))
            #expect(stored.isGone && stored.body == nil)
            #expect(try await store.reactions(to: "m2", in: "c").isEmpty)
            let conversation = try #require(try await store.conversation("c"))
            #expect(conversation.unread == 1 && conversation.unreadMentions == 0)
            #expect(conversation.last?.id == "m1")
            #expect(try await store.conversations().first?.last?.id == "m1")
            #expect(try await store.unreadTotal().unread == 1)
            #expect(try await store.unreadTotal().mentions == 0)
            // A clock that was wrong has hidden it only.
            account.test.wallClock.set(milliseconds: Self.start)
            #expect(try await store.shown() == ["m1:stays", "m2:\(Self.secret)"])
            #expect(try await store.unread() == 2)
        }
    }

    @Test("what has expired is removed once the clock went on evenly, and never comes back")
    func removed() async throws {
        try await withAccount(limits: Self.limits) { account in
            let (store, clocks) = (account.messages, Clocks(account.test, at: Self.start))
            let events = [read(upTo: 0), Self.expiring("m1", seq: 1, after: 1), reaction("m1")]
            try await store.ingest(events)
            #expect(try await left(store) == 1)
            clocks.pass(.seconds(3_600))
            #expect(try await left(store) == 1)
            clocks.pass(.seconds(1_000))
            #expect(try await left(store) == 1)
            clocks.pass(.seconds(1_001))
            #expect(try await left(store) == 0)
            #expect(try await store.unread() == 0)
            #expect(try await store.message("m1", in: "c")?.sequence == 1)
            let late = try await store.ingest(events)
            #expect(late.outcomes.inserted == 0 && late.outcomes.updated == 0)
            #expect(try await left(store) == 0)
        }
    }

    @Test("a clock that jumps a year ahead and is set right again has removed nothing")
    func jump() async throws {
        try await withAccount(limits: Self.limits) { account in
            let (store, clocks) = (account.messages, Clocks(account.test, at: Self.start))
            try await store.ingest(
                try (1...150).map { number in
                    Self.expiring(try MessageID("m\(number)"), seq: number, after: number)
                }
            )
            clocks.jump(by: 365 * 24 * Self.hour)
            for _ in 0..<5 {
                #expect(try await left(store) == 150)
                clocks.pass(.seconds(300))
            }
            #expect(try await store.shown() == [])
            clocks.jump(by: -365 * 24 * Self.hour)
            #expect(try await store.shown().count == 150)
            clocks.pass(.seconds(3_600))
            #expect(try await left(store) == 150)
            clocks.pass(.seconds(2_001))
            #expect(try await left(store) == 149)
            // A clock that stays ahead is believed in the end; then they go a few at a time.
            clocks.jump(by: 365 * 24 * Self.hour)
            #expect(try await left(store) == 149)
            clocks.pass(.seconds(2_001))
            #expect(try await store.removeExpired() <= 100)
            _ = try await left(store)
            #expect(try await left(store) == 0)
        }
    }

    /// The monotonic clock of a test runs on while the wall clock stands: a slow machine is no jump.
    private static let limits: Limits = {
        var limits = Limits()
        limits.expiryJumpMax = .seconds(900)
        limits.expirySteadyAfter = .seconds(2_000)
        return limits
    }()

    /// How many texts are stored after a pass. Idle sessions make passes as well, so that what one
    /// pass of the test's removes is not counted.
    private func left(_ store: MessageStore) async throws -> Int {
        try await store.removeExpired()
        return try await store.session.database.read { transaction in
            try transaction.query(
                "SELECT count(*) FROM lk_message WHERE body = ?1",
                SQLValue(Self.secret)
            ) { Int($0.integer(0)) }.first ?? 0
        }
    }

    @Test(
        "its notification is withdrawn at its time, and there is nothing to show before and after"
    )
    func notification() async throws {
        try await withAccount { account in
            let store = account.messages
            account.test.wallClock.set(milliseconds: Self.start)
            try await store.ingest([
                read(upTo: 0), Self.expiring("m1", seq: 1, after: 1),
                Self.expiring("m2", seq: 2, after: 2),
            ])
            for _ in 0..<2 {
                guard let claim = try await store.claimNextEffect() else { throw NothingToClaim() }
                #expect(claim.effect.kind == .notify)
                try await claim.confirm()
            }
            // Whoever follows is woken in time.
            #expect(try await store.effectWait() == .seconds(60))
            account.test.wallClock.set(milliseconds: Self.start + Self.hour - 1_000)
            #expect(try await store.effectWait() == .seconds(1))
            account.test.wallClock.set(milliseconds: Self.start + Self.hour)
            #expect(try await store.effectWait() == .zero)
            guard let claim = try await store.claimNextEffect() else { throw NothingToClaim() }
            #expect(claim.effect.kind == .withdraw && claim.effect.message == "m1")
            try await claim.confirm()
            #expect(try await store.effects().isEmpty)
            #expect(try await store.effectWait() == .seconds(60))
        }
    }

    private struct NothingToClaim: Error {}

    @Test("no export holds it from its time on, nor says that it is gone, and nobody changes it")
    func afterwards() async throws {
        try await withAccount { account in
            let store = account.messages
            account.test.wallClock.set(milliseconds: Self.start)
            try await store.ingest([
                message("m1", seq: 1, "stays"), Self.expiring("m2", seq: 2, after: 1),
                reaction("m2"), read(upTo: "m2", by: "bob"),
            ])
            let before = try await store.exported()
            #expect(before.contains { $0.contains(Self.secret) })
            account.test.wallClock.set(milliseconds: Self.start + Self.hour)
            let after = try await store.exported()
            #expect(after.filter { $0.contains("m2") } == [])
            let copy = try await account.another("copy")
            try await copy.importing(after)
            #expect(try await copy.exported() == after)
            await #expect(throws: LockkeeperError.self) {
                try await store.edit("m2", in: "c", body: "new")
            }
            await #expect(throws: LockkeeperError.self) {
                try await store.react("👍", to: "m2", in: "c")
            }
            // Others may see it still: a recall reaches them.
            #expect(try await store.recall("m2", in: "c").item != nil)
            // A clock that was ahead has taken nothing.
            account.test.wallClock.set(milliseconds: Self.start)
            #expect(try await store.exported() == before)
        }
    }

    @Test("another boot, a step either way and an even run: only the even run is believed")
    func clockAlone() {
        func look(_ boot: UInt8, _ monotonic: Int64, _ wall: Int64) -> ExpiryClock.Reading {
            ExpiryClock.Reading(boot: [boot], monotonic: monotonic, wall: wall)
        }
        var clock = ExpiryClock(look(1, 0, 1_000_000))
        func observe(_ reading: ExpiryClock.Reading) -> Int64? {
            clock.observe(reading, jumpMax: .seconds(2), steadyAfter: .seconds(10))
        }
        #expect(observe(look(1, 9_999, 1_009_999)) == nil)
        #expect(observe(look(1, 10_000, 1_010_000)) == 1_010_000)
        // It may run a little fast.
        #expect(observe(look(1, 20_000, 1_021_900)) == 1_021_900)
        #expect(observe(look(1, 21_000, 1_900_000)) == nil)
        #expect(observe(look(1, 30_999, 1_909_999)) == nil)
        #expect(observe(look(1, 31_000, 1_910_000)) == 1_910_000)
        #expect(observe(look(1, 32_000, 1_000_000)) == nil)
        #expect(observe(look(2, 90_000, 1_058_000)) == nil)
        #expect(observe(look(2, 100_000, 1_068_000)) == 1_068_000)
    }

    /// Both clocks of a test, as a machine moves them.
    private final class Clocks {
        private let test: TestWorkspace
        private var wall: Int64

        init(_ test: TestWorkspace, at wall: Int64) {
            (self.test, self.wall) = (test, wall)
            test.wallClock.set(milliseconds: wall)
        }

        func pass(_ time: Duration) {
            test.clock.advance(by: time)
            jump(by: time.components.seconds * 1000)
        }

        func jump(by milliseconds: Int64) {
            wall += milliseconds
            test.wallClock.set(milliseconds: wall)
        }
    }
}

import Glibc
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperTestSupport
import Testing

@testable import LockkeeperLocking

/// Claims of outbox items and effects (I-12, B54).
@Suite
struct ClaimTests {
    @Test("A claim excludes every other one of the same number and kind, and no other")
    func exclusion() throws {
        let directory = try TemporaryDirectory()
        let one = try makeMembership(directory, name: "one")
        let other = try makeMembership(directory, name: "other")
        let claim = try take(7, .outbox, of: one)
        #expect(try other.isClaimed(.outbox, 7) && one.isClaimed(.outbox, 7))
        for membership in [one, other] {
            #expect(try !canClaim(.outbox, 7, at: membership))
            #expect(try canClaim(.effect, 7, at: membership))
            #expect(try canClaim(.outbox, 8, at: membership))
        }
        #expect(try other.claimers(of: .outbox, 7).map(\.identity.pid) == [getpid()])
        #expect(try other.claimers(of: .outbox, 8).isEmpty)
        let (kind, number) = (claim.kind, claim.number)
        #expect(kind == .outbox && number == 7)
        release(claim)
        #expect(try !other.isClaimed(.outbox, 7))
        #expect(try canClaim(.outbox, 7, at: other))
    }

    @Test("Claims stand in no lock's way, whatever their number")
    func bytes() {
        let locks = LockByte.allCases.map { LockFileLayout.byte(of: $0) }
        let slots = (0..<LockFileLayout.recordCount).map { LockFileLayout.byte(ofSlot: $0) }
        let numbers: [Int64] = [0, 1, 1 << 30, (1 << 30) + 16, (1 << 40) - 1]
        let claims = ClaimKind.allCases.flatMap { kind in
            numbers.map { LockFileLayout.byte(of: kind, $0) }
        }
        #expect(Set(locks + slots + claims).count == locks.count + slots.count + claims.count)
    }

    @Test("A membership does not leave while a claim has its file open")
    func detaching() throws {
        let directory = try TemporaryDirectory()
        let membership = try makeMembership(directory)
        let claim = try take(1, .effect, of: membership)
        #expect(throws: LockingError.self) { try membership.detach() }
        release(claim)
        try membership.detach()
        #expect(throws: LockingError.suspended) {
            _ = try canClaim(.effect, 1, at: membership)
        }
    }

    private struct Refused: Error {}

    private func take(
        _ number: Int64,
        _ kind: ClaimKind,
        of membership: LockFileMembership
    ) throws -> ClaimGuard {
        guard let claim = try membership.tryClaim(kind, number) else { throw Refused() }
        return claim
    }

    private func canClaim(
        _ kind: ClaimKind,
        _ number: Int64,
        at membership: LockFileMembership
    ) throws -> Bool {
        guard let claim = try membership.tryClaim(kind, number) else { return false }
        release(claim)
        return true
    }

    private func release(_ claim: consuming ClaimGuard) {}
}

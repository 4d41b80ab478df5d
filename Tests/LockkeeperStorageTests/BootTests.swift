import LockkeeperDomain
import LockkeeperSQLite
import LockkeeperStorage
import Testing

@Suite("No commit number ever means two commits, whatever the power took (I-8)")
struct BootTests {
    private static let jump: Int64 = 1 << 32
    private let store: TestStore

    init() throws { store = try TestStore() }

    @Test("the first write of each boot jumps by 2^32, and the range covers the jump")
    func twoBoots() throws {
        try TestStore.insert(with: try store.writer(boot: 1))
        for boot in 2...3 as ClosedRange<UInt64> {
            let before = try store.reader().head().position.commit
            let writer = try store.writer(boot: boot)
            let change = try #require(try TestStore.insert(with: writer).change)
            let jumped = CommitNumber(before.rawValue + Self.jump)
            #expect(change.predecessor == before)
            #expect(change.commits == jumped...jumped.next)
            let second = try #require(try TestStore.insert(with: writer).change)
            #expect(second.predecessor == jumped.next)
            #expect(second.commits == jumped.next.next...jumped.next.next)
        }
        #expect(try store.count("lk_commit WHERE boot IS NOT NULL") == 3)
        try store.expectSound()
    }

    @Test("an empty log jumps as well: its first commit may be what the power took")
    func emptyLog() throws {
        let outcome = try TestStore.insert(with: try store.writer(boot: 2))
        #expect(outcome.head == CommitNumber(Self.jump + 1))
    }

    @Test("a transaction that changes nothing still announces the jump that came before it")
    func jumpAlone() throws {
        let outcome = try store.writer(boot: 2).transaction(
            token: TestStore.token,
            deadline: .never,
            isCancelled: { false },
            body: { _, _ in }
        )
        let jumped = CommitNumber(Self.jump)
        #expect(outcome.head == jumped)
        #expect(outcome.change?.commits == jumped...jumped)
        #expect(outcome.change?.tables == [])
    }

    @Test("only one process of a boot jumps, and a superseded one does not")
    func once() throws {
        let late = try store.writer(boot: 2)
        let stale = FencingToken(account: TestStore.alice, generation: Generation(0))
        #expect(throws: StorageError.self) {
            try late.transaction(token: stale, deadline: .never, isCancelled: { false }) { _, _ in }
        }
        #expect(try store.count("lk_commit") == 0)
        try TestStore.insert(with: try store.writer(boot: 2))
        let outcome = try TestStore.insert(with: late)
        #expect(outcome.head == CommitNumber(Self.jump + 2))
        #expect(outcome.change?.predecessor == CommitNumber(Self.jump + 1))
    }

    @Test("after the jump commits are synced outside of the lock again")
    func synchronousIsRestored() throws {
        let writer = try store.writer(boot: 2)
        try TestStore.insert(with: writer)
        let normal: Int64 = 1
        #expect(try writer.connection.value("PRAGMA synchronous")?.integer == normal)
    }
}

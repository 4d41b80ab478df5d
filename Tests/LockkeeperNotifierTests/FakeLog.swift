import LockkeeperDomain
import LockkeeperNotifier
import LockkeeperPlatform
import LockkeeperTestSupport
import Synchronization

/// Commit logs of accounts in memory: what the floor above reads from databases.
final class FakeLog: HubSource {
    private let accounts = Mutex<[AccountID: Account]>([:])
    private let gate = Mutex<(@Sendable (AccountID) -> Void)?>(nil)
    private let readCountMax: Int
    private let directory: TemporaryDirectory?

    /// The file that stands for the logs of all accounts, where there is one.
    var logPath: String? { directory?.file("log") }

    struct Account: Sendable {
        var head: StoreHead
        var commits: [ChangeRange] = []
        var readCount = 0
        var isBroken = false
    }

    struct Broken: Error {}

    /// - Parameters:
    ///   - readCountMax: How many ranges one reading gives.
    ///   - directory: Where a file is kept that ``moveFile()`` writes to.
    init(
        _ ids: AccountID...,
        readCountMax: Int = 256,
        logIn directory: TemporaryDirectory? = nil
    ) {
        self.readCountMax = readCountMax
        self.directory = directory
        for id in ids {
            accounts.withLock { accounts in
                accounts[id] = Account(head: .fixture(store: UInt8(accounts.count + 1)))
            }
        }
    }

    func read(_ stream: StreamName, after position: Position?) throws -> LogReading? {
        let account = stream.account
        gate.withLock { $0 }?(account)
        return try accounts.withLock { accounts in
            guard let found = accounts[account] else { return nil }
            accounts[account]?.readCount += 1
            if found.isBroken { throw Broken() }
            guard let position else { return reading(found.head, []) }
            let isKnown =
                position.commit == found.head.oldest
                || found.commits.contains { $0.last == position.commit }
            guard position.store == found.head.store, isKnown else {
                return reading(found.head, nil)
            }
            let after = found.commits.filter { $0.last > position.commit }
            return reading(found.head, Array(after.prefix(readCountMax)))
        }
    }

    private func reading(_ head: StoreHead, _ ranges: [ChangeRange]?) -> LogReading {
        LogReading(head: head, ranges: ranges, logPath: logPath)
    }

    /// Writes to the file, which is made where it is missing.
    func moveFile() throws {
        guard let logPath else { preconditionFailure("the log was made without a file") }
        let file = try FileDescriptor(opening: logPath, [.readWrite, .create])
        try file.write([1])
    }

    /// Called on the hub's reading thread before each reading.
    func setGate(_ body: (@Sendable (AccountID) -> Void)?) { gate.withLock { $0 = body } }

    func account(_ id: AccountID) -> Account {
        accounts.withLock { accounts in
            guard let account = accounts[id] else { preconditionFailure("no account \(id)") }
            return account
        }
    }

    func change(_ id: AccountID, _ body: (inout Account) -> Void) {
        accounts.withLock { accounts in
            guard var account = accounts[id] else { preconditionFailure("no account \(id)") }
            body(&account)
            accounts[id] = account
        }
    }

    /// Commits, `jump` numbers further.
    @discardableResult
    func commit(_ id: AccountID, origin: String = "writer", jump: Int64 = 1) -> ChangeRange {
        accounts.withLock { accounts in
            guard let head = accounts[id]?.head else { preconditionFailure("no account \(id)") }
            let number = head.head.rawValue + jump
            let range = ChangeRange.fixture(
                account: id,
                head: head,
                commits: number...number,
                origin: origin
            )
            accounts[id]?.commits.append(range)
            accounts[id]?.head.head = range.last
            return range
        }
    }

    func changeGeneration(_ id: AccountID, _ state: AccountState) -> GenerationChange {
        change(id) { account in
            account.head.generation = account.head.generation.next
            account.head.state = state
        }
        let head = account(id).head
        return GenerationChange(generation: head.generation, state: state)
    }

    /// Removes the log up to and with its `count` oldest rows; the head's row always stays.
    func prune(_ id: AccountID, count: Int) {
        change(id) { account in
            let removed = min(count, account.commits.count - 1)
            guard removed > 0 else { return }
            account.head.oldest = account.commits[removed - 1].last
            account.commits.removeFirst(removed)
        }
    }
}

extension StoreHead {
    static func fixture(store: UInt8 = 1, generation: Int64 = 7) -> StoreHead {
        guard let identity = StoreIdentity(bytes: [UInt8](repeating: store, count: 16)) else {
            preconditionFailure("16 bytes are an identity")
        }
        return StoreHead(
            store: identity,
            generation: Generation(generation),
            state: .active,
            head: CommitNumber(0),
            oldest: CommitNumber(0)
        )
    }
}

extension ChangeRange {
    /// Commits that follow a head; the topic of each is its number.
    static func fixture(
        account: AccountID = "alice",
        head: StoreHead,
        commits: ClosedRange<Int64>,
        origin: String = "writer"
    ) -> ChangeRange {
        ChangeRange(
            account: account,
            store: head.store,
            generation: head.generation,
            predecessor: head.head,
            commits: CommitNumber(commits.lowerBound)...CommitNumber(commits.upperBound),
            tables: [TableChange(name: "lk_message", rows: RowRanges([commits]))],
            topics: commits.map { Array("c\($0)".utf8) },
            origins: [origin],
            isDurable: true
        )
    }
}

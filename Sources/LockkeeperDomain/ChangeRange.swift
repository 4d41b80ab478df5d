/// What one table went through in a range of commits.
public struct TableChange: Sendable, Hashable {
    /// The table's name.
    public let name: String
    /// The rows that may have changed; `nil` means any row of the table.
    public var rows: RowRanges?

    /// Joins a table and its rows.
    public init(name: String, rows: RowRanges?) {
        self.name = name
        self.rows = rows
    }

    /// Whether the table has a name, by its bytes: `String` equality would take two tables for one.
    func hasName(_ name: String) -> Bool { self.name.utf8.elementsEqual(name.utf8) }
}

/// What happened in consecutive commits of one store: the hint that travels between processes.
///
/// A range covers at least what happened. It carries no content: the truth is in the database, and
/// a range that is lost costs delay, never data (I-7).
public struct ChangeRange: Sendable, Hashable {
    /// The account whose store changed.
    public let account: AccountID
    /// Which of the account's files changed.
    public let kind: StoreKind
    /// The store.
    public let store: StoreIdentity
    /// The generation under which the commits happened.
    public let generation: Generation
    /// The commit before ``first``. Numbers jump, so that it cannot be computed.
    public let predecessor: CommitNumber
    /// The first commit covered.
    public let first: CommitNumber
    /// The last commit covered.
    public private(set) var last: CommitNumber
    /// The changed tables in the order of their names.
    public private(set) var tables: [TableChange]
    /// The topics that the writers named (conversations, for messages), sorted; `nil` means any.
    public private(set) var topics: [[UInt8]]?
    /// The names of the processes that wrote, sorted.
    public private(set) var origins: [String]
    /// Whether every commit covered is known to survive a power loss. False says that nobody on the
    /// way of this range knew it, not that it is so.
    public private(set) var isDurable: Bool
    /// Whether several ranges were joined into this one.
    public private(set) var isMerged: Bool

    /// More topics than this become "any".
    public static let topicCountMax = 64
    /// More origins than this are cut to the first ones.
    public static let originCountMax = 16

    /// A range of commits.
    public init(
        account: AccountID,
        kind: StoreKind = .messages,
        store: StoreIdentity,
        generation: Generation,
        predecessor: CommitNumber,
        commits: ClosedRange<CommitNumber>,
        tables: [TableChange],
        topics: [[UInt8]]?,
        origins: [String],
        isDurable: Bool,
        isMerged: Bool = false
    ) {
        precondition(predecessor < commits.lowerBound, "a predecessor lies before its range")
        self.account = account
        self.kind = kind
        self.store = store
        self.generation = generation
        self.predecessor = predecessor
        self.first = commits.lowerBound
        self.last = commits.upperBound
        self.tables = tables
        Self.sort(&self.tables)
        self.topics = Self.bounded(topics: topics)
        self.origins = Self.bounded(origins: origins)
        self.isDurable = isDurable
        self.isMerged = isMerged
    }

    /// The position of whoever has read up to the end of this range.
    public var position: Position { Position(store: store, commit: last) }

    /// Whether `next` continues this range, so that the two can become one.
    public func isFollowed(by next: ChangeRange) -> Bool {
        account == next.account && store == next.store && generation == next.generation
            && last == next.predecessor
    }

    /// Joins the range that follows. What results covers both and says that it is merged.
    public mutating func merge(_ next: ChangeRange) {
        precondition(isFollowed(by: next), "only consecutive ranges of one store can be merged")
        last = next.last
        for change in next.tables {
            if let index = tables.firstIndex(where: { $0.hasName(change.name) }) {
                if let rows = change.rows {
                    tables[index].rows?.formUnion(rows)
                } else {
                    tables[index].rows = nil
                }
            } else {
                tables.append(change)
            }
        }
        Self.sort(&tables)
        if let mine = topics, let others = next.topics {
            topics = Self.bounded(topics: mine + others)
        } else {
            topics = nil
        }
        origins = Self.bounded(origins: origins + next.origins)
        isDurable = isDurable && next.isDurable
        isMerged = true
    }

    /// The same range, durable where everything up to a position of its store is.
    package func durable(upTo known: Position?) -> ChangeRange {
        guard let known, known.store == store, last <= known.commit else { return self }
        var range = self
        range.isDurable = true
        return range
    }

    // A range is made for every commit, by the writer, the hub and each feed, mostly of one table, one
    // topic and one origin: those are taken as they are.

    private static func sort(_ tables: inout [TableChange]) {
        guard tables.count > 1 else { return }
        tables.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    private static func bounded(topics: [[UInt8]]?) -> [[UInt8]]? {
        guard let topics, topics.count > 1 else { return topics }
        let unique = Set(topics)
        guard unique.count <= topicCountMax else { return nil }
        return unique.sorted { $0.lexicographicallyPrecedes($1) }
    }

    private static func bounded(origins: [String]) -> [String] {
        guard origins.count > 1 else { return origins }
        let unique = Set(origins).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        return Array(unique.prefix(originCountMax))
    }
}

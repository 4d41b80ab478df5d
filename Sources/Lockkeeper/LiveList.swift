/// What makes one list of another.
///
/// To draw it: take out what was removed and what moves away, by old indices; put in what was
/// inserted and what moves, by new indices in ascending order; then draw anew what has changed.
public struct ListDifference: Sendable, Hashable {
    /// An item that stands elsewhere among those that stay.
    public struct Move: Sendable, Hashable {
        /// Its index in the old list.
        public let from: Int
        /// Its index in the new one.
        public let to: Int
    }

    /// Indices in the old list of items that are not in the new one, ascending.
    public let removed: [Int]
    /// Indices in the new list of items that were not in the old one, ascending.
    public let inserted: [Int]
    /// As few items as explain the new order, by their new indices.
    public let moved: [Move]
    /// Indices in the new list of items that were in the old one with other content, ascending.
    public let changed: [Int]

    /// Whether the lists are the same.
    public var isEmpty: Bool {
        removed.isEmpty && inserted.isEmpty && moved.isEmpty && changed.isEmpty
    }

    /// Compares two lists. No id comes twice in one list.
    public init<Item: Identifiable & Equatable>(from old: [Item], to new: [Item]) {
        let places = Dictionary(
            uniqueKeysWithValues: old.enumerated().map { ($0.element.id, $0.offset) }
        )
        var inserted: [Int] = []
        var changed: [Int] = []
        var kept: [Move] = []
        for (index, item) in new.enumerated() {
            guard let place = places[item.id] else {
                inserted.append(index)
                continue
            }
            kept.append(Move(from: place, to: index))
            if old[place] != item { changed.append(index) }
        }
        let stays = Set(kept.map(\.from))
        self.inserted = inserted
        self.changed = changed
        removed = old.indices.filter { !stays.contains($0) }
        let still = Self.longestRise(kept.map(\.from))
        moved = kept.filter { !still.contains($0.from) }
    }

    /// The members of a longest rising subsequence of different numbers: the items that need not move.
    private static func longestRise(_ numbers: [Int]) -> Set<Int> {
        // The indices at which the best rise of each length ends, the smallest end first.
        var ends: [Int] = []
        var before = [Int?](repeating: nil, count: numbers.count)
        for (index, number) in numbers.enumerated() {
            var (low, high) = (0, ends.count)
            while low < high {
                let middle = (low + high) / 2
                if numbers[ends[middle]] < number { low = middle + 1 } else { high = middle }
            }
            before[index] = low > 0 ? ends[low - 1] : nil
            if low == ends.count { ends.append(index) } else { ends[low] = index }
        }
        var members: Set<Int> = []
        var next = ends.last
        while let index = next {
            members.insert(numbers[index])
            next = before[index]
        }
        return members
    }
}

/// One state of a live list.
public struct ListUpdate<Item: Sendable>: Sendable {
    /// The list as it is.
    public let items: [Item]
    /// What makes it of the last one; for the first, of an empty list.
    public let difference: ListDifference
}

/// A window on a list that stays live (``LiveQuery``) and says what changed in it. Commits that leave
/// the window as it is give no update.
public struct LiveList<Item: Sendable & Identifiable & Equatable>: AsyncSequence, Sendable {
    /// The states.
    public typealias Element = ListUpdate<Item>

    private let query: LiveQuery<[Item]>

    /// Makes a list of a query that gives one. No id comes twice in it.
    public init(_ query: LiveQuery<[Item]>) { self.query = query.withoutRepeats() }

    /// Starts the query.
    public func makeAsyncIterator() -> Iterator { Iterator(query.makeAsyncIterator()) }

    /// Starts the query with its first state already there; see ``LiveQuery/startBlocking()``.
    public func startBlocking() throws -> (first: ListUpdate<Item>, rest: Iterator) {
        let (items, lists) = try query.startBlocking()
        let iterator = Iterator(lists)
        return (iterator.update(to: items), iterator)
    }

    /// The consumer's side of one live list.
    public final class Iterator: AsyncIteratorProtocol {
        private let lists: LiveQuery<[Item]>.Iterator
        private var last: [Item] = []

        init(_ lists: LiveQuery<[Item]>.Iterator) { self.lists = lists }

        /// The next state; `nil` once the task was cancelled or the session closed.
        public func next() async throws -> ListUpdate<Item>? {
            try await lists.next().map(update)
        }

        fileprivate func update(to items: [Item]) -> ListUpdate<Item> {
            let difference = ListDifference(from: last, to: items)
            last = items
            return ListUpdate(items: items, difference: difference)
        }
    }
}

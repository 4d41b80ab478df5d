import LockkeeperDomain

/// The topics that a transaction names for those who listen: conversations, for messages.
///
/// Naming none means "any", since a listener that was told too much loses time and one that was
/// told too little loses data (I-7).
package struct TopicSet: Sendable {
    /// The topics, sorted; `nil` means any.
    package var topics: [[UInt8]]? {
        if isAny || named.isEmpty { return nil }
        return named.sorted { $0.lexicographicallyPrecedes($1) }
    }

    private var named: [[UInt8]] = []
    private var isAny = false

    /// A set that names nothing yet.
    package init() {}

    /// Names a topic. Past ``ChangeRange/topicCountMax`` the set becomes "any".
    package mutating func insert(_ topic: [UInt8]) {
        // Batches mostly name the same topic several times in a row.
        if isAny || named.last == topic || named.contains(topic) { return }
        if named.count >= ChangeRange.topicCountMax { return insertAny() }
        named.append(topic)
    }

    /// Says that any topic may be concerned.
    package mutating func insertAny() {
        isAny = true
        named = []
    }
}

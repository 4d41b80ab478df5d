import CLockkeeperPlatform

/// Tells a process from the forked child of it: the child's mark is another one.
///
/// What was opened before a fork must not be used after it in the child: SQLite connections and
/// lock descriptors belong to the process that opened them (B22). Who opens such a thing keeps the
/// mark of that moment and compares. A program started by exec begins again at the first mark.
package struct ForkMark: Sendable, Hashable {
    private let count: UInt32

    /// The mark of the calling process.
    package static var current: ForkMark { ForkMark(count: lk_fork_count()) }

    /// Whether the calling process is the one that took the mark.
    package var isCurrent: Bool { count == lk_fork_count() }
}

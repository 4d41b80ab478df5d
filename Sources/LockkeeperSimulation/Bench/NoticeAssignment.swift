import LockkeeperDomain

/// What one process of a benchmark of notices does.
package struct NoticeAssignment: Sendable, Hashable {
    /// What it goes through; the baseline has no subscribers.
    package var store: BenchAssignment.Store
    /// Its part.
    package var role: Role
    /// How many rows are written and read, or how many feeds a subscriber has.
    package var count: Int
    /// How long a subscriber listens.
    package var time: Duration

    /// The parts.
    package enum Role: String, Sendable, CaseIterable {
        /// Passes notices on, until it is killed.
        case hub
        /// Writes rows, and says when each was committed.
        case writer
        /// Reads each row as soon as it hears of it, and says when.
        case reader
        /// Has feeds, and says what they were told once they were told everything.
        case subscriber
    }

    /// An assignment of its parts.
    package init(
        store: BenchAssignment.Store = .lockkeeper,
        role: Role,
        count: Int,
        time: Duration = .zero
    ) {
        self.store = store
        self.role = role
        self.count = count
        self.time = time
    }

    /// The process that does it.
    var part: BenchProcesses.Part {
        BenchProcesses.Part(
            name: "\(store.rawValue)'s \(role.rawValue)",
            arguments: [
                "bench-notice-worker", "--store", store.rawValue, "--role", role.rawValue,
                "--count", "\(count)", "--time-us", "\(time.wholeNanoseconds / 1000)",
            ],
            counts: role != .hub
        )
    }
}

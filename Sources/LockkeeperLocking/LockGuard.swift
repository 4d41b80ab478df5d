package import LockkeeperPlatform

/// A lock that is held as long as this value lives.
///
/// It has an open file description of its own, so that two guards of one process exclude each
/// other as those of two processes do. A process that dies lets go at once (I-12).
package struct LockGuard: ~Copyable, Sendable {
    /// What is held.
    package let lock: LockByte
    /// How it is held.
    package let mode: LockMode
    private let description: OpenDescription

    init(holding lock: LockByte, _ mode: LockMode, by description: consuming OpenDescription) {
        self.lock = lock
        self.mode = mode
        self.description = description
    }

    /// Unlocks before the descriptor is closed: a child between fork and exec has the description
    /// too, and while it has it, closing alone releases nothing.
    deinit {
        // It fails only in a forked child, where the fork handler has closed the descriptor.
        try? description.descriptor.unlock(LockFileLayout.byte(of: lock))
    }

    /// Runs a closure, during which the lock is held: the guard is borrowed for so long, and cannot
    /// end before.
    package borrowing func whileHeld<Value>(_ body: () throws -> Value) rethrows -> Value {
        try body()
    }

    /// Lets go.
    package consuming func release() {}
}

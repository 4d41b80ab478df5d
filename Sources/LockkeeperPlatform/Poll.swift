import CLockkeeperPlatform
import Glibc
package import LockkeeperDomain

/// Waits until one of several descriptors has something. The list is kept between waits.
package struct Poll: Sendable {
    private var entries: [pollfd] = []

    /// What a descriptor is waited for, and what it then has.
    package struct Interest: OptionSet, Sendable, Hashable {
        /// The bits as the C library has them.
        package let rawValue: Int16
        /// Wraps bits.
        package init(rawValue: Int16) { self.rawValue = rawValue }

        /// There is something to read or accept, or the end.
        package static let readable = Interest(rawValue: Int16(POLLIN))
        /// There is room to write.
        package static let writable = Interest(rawValue: Int16(POLLOUT))
        /// The peer has gone; always reported, never asked for.
        package static let hungUp = Interest(rawValue: Int16(POLLHUP))
        /// The descriptor is broken; always reported, never asked for.
        package static let failed = Interest(rawValue: Int16(POLLERR))
    }

    /// An empty list.
    package init() {}

    /// How many descriptors are in the list.
    package var count: Int { entries.count }

    /// Empties the list and keeps its memory.
    package mutating func removeAll() { entries.removeAll(keepingCapacity: true) }

    /// Adds a descriptor, which the caller keeps open, and returns its place in the list.
    @discardableResult
    package mutating func add(_ raw: Int32, _ interest: Interest) -> Int {
        entries.append(pollfd(fd: raw, events: interest.rawValue, revents: 0))
        return entries.count - 1
    }

    /// Changes what the descriptor at a place is waited for.
    package mutating func set(_ interest: Interest, at index: Int) {
        entries[index].events = interest.rawValue
    }

    /// What the last wait found for the descriptor at a place.
    package func ready(at index: Int) -> Interest { Interest(rawValue: entries[index].revents) }

    /// Waits until a descriptor has something or the deadline comes.
    ///
    /// - Returns: How many descriptors have something; 0 at the deadline.
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package mutating func wait(
        until deadline: Deadline,
        clock: some MonotonicClock = SystemClock()
    ) throws(SystemCallError) -> Int {
        let count = entries.count
        // The time is computed inside the call, so that an interrupted one does not begin anew.
        let ready = try system(.poll) {
            let timeout =
                deadline == .never ? -1 : deadline.remaining(at: clock.now()).wholeNanoseconds
            return entries.withUnsafeMutableBufferPointer {
                lk_ppoll($0.baseAddress, count, timeout)
            }
        }
        let isBroken = entries.contains { $0.revents & Int16(POLLNVAL) != 0 }
        precondition(!isBroken, "poll was given a descriptor that is not open")
        return Int(ready)
    }
}

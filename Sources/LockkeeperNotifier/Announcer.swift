package import LockkeeperDomain
import LockkeeperPlatform
import Synchronization

/// Tells the hub of a writer's commits, over one connection that is made when it is first needed.
///
/// It never waits and never fails: where no hub listens or its socket is full, the hint is dropped.
/// The hub sees the gap at the next announcement, or finds the commit by looking itself (I-7).
///
/// Lock rule: one lock around everything. It is held for one `send` that does not wait; the writer
/// of an account calls after it has released the right to write.
package final class Announcer: Sendable {
    private let path: String
    private let lineByteCountMax: Int
    private let clock: any MonotonicClock
    private let state = Mutex(State())

    private struct State: Sendable {
        var connection: UnixConnection?
        /// The end of a line whose beginning the socket has taken.
        var rest: [UInt8] = []
        var failureCount = 0
        /// No attempt to connect before this.
        var nextAttempt: Deadline?
        /// Announcements that the hub was not given.
        var droppedCount = 0
    }

    /// Between attempts to connect where no hub listens: a commit pays for one in so many.
    private static let retry = Backoff(least: .milliseconds(20), largest: .seconds(1))

    /// An announcer that has not connected yet.
    package init(path: String, limits: Limits, clock: any MonotonicClock) {
        self.path = path
        lineByteCountMax = limits.notifierLineByteCountMax
        self.clock = clock
    }

    /// How many announcements the hub was not given, because it was not there or did not read.
    package var droppedCount: Int { state.withLock { $0.droppedCount } }

    /// Announces commits. One `send` where a hub listens.
    package func announce(_ range: @autoclosure () -> ChangeRange) {
        state.withLock { state in
            // Where nobody listens there is nothing to write, and no range to be made.
            guard connect(&state) != nil else {
                state.droppedCount += 1
                return
            }
            // A range that no line can hold is found by the gap that it leaves.
            guard
                let line = NotifierLine.encode(.announce(range()), byteCountMax: lineByteCountMax)
            else { return }
            if !deliver(line, &state) { state.droppedCount += 1 }
        }
    }

    /// Closes the connection; a later announcement makes another.
    package func close() {
        state.withLock { $0 = State() }
    }

    /// Whether the socket took the line, or its beginning.
    private func deliver(_ line: [UInt8], _ state: inout State) -> Bool {
        // A hub that was replaced by another is noticed by the first send; the second one reaches
        // the new hub.
        for _ in 0..<2 {
            guard let connection = connect(&state) else { return false }
            do throws(SystemCallError) {
                if !state.rest.isEmpty {
                    let count = try send(state.rest, over: connection)
                    state.rest.removeFirst(count)
                    if !state.rest.isEmpty { return false }
                }
                let count = try send(line, over: connection)
                // Half a line would spoil the next one: its end goes first then.
                if count > 0 { state.rest = Array(line[count...]) }
                return count > 0
            } catch {
                state.connection = nil
                state.rest = []
            }
        }
        return false
    }

    private func connect(_ state: inout State) -> UnixConnection? {
        if let connection = state.connection { return connection }
        let now = clock.now()
        if let nextAttempt = state.nextAttempt, !nextAttempt.hasPassed(at: now) { return nil }
        guard let connection = try? connectToOwnHub(path: path) else {
            let wait = Self.retry.ceiling(attempt: state.failureCount)
            state.nextAttempt = Deadline(after: wait, from: now)
            state.failureCount += 1
            return nil
        }
        state.connection = connection
        state.failureCount = 0
        state.nextAttempt = nil
        return connection
    }

    private func send(
        _ bytes: [UInt8],
        over connection: UnixConnection
    ) throws(SystemCallError) -> Int {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(SystemCallError) in try connection.send(bytes) }
        }
        return try result.get()
    }
}

/// Connects to a hub without waiting, and makes sure that it is the same user's.
func connectToOwnHub(path: String) throws(NotifierError) -> UnixConnection {
    let connection: UnixConnection
    do {
        connection = try UnixConnection.connect(to: path, isBlocking: false)
    } catch {
        throw .socket(error)
    }
    let userID: UInt32
    do throws(SystemCallError) {
        userID = try connection.peer().userID
    } catch {
        throw .system(error)
    }
    guard userID == Environment.userID else { throw .foreignHub(userID: userID) }
    return connection
}

import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import Synchronization

/// What goes wrong on the disk of a test's workspace, and when.
///
/// Give it to a ``TestWorkspace``: SQLite's calls on every file of that workspace obey it, those of its
/// registry too, and nothing else does. So that a fault meets what it is meant for, open the account
/// first and set the fault then.
///
///     let faults = Faults()
///     try await TestWorkspace.with(faults: faults) { test in
///         … an account is opened …
///         faults.fail(.commit, .diskFull, times: 1)
///         … what the app does when it is told `diskFull` …
///     }
public final class Faults: Sendable {
    /// The steps at which something can go wrong.
    public enum Step: Sendable, CaseIterable {
        /// A database file is opened.
        case open
        /// A transaction is written to the log; several times for one that has changed many pages.
        case commit
        /// The log is synced, so that a durable receipt may be given.
        case sync
        /// A checkpoint copies from the log to the database file.
        case checkpoint

        fileprivate var call: (FaultZone.Call, FaultZone.File) {
            switch self {
            case .open: (.open, .database)
            case .commit: (.write, .log)
            case .sync: (.sync, .log)
            case .checkpoint: (.write, .database)
            }
        }
    }

    /// How a step fails.
    public enum Failure: Sendable, Hashable, CaseIterable {
        /// The disk is broken: the store says `ioFailed`.
        case ioError
        /// The disk is full: the store says `diskFull`.
        case diskFull
    }

    private let made = Mutex<FaultZone?>(nil)

    /// No faults yet.
    public init() {}

    /// Becomes the faults of a folder.
    func attach(to folder: String) {
        made.withLock { zone in
            precondition(zone == nil, "faults are those of one workspace")
            zone = FaultZone(folder: folder)
        }
    }

    /// All that the disk can be told. Traps before a workspace has the faults.
    package var zone: FaultZone {
        guard let zone = made.withLock({ $0 }) else {
            preconditionFailure("give the faults to a TestWorkspace first")
        }
        return zone
    }

    /// Makes a step fail. It takes the place of what was set for the same step before.
    ///
    /// - Parameters:
    ///   - step: which.
    ///   - failure: how.
    ///   - skipCount: how many times it still succeeds.
    ///   - times: how many times it then fails; `nil`: until ``heal(_:)``.
    public func fail(
        _ step: Step,
        _ failure: Failure = .ioError,
        after skipCount: Int = 0,
        times: Int? = 1
    ) {
        let (call, file) = step.call
        zone.fail(
            call,
            of: file,
            after: skipCount,
            times: times,
            with: failure == .diskFull ? .diskFull : .ioError
        )
    }

    /// Lets a step succeed again.
    public func heal(_ step: Step) {
        let (call, file) = step.call
        zone.heal(call, of: file)
    }

    /// How often a step was come to, for finding out at which one to fail.
    public func count(of step: Step) -> Int {
        let (call, file) = step.call
        return zone.callCount(call, of: file)
    }

    /// Makes each sync take so much longer.
    public func delaySyncs(by delay: Duration) { zone.delaySyncs(by: delay) }

    /// The next time that a step is come to, the thread that comes to it stands still before it does
    /// anything, with the locks that its process holds, as a process stands that was stopped.
    public func stop(at step: Step) {
        let (call, file) = step.call
        zone.pause(at: call, of: file)
    }

    /// Waits until a thread stands still.
    ///
    /// - Parameter wait: for how long at most.
    /// - Returns: whether one does.
    /// - Throws: what the system says when there can be no more threads.
    public func awaitStop(within wait: Duration = .seconds(10)) async throws -> Bool {
        let zone = zone
        return try await blocking("lk-faults") { zone.awaitPause(within: wait) }
    }

    /// Lets the thread that stands go on; where none stands yet, none will.
    public func resume() { zone.release() }
}

package import LockkeeperDomain
package import LockkeeperPlatform

/// A process that holds a lock or has the file open, as it was found.
package struct Holder: Sendable, Hashable, CustomStringConvertible {
    /// What the process wrote down.
    package let record: ProcessRecord
    /// How the process is.
    package let condition: ProcessCondition
    /// When it was looked at.
    package let observedAt: MonotonicInstant

    /// Whether it is the very process that looks.
    package let isSelf: Bool

    /// A holder of its parts.
    package init(
        record: ProcessRecord,
        condition: ProcessCondition,
        observedAt: MonotonicInstant,
        isSelf: Bool = false
    ) {
        self.record = record
        self.condition = condition
        self.observedAt = observedAt
        self.isSelf = isSelf
    }

    /// Which process.
    package var identity: ProcessIdentity { record.process.identity }
    /// The program's file name.
    package var program: String { record.process.program }
    /// The name under which the process commits.
    package var processName: String { record.process.processName }
    /// What the process is for.
    package var role: ProcessRole { record.process.role }
    /// What it is doing.
    package var activity: ProcessActivity { record.activity }
    /// How far it is with that; `nil` where it has no steps.
    package var progress: ActivityProgress? { record.progress }
    /// Since when it does that.
    package var since: MonotonicInstant { record.since }
    /// Its oldest read transaction, where one lasts.
    package var oldestRead: OldestRead? { record.oldestRead }
    /// How long it had been doing that when it was looked at.
    package var activityDuration: Duration { max(.zero, observedAt.duration(since: since)) }

    /// For people: "pid 4711 (lockkeeper as push-helper, helper), writing for 3.2 s, stopped".
    package var description: String {
        let tenths = activityDuration.wholeNanoseconds / 100_000_000
        let steps = progress.map { " (\($0.description))" } ?? ""
        return
            (isSelf ? "this process itself, " : "")
            + "pid \(identity.pid) (\(program) as \(processName), \(role.name)), "
            + "\(activity.name)\(steps) for \(tenths / 10).\(tenths % 10) s, \(condition.rawValue)"
    }
}

package import LockkeeperDomain
package import LockkeeperPlatform

/// What a process of a stress run does, again and again, until its input ends.
package enum StressRole: String, Sendable, Hashable, CaseIterable {
    /// Serves the others, and copies the log.
    case host
    /// Stores the pages of a stream of its own, and some of them again.
    case ingest
    /// Delivers packets, some of them twice, some to the account that is not active.
    case deliver
    /// Marks as read, and clears now and then.
    case read
    /// Adds one to a setting.
    case settings
    /// Sends messages and tells the server what the outbox has.
    case outbox
    /// Acts on effects.
    case effects
    /// Follows the commits, and goes on after its last position in its next life.
    case tail
    /// Reads snapshots, and stays in them for a while.
    case snapshot

    /// Whether it makes something new; the others only finish what is there.
    var isSource: Bool {
        switch self {
        case .ingest, .deliver, .read, .settings: true
        case .host, .outbox, .effects, .tail, .snapshot: false
        }
    }

    /// The named places that it comes to.
    var places: [Failpoint] {
        let copying: [Failpoint] = [
            .checkpointBegun, .checkpointReading, .checkpointCopied, .checkpointWhole,
            .checkpointShortened,
        ]
        let writing: [Failpoint] = [
            .afterLock, .afterBegin, .afterFenceCheck, .beforeCommit, .afterCommit,
            .beforeAnnouncement, .afterAnnouncement, .afterSync, .afterAcknowledgement,
        ]
        let draining: [Failpoint] = [
            .packetApplied, .packetDurable, .packetRemoved, .packetForgotten,
        ]
        switch self {
        case .host, .tail, .snapshot: return copying
        case .ingest, .read, .settings: return writing + draining + copying
        case .deliver: return writing + draining + [.packetKept]
        case .outbox: return writing + [.outboxClaimed, .outboxBegun, .outboxAnswered]
        case .effects: return writing + [.effectClaimed, .effectBegun, .effectAnswered]
        }
    }
}

/// A kind of trouble that a stress run may make. Each run leaves some out (swarm testing): what always
/// happens together hides what happens apart.
package enum StressFault: String, Sendable, Hashable, CaseIterable {
    /// Processes are killed and started again.
    case kill
    /// Processes are stopped and continued.
    case stop
    /// A `sqlite3` that knows nothing of Lockkeeper holds the write lock.
    case foreignLock = "foreign-lock"
    /// Snapshots are stayed in for seconds, so that the log cannot begin anew.
    case longReader = "long-reader"
    /// The hub's socket is deleted.
    case removeSocket = "remove-socket"
    /// Backups are made.
    case backUp = "backup"
    /// The account is switched.
    case switchAccounts = "switch"
    /// The time of day of a process steps.
    case stepClock = "clock"
    /// Everything is looked through while it is in use.
    case inspect
    /// The log is copied far more often than it is by default.
    case smallLog = "small-log"
    /// The disk is filled and freed; only where the workspace has a small one of its own.
    case fillDisk = "full-disk"
    /// Processes die or stop at named places of a write, a checkpoint, the inbox and claims.
    case failpoint
    /// A program with a schema of its own comes, and migrates the account.
    case migrate
    /// The account is repaired, whether that is needed or not.
    case repair

    /// Those that came later are drawn from a generator of their own, so that a seed that was drawn
    /// before there were any repeats its plan.
    static let later: [StressFault] = [.failpoint, .migrate, .repair]
}

/// What a stress run does, decided before it begins: a seed repeats it. When each process is given the
/// processor is the kernel's affair, and no seed repeats that.
package struct StressPlan: Sendable, Hashable {
    /// The seed.
    package let seed: UInt64
    /// How long trouble is made.
    package let duration: Duration
    /// How many accounts there are; one of them is active.
    package let accountCount: Int
    /// What each worker does, by its number; 0 is the host.
    package let roles: [StressRole]
    /// What trouble is made.
    package let faults: Set<StressFault>
    /// What happens when, in the order of the times.
    package let events: [Event]
    /// How many frames a log has when a process copies it; `nil` for the default.
    package let checkpointFrameCount: Int?
    /// A defect that every worker has, which the judge must find.
    package let defect: PlantedDefect?

    /// Something that happens.
    package struct Event: Sendable, Hashable {
        /// When, counted from the beginning.
        package let time: Duration
        /// What.
        package let action: Action
    }

    /// What can happen. A worker is named by its number.
    package enum Action: Sendable, Hashable {
        /// It is killed wherever it is, and started again.
        case kill(worker: Int)
        /// It is stopped wherever it is.
        case stop(worker: Int)
        /// It goes on.
        case resume(worker: Int)
        /// It is killed, and started again as one that dies or stops at a place.
        case arm(worker: Int, Failpoint, Failpoint.Act, count: Int)
        /// Where it died there it is started again, and where it stopped it goes on.
        case revive(worker: Int)
        /// Another program brings its schema.
        case migrate
        /// The active account is repaired.
        case repair
        /// A foreign program takes the write lock of the active account.
        case lock
        /// It lets it go.
        case unlock
        /// The hub's socket goes.
        case removeSocket
        /// The active account is backed up.
        case backUp
        /// Another account becomes the active one.
        case switchAccounts
        /// The time of day of a worker steps.
        case stepClock(worker: Int, by: Duration)
        /// The active account is looked through.
        case inspect
        /// The disk is filled.
        case fill
        /// The disk is freed.
        case free
    }

    /// Draws a plan.
    ///
    /// - Parameters:
    ///   - hasSmallDisk: whether the workspace has a disk of its own that can be filled.
    ///   - faults: what trouble is made; drawn where nothing is said.
    package init(
        seed: UInt64,
        duration: Duration,
        hasSmallDisk: Bool = false,
        faults: Set<StressFault>? = nil,
        defect: PlantedDefect? = nil
    ) {
        precondition(duration > .zero, "a run lasts")
        self.seed = seed
        self.duration = duration
        self.defect = defect
        accountCount = 2
        var draw = Draw(generator: SeededGenerator(seed: seed))
        // Any other number: two generators of one seed must not say the same.
        var later = Draw(generator: SeededGenerator(seed: seed ^ 0x5eed))
        let earlier = StressFault.allCases.filter { !StressFault.later.contains($0) }
        let drawn = draw.faults(of: earlier.filter { $0 != .fillDisk || hasSmallDisk })
        let drawnLater = later.faults(of: StressFault.later)
        let faults = faults ?? drawn.union(drawnLater)
        self.faults = faults
        roles = draw.roles()
        checkpointFrameCount = faults.contains(.smallLog) ? draw.number(in: 40...400) : nil
        var events: [Event] = []
        for fault in StressFault.allCases where faults.contains(fault) {
            if StressFault.later.contains(fault) {
                events += later.events(of: fault, within: duration, roles)
            } else {
                events += draw.events(of: fault, within: duration, roles)
            }
        }
        // Stable where two times are equal, so that a seed repeats the order too.
        self.events = events.enumerated().sorted {
            ($0.element.time, $0.offset) < ($1.element.time, $1.offset)
        }.map(\.element)
    }

    /// The id of an account by its number.
    package static func account(_ number: Int) -> AccountID { SwitchPlan.account(number) }

    /// Draws the parts of a plan.
    private struct Draw {
        var generator: SeededGenerator

        /// Two of three kinds of trouble, and at least one.
        mutating func faults(of possible: [StressFault]) -> Set<StressFault> {
            var drawn: Set<StressFault> = []
            for fault in possible where number(in: 0...2) > 0 { drawn.insert(fault) }
            let one = possible[number(in: 0...possible.count - 1)]
            return drawn.isEmpty ? [one] : drawn
        }

        mutating func roles() -> [StressRole] {
            var roles: [StressRole] = [.host]
            let counts: [(StressRole, ClosedRange<Int>)] = [
                (.ingest, 1...3), (.deliver, 1...2), (.read, 1...1), (.settings, 1...2),
                (.outbox, 1...2), (.effects, 1...2), (.tail, 1...2), (.snapshot, 1...1),
            ]
            for (role, range) in counts {
                roles += Array(repeating: role, count: number(in: range))
            }
            return roles
        }

        /// One kind of trouble over the whole time. What begins ends again, within the time.
        mutating func events(
            of fault: StressFault,
            within duration: Duration,
            _ roles: [StressRole]
        ) -> [Event] {
            // How the workers are started makes these.
            if fault == .longReader || fault == .smallLog { return [] }
            var events: [Event] = []
            var time = milliseconds(100...Self.pauseMax(of: fault))
            while time < duration {
                let worker = number(in: 0...roles.count - 1)
                let isLong = fault == .fillDisk || fault == .failpoint
                let length = milliseconds(5...(isLong ? 2000 : 900))
                let end = min(time + length, duration)
                switch fault {
                case .kill: events.append(Event(time: time, action: .kill(worker: worker)))
                case .stop:
                    events.append(Event(time: time, action: .stop(worker: worker)))
                    events.append(Event(time: end, action: .resume(worker: worker)))
                case .foreignLock:
                    events.append(Event(time: time, action: .lock))
                    events.append(Event(time: end, action: .unlock))
                case .removeSocket: events.append(Event(time: time, action: .removeSocket))
                case .backUp: events.append(Event(time: time, action: .backUp))
                case .switchAccounts: events.append(Event(time: time, action: .switchAccounts))
                case .stepClock:
                    let step = Duration.seconds(number(in: -400 * 86_400...400 * 86_400))
                    let action = Action.stepClock(worker: worker, by: step)
                    events.append(Event(time: time, action: action))
                case .inspect: events.append(Event(time: time, action: .inspect))
                case .fillDisk:
                    events.append(Event(time: time, action: .fill))
                    events.append(Event(time: end, action: .free))
                case .failpoint:
                    events.append(Event(time: time, action: arm(worker, roles[worker])))
                    events.append(Event(time: end, action: .revive(worker: worker)))
                case .migrate: events.append(Event(time: time, action: .migrate))
                case .repair: events.append(Event(time: time, action: .repair))
                case .longReader, .smallLog: break
                }
                time = end + milliseconds(20...Self.pauseMax(of: fault))
            }
            return events
        }

        /// A process that dies, or now and then stops, at a place that its role comes to.
        private mutating func arm(_ worker: Int, _ role: StressRole) -> Action {
            let places = role.places
            return .arm(
                worker: worker,
                places[number(in: 0...places.count - 1)],
                number(in: 0...2) > 0 ? .kill : .stop,
                count: number(in: 1...4)
            )
        }

        /// How far two of a kind lie apart at most, in milliseconds.
        private static func pauseMax(of fault: StressFault) -> Int {
            switch fault {
            case .kill, .stop, .failpoint: 700
            case .foreignLock, .removeSocket, .stepClock: 1500
            case .switchAccounts, .fillDisk: 2500
            case .backUp, .inspect, .migrate, .repair: 5000
            case .longReader, .smallLog: 1000
            }
        }

        mutating func number(in range: ClosedRange<Int>) -> Int {
            .random(in: range, using: &generator)
        }

        private mutating func milliseconds(_ range: ClosedRange<Int>) -> Duration {
            .milliseconds(number(in: range))
        }
    }
}

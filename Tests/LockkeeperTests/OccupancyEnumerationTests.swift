import Testing

@testable import Lockkeeper

/// Processes at one account, one of them suspended at times, and one that needs it to itself; with the
/// locks between them. Every step is one that another process can see in between.
private struct OccupancyModel: Hashable {
    struct Process: Hashable {
        var occupancy = Key(Occupancy())
        var hasPresence = true
        var stays = 0
        var thread = Thread.none
        var suspension = Suspension.none

        /// The thread that leaves for another's work.
        enum Thread: Hashable { case none, vacating, lettingGo, atTheDoor, inside }
        /// The program's suspension.
        enum Suspension: Hashable { case none, asked, leaving, lettingGo, suspended, resuming }
    }

    /// The process that does exclusive work; it is not one of the others.
    enum Worker: Hashable { case none, hasDoor, hasAsked, alone, done }

    /// The machine, compared by what it shows.
    struct Key: Hashable {
        var machine: Occupancy
        init(_ machine: Occupancy) { self.machine = machine }
        static func == (left: Key, right: Key) -> Bool { left.text == right.text }
        func hash(into hasher: inout Hasher) { hasher.combine(text) }
        private var text: String { String(describing: machine) }
    }

    var processes: [Process]
    var worker = Worker.none
    /// Whether the exclusive work has removed the account.
    var isRemoved = false
    /// Set, and not cleared by who gets ENTRY shared.
    var leaveWord = false
    var suspensionsLeft: Int
    var worksLeft: Int

    var doorIsShut: Bool { worker != .none && worker != .done }
    var isAskedToLeave: Bool { leaveWord && doorIsShut }

    /// What can happen next.
    var successors: [OccupancyModel] {
        workerSteps + processes.indices.flatMap { steps(of: $0) }
    }

    private var workerSteps: [OccupancyModel] {
        switch worker {
        case .none, .done:
            guard worksLeft > 0 else { return [] }
            return [
                with {
                    $0.worker = .hasDoor; $0.worksLeft -= 1
                }
            ]
        case .hasDoor:
            return [
                with {
                    $0.worker = .hasAsked; $0.leaveWord = true
                }, crashed,
            ]
        case .hasAsked:
            // It gives up at any time, which is its deadline.
            let isFree = processes.allSatisfy { !$0.hasPresence }
            return [
                crashed,
                with {
                    $0.worker = .done; $0.leaveWord = false
                },
            ]
                + (isFree ? [with { $0.worker = .alone }] : [])
        case .alone:
            return [
                crashed,
                // From here on it may die; the account is removed already.
                with { $0.isRemoved = true },
                with {
                    $0.worker = .done; $0.leaveWord = false
                },
            ]
        }
    }

    /// Its locks go with it; the word stays, and counts no more.
    private var crashed: OccupancyModel { with { $0.worker = .done } }

    private func steps(of index: Int) -> [OccupancyModel] {
        let process = processes[index]
        var next: [OccupancyModel] = []
        func add(_ change: (inout OccupancyModel, inout Process) -> Void) {
            var model = self
            var changed = process
            change(&model, &changed)
            model.processes[index] = changed
            next.append(model)
        }
        if process.stays < 1 {
            var machine = process.occupancy.machine
            if machine.enter() == .stays {
                add {
                    $1.occupancy = Key(machine); $1.stays += 1
                }
            }
        } else {
            add {
                $1.occupancy.machine.stayEnded(); $1.stays -= 1
            }
        }
        if isAskedToLeave, process.thread == .none {
            var machine = process.occupancy.machine
            if machine.beginReturning() {
                add {
                    $1.occupancy = Key(machine); $1.thread = .vacating
                }
            }
        }
        threadSteps(process, add)
        suspensionSteps(process, add)
        return next
    }

    private func threadSteps(
        _ process: Process,
        _ add: ((inout OccupancyModel, inout Process) -> Void) -> Void
    ) {
        var machine = process.occupancy.machine
        switch process.thread {
        case .none: break
        case .vacating:
            if machine.isEmptied(for: .excluded) {
                add {
                    $1.occupancy = Key(machine); $1.thread = .lettingGo
                }
            }
            if !isAskedToLeave { add { $1.thread = .inside } }
        case .lettingGo:
            add {
                $1.hasPresence = false; $1.thread = .atTheDoor
            }
        case .atTheDoor:
            if machine.absence != .excluded {
                add {
                    $1.occupancy.machine.returningEnded(); $1.thread = .none
                }
            } else if !doorIsShut {
                add {
                    $0.leaveWord = false; $1.hasPresence = true; $1.thread = .inside
                }
            }
        case .inside:
            let goesOn = isRemoved ? false : machine.goOn(after: .excluded)
            if isRemoved { _ = machine.stayAway(after: .excluded) }
            machine.returningEnded()
            add {
                if !goesOn { $1.hasPresence = false }
                $1.occupancy = Key(machine)
                $1.thread = .none
            }
        }
    }

    private func suspensionSteps(
        _ process: Process,
        _ add: ((inout OccupancyModel, inout Process) -> Void) -> Void
    ) {
        var machine = process.occupancy.machine
        switch process.suspension {
        case .none:
            if suspensionsLeft > 0 {
                add {
                    $0.suspensionsLeft -= 1; $1.suspension = .asked
                }
            }
        case .asked:
            let isMine = machine.beginLeaving(.suspended)
            add {
                $1.occupancy = Key(machine)
                if isMine { $1.suspension = .leaving }
            }
        case .leaving:
            if machine.isEmptied(for: .suspended) {
                add {
                    $1.occupancy = Key(machine); $1.suspension = .lettingGo
                }
            }
            // The deadline: it goes on as if nothing had been asked.
            if process.hasPresence {
                var back = process.occupancy.machine
                if back.goOn(after: .suspended) {
                    add {
                        $1.occupancy = Key(back); $1.suspension = .none
                    }
                }
            }
        case .lettingGo:
            add {
                $1.hasPresence = false; $1.suspension = .suspended
            }
        case .suspended:
            if !doorIsShut {
                add {
                    $0.leaveWord = false; $1.hasPresence = true; $1.suspension = .resuming
                }
            }
        case .resuming where isRemoved:
            // Whoever was suspended once more while it came back has nothing to come back to.
            if machine.stayAway(after: .suspended) || machine.isRemoved {
                add {
                    $1.occupancy = Key(machine)
                    $1.hasPresence = false
                    $1.suspension = .none
                }
            }
        case .resuming:
            if machine.goOn(after: .suspended) {
                add {
                    $1.occupancy = Key(machine); $1.suspension = .none
                }
            }
        }
    }

    private func with(_ change: (inout OccupancyModel) -> Void) -> OccupancyModel {
        var model = self
        change(&model)
        return model
    }

    /// What is wrong in this state; `nil` where nothing is.
    var violation: String? {
        for process in processes {
            if process.occupancy.machine.stayCount != process.stays { return "a stay is lost" }
            if process.stays > 0, !process.hasPresence { return "somebody stays without PRESENCE" }
            if worker == .alone, process.stays > 0 { return "exclusive work is not alone" }
            if process.suspension == .suspended, process.hasPresence || process.stays > 0 {
                return "a suspended process is there"
            }
            if process.suspension == .suspended, process.thread == .inside {
                return "a suspended process comes in"
            }
            if process.occupancy.machine.isRemoved, process.stays > 0 || !isRemoved {
                return
                    "a process stays at an account that was removed, or is told so of one that was not"
            }
        }
        return nil
    }

    /// Nothing is under way, and everybody is there.
    var isAtRest: Bool {
        (worker == .none || worker == .done)
            && processes.allSatisfy {
                $0.occupancy.machine.absence == nil && $0.hasPresence == !isRemoved
                    && $0.occupancy.machine.isRemoved == isRemoved && $0.thread == .none
                    && $0.suspension == .none
            }
    }
}

@Suite("Leaving an account and coming back, in every order (5.5, I-11)")
struct OccupancyEnumerationTests {
    @Test(
        "exclusive work is alone, a suspended process is away, and from everywhere everybody comes back",
        arguments: [(1, 2, 2), (2, 1, 2), (3, 1, 1)]
    )
    func everyOrder(processCount: Int, suspensionCount: Int, workCount: Int) {
        let start = OccupancyModel(
            processes: Array(repeating: .init(), count: processCount),
            suspensionsLeft: suspensionCount,
            worksLeft: workCount
        )
        var numbers = [start: 0]
        var states = [start]
        var predecessors: [[Int]] = [[]]
        var next = 0
        while next < states.count {
            let state = states[next]
            if let violation = state.violation {
                Issue.record("\(violation): \(state)")
                return
            }
            for successor in state.successors {
                if let known = numbers[successor] {
                    predecessors[known].append(next)
                } else {
                    numbers[successor] = states.count
                    states.append(successor)
                    predecessors.append([next])
                }
            }
            next += 1
        }
        // No dead end: rest can be reached from every state.
        var reaches = states.map(\.isAtRest)
        var front = states.indices.filter { reaches[$0] }
        while let state = front.popLast() {
            for earlier in predecessors[state] where !reaches[earlier] {
                reaches[earlier] = true
                front.append(earlier)
            }
        }
        print("\(processCount) processes at an account: \(states.count) states")
        if let stuck = reaches.firstIndex(of: false) {
            Issue.record("no way back: \(states[stuck])")
        }
        #expect(states.contains { $0.worker == .alone }, "nobody was ever alone")
        #expect(states.contains { $0.isRemoved && $0.isAtRest }, "nothing was ever removed")
        #expect(
            states.contains { state in state.processes.contains { $0.suspension == .suspended } }
        )
    }
}

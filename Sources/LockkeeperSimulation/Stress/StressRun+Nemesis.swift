import LockkeeperDomain
import LockkeeperPlatform

// The nemesis: what is done to the processes and files of a run.
extension StressRun {
    /// Does what the plan says.
    mutating func perform(_ action: StressPlan.Action) throws {
        switch action {
        case .kill(let worker): try killAndRestart(worker)
        case .stop(let worker): try signal(worker, .stop, "stopped")
        case .resume(let worker): try signal(worker, .resume, "continued")
        case .arm(let worker, let place, let act, let count):
            let words = ["--failpoint", place.rawValue, "--act", act.rawValue, "--at", "\(count)"]
            try killAndRestart(worker, words)
            armed.insert(worker)
            mark("to \(act.rawValue) itself \(place.rawValue)", workers[worker].process)
        case .revive(let worker): try revive(worker)
        case .migrate:
            migrationCount += 1
            try runErrand(
                "migration",
                ["stress-worker", "--migrate", "\(migrationCount)", "--account", "\(active)"]
            )
        case .repair:
            // A log that a foreign program took along would be a reason to make new files.
            let accepts = plan.faults.contains(.foreignLock) ? ["--accept-log"] : []
            try runErrand("repair", ["repair", "\(active)"] + accepts)
        case .lock: try takeLock()
        case .unlock: releaseLock()
        case .removeSocket:
            mark("the socket is deleted")
            try FileSystem.remove("\(places.workspace)/notifier.sock")
        case .backUp:
            // Of the only active account; the names of two in one second are told apart.
            try runErrand("backup", ["backup", "--account", "\(active)"])
        case .switchAccounts:
            let from = active
            let to = (0..<plan.accountCount).map(StressPlan.account).first { $0 != from } ?? from
            try runErrand("switch to \(to)", ["switch", "\(to)"])
            active = to
        case .stepClock(let worker, let time):
            let order = SwitchOrder.stepClock(milliseconds: Int64(time.milliseconds))
            mark("its time of day steps", workers[worker].process)
            workers[worker].managed.send(order.line, lineCount: 1)
        case .inspect: try runErrand("check", ["check", "--account", "\(active)"])
        case .fill: try fill()
        case .free: try free()
        }
    }

    /// Ends all that is still troubled, and starts who is dead.
    mutating func endTrouble() throws {
        releaseLock()
        try free()
        for worker in workers.indices {
            try signal(worker, .resume, "continued")
            // One that has not come to its place yet would die after the trouble.
            if armed.contains(worker) {
                try killAndRestart(worker)
            } else if hasEnded(worker) {
                try restart(worker)
            }
        }
    }

    /// Notes what is done.
    func mark(_ what: String, _ process: StressProcess? = nil) {
        life.note(StressMark(time: clock.now().microseconds, process: process, what: what))
    }

    // MARK: - Processes

    private func hasEnded(_ worker: Int) -> Bool {
        workers[worker].managed.wait(until: Deadline(at: clock.now())) != nil
    }

    /// Goes on with a worker that was to die or stop at a place.
    private mutating func revive(_ worker: Int) throws {
        try signal(worker, .resume, "continued")
        guard armed.contains(worker), hasEnded(worker) else { return }
        mark("died at its place", workers[worker].process)
        // It killed itself, which is as good as being killed.
        mark("killed", workers[worker].process)
        try restart(worker)
    }

    private mutating func killAndRestart(_ worker: Int, _ more: [String] = []) throws {
        try signal(worker, .kill, "killed")
        // A process that is being killed ends, whatever it waits for.
        _ = workers[worker].managed.wait(until: .never)
        try restart(worker, more)
    }

    private mutating func restart(_ worker: Int, _ more: [String] = []) throws {
        armed.remove(worker)
        let last = workers[worker].process
        let process = StressProcess(last.role, worker: worker, life: last.life + 1)
        mark("started", process)
        workers[worker] = Worker(process: process, managed: try launch(process, more))
    }

    private func signal(_ worker: Int, _ signal: Signal, _ what: String) throws {
        mark(what, workers[worker].process)
        do throws(SystemCallError) {
            try workers[worker].managed.signal(signal)
        } catch {
            // It has ended by itself, which the judge is told of by its history.
            guard error.errno == .noSuchProcess else { throw error }
        }
    }

    /// Starts a command beside the workers. How it ends is not judged: it may find the workspace in any
    /// state; that it ends is.
    private mutating func runErrand(_ name: String, _ arguments: [String]) throws {
        mark(name)
        let errand = try supervisor.start(name, arguments) { [life, clock] occurrence in
            guard case .ended(let status) = occurrence else { return }
            let what = status == .exited(0) ? "\(name) is done" : "\(name) \(status.sentence)"
            life.note(StressMark(time: clock.now().microseconds, process: nil, what: what))
        }
        errands.append(errand)
    }

    // MARK: - Locks and the disk

    private mutating func takeLock() throws {
        guard lock == nil else { return }
        let folder = "\(places.workspace)/accounts/\(active)"
        let names = try FileSystem.list(folder)
        guard let name = names.first(where: { $0.hasPrefix("messages-") && $0.hasSuffix(".db") })
        else { return }
        mark("a foreign program takes the write lock")
        let shell = try ManagedProcess(
            name: "sqlite3",
            program: "sqlite3",
            arguments: ["-batch", "\(folder)/\(name)"]
        ) { _ in }
        shell.send(Array("PRAGMA busy_timeout = 1000;\nBEGIN IMMEDIATE;\n".utf8), lineCount: 2)
        lock = shell
    }

    private mutating func releaseLock() {
        guard let shell = lock else { return }
        mark("the foreign program lets it go")
        shell.send(Array("ROLLBACK;\n".utf8), lineCount: 1)
        shell.closeInput()
        _ = shell.wait(until: .never)
        lock = nil
    }

    private var ballast: String { "\(places.workspace)/ballast" }

    private mutating func fill() throws {
        guard !isFilled else { return }
        mark("the disk is full")
        isFilled = true
        let free = try FileSystem.freeBytes(at: places.workspace)
        let file = try FileDescriptor(opening: ballast, [.writeOnly, .create])
        // Somebody may have taken the rest meanwhile, which is as full.
        _ = Result { () throws(SystemCallError) in try file.allocate(max(4096, free - 16_384)) }
    }

    private mutating func free() throws {
        guard isFilled else { return }
        mark("the disk has room again")
        try FileSystem.remove(ballast)
        isFilled = false
    }
}

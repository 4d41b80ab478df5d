import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
package import LockkeeperPlatform
import LockkeeperState

/// One process of a stress run. It does what its role says until its input ends, finishes what is left,
/// and ends; whatever it asks and is told stands in its history.
package final class StressWorker: Sendable {
    /// What a worker is told when it is started.
    package struct Settings: Sendable {
        /// Which process of the run it is.
        package var process: StressProcess
        /// The folder of the histories.
        package var histories: String
        /// Seeds what it does.
        package var seed: UInt64
        /// How many frames a log has when it is copied; `nil` for the default.
        package var checkpointFrameCount: Int?
        /// Whether it stays in snapshots for seconds.
        package var staysLong = false
        /// The defect that it has.
        package var defect: PlantedDefect?
        /// Where it dies or stops, which of the two, and at which coming to it.
        package var failpoint: (place: Failpoint, act: Failpoint.Act, count: Int)?

        /// Settings of their parts.
        package init(process: StressProcess, histories: String, seed: UInt64) {
            self.process = process
            self.histories = histories
            self.seed = seed
        }
    }

    let settings: Settings
    let journal: StressJournal
    let clock = SystemClock()
    private let root: String
    private let orders: SwitchOrders
    private let wallClock = SteppingWallClock()
    /// Told that something was done.
    let countBeat: @Sendable () -> Void

    /// Between two things that a worker does.
    static let rest: Duration = .milliseconds(3)

    /// Makes the worker, and its history.
    ///
    /// - Parameter beat: called when something that was asked for was done.
    /// - Throws: `SystemCallError` when the history cannot be made, or no thread can be had.
    package init(
        _ settings: Settings,
        root: String,
        beat: @escaping @Sendable () -> Void
    ) throws {
        self.settings = settings
        self.root = root
        countBeat = beat
        journal = try StressJournal(settings.process, in: settings.histories)
        orders = try SwitchOrders()
    }

    /// Works until the input ends.
    ///
    /// - Throws: what nobody could expect; it was written down as well.
    package func run() async throws {
        journal.append(StressEntry(time: journal.now, .began))
        do {
            guard let workspace = try await open() else { return }
            try await work(in: workspace)
            await workspace.close()
            journal.append(StressEntry(time: journal.now, .ended))
        } catch {
            var entry = StressEntry(time: journal.now, .failed)
            entry.text = "\(error)"
            journal.append(entry)
            throw error
        }
    }

    private func work(in workspace: Workspace) async throws {
        switch settings.process.role {
        case .host:
            let host = try await workspace.serve()
            countBeat()
            while try await goesOn() {}
            await host.close()
        case .ingest: try await ingest(in: workspace)
        case .deliver: try await deliver(in: workspace)
        case .read: try await read(in: workspace)
        case .settings: try await add(in: workspace)
        case .outbox: try await relayOutbox(in: workspace)
        case .effects: try await relayEffects(in: workspace)
        case .tail: try await follow(in: workspace)
        case .snapshot: try await readSnapshots(in: workspace)
        }
    }

    /// Opens the workspace, however often that takes; `nil` where the input ended before it was done.
    private func open() async throws -> Workspace? {
        var limits = Limits()
        if let count = settings.checkpointFrameCount {
            limits.checkpointFrameCount = count
            limits.checkpointFrameCountWithoutHost = count
            limits.checkpointFrameCountBesideHost = count * 2
        }
        let role: Workspace.Role = settings.process.role == .host ? .host : .helper
        repeat {
            let workspace = try await attempt(question(.open)) { [limits] in
                try await Workspace.openApart(
                    at: root,
                    name: "\(settings.process)",
                    role: role,
                    schemas: [.messages, .state],
                    limits: limits,
                    wallClock: wallClock
                )
            }
            if let workspace { return workspace }
        } while try await goesOn()
        return nil
    }

    // MARK: - Means

    /// Whether the input has ended, so that only what is left is to be done.
    var isToFinish: Bool { orders.haveEnded }

    /// Does what was ordered and rests; `false` when the input has ended.
    func goesOn(after rest: Duration = rest) async throws -> Bool {
        while let order = orders.next(until: Deadline(at: clock.now())) {
            if case .stepClock(let milliseconds) = order { wallClock.step(by: milliseconds) }
        }
        if !orders.haveEnded { try await Task.sleep(for: rest) }
        return !orders.haveEnded
    }

    /// A question, asked now.
    func question(_ act: StressAct, _ id: String = "", for account: AccountID? = nil) -> StressEntry
    {
        var entry = StressEntry(time: journal.now, .asks, act, id: id)
        entry.account = account?.description
        return entry
    }

    /// Writes a question down, does what it is about, and writes the answer down.
    ///
    /// - Parameter fill: completes the answer.
    /// - Returns: what it gave; `nil` where it was refused.
    /// - Throws: an error that is none of Lockkeeper's.
    func attempt<Value>(
        _ question: StressEntry,
        fill: (Value, inout StressEntry) -> Void = { _, _ in },
        _ body: () async throws -> Value
    ) async throws -> Value? {
        journal.append(question)
        do {
            let value = try await body()
            var answer = question
            answer.word = .answered
            fill(value, &answer)
            answer.time = journal.now
            journal.append(answer)
            countBeat()
            return value
        } catch let error as LockkeeperError {
            noteRefusal(of: question, error)
            return nil
        }
    }

    /// Writes down that something was refused.
    func noteRefusal(of question: StressEntry, _ error: LockkeeperError) {
        var answer = question
        answer.word = .refused
        answer.time = journal.now
        answer.text = "\(error.code.rawValue) \(error)"
        journal.append(answer)
    }

    /// What a call gives; `nil` where Lockkeeper refuses it, which is written down.
    func unlessRefused<Value>(
        _ act: StressAct,
        _ body: () async throws -> Value
    ) async throws -> Value? {
        do {
            return try await body()
        } catch let error as LockkeeperError {
            noteRefusal(of: question(act), error)
            return nil
        }
    }

    /// Uses one session of the active account after the other until the input ends.
    ///
    /// - Parameter use: what is done with it; it returns when the session has ended or the input has.
    func eachSession(
        in workspace: Workspace,
        _ use: (Session) async throws -> Void
    ) async throws {
        repeat {
            guard let session = try await activeSession(in: workspace) else { continue }
            try await use(session)
            await session.close()
        } while try await goesOn()
    }

    /// A session of the active account; `nil` where none is active, in the middle of a switch for
    /// example.
    func activeSession(in workspace: Workspace) async throws -> Session? {
        try await unlessRefused(.open) {
            let accounts = try await workspace.accounts()
            guard let account = accounts.first(where: { $0.state == .active }) else { return nil }
            return try await workspace.session(account.id)
        } ?? nil
    }

    /// Numbers that this process draws, the same each time that a run is repeated.
    func generator() -> SeededGenerator {
        let process = settings.process
        return SeededGenerator(
            seed: settings.seed ^ UInt64(process.worker) << 32 ^ UInt64(process.life) << 48
        )
    }

    /// The attempt of a number: its name is the same in no other process.
    func attempt(_ number: Int) -> SwitchAttempt {
        SwitchAttempt(
            helper: settings.process.worker,
            life: settings.process.life,
            number: number
        )
    }
}

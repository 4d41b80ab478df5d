import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperTesting

/// A process of the simulation of the switch: the host (number 0), which serves and switches when it
/// is told to, or a helper, which ingests for whatever account it believes is active.
///
///     asks for the active account ──▶ session ──▶ pages, until one is refused as superseded ──┐
///            ▲──────────────────────────────────────────────────────────────────────────────┘
///
/// It says what it does before and after doing it, so that whoever reads along knows of each
/// attempt, however the process ends.
package final class SwitchWorker: Sendable {
    /// Which process of the run it is.
    package struct Role: Sendable {
        /// 0 for the host, the helper's number otherwise.
        package var number: Int
        /// Which of the worker's processes it is, 1 for the first.
        package var life: Int
        /// The defect that it has.
        package var defect: SwitchDefect?
        /// Whether it can be told to stand still before a change of a file.
        package var canStand: Bool

        /// A role of its parts.
        package init(
            number: Int,
            life: Int,
            defect: SwitchDefect? = nil,
            canStand: Bool = false
        ) {
            self.number = number
            self.life = life
            self.defect = defect
            self.canStand = canStand
        }
    }

    private let role: Role
    private let workspace: Workspace
    private let orders: SwitchOrders
    private let wallClock: SteppingWallClock
    private let clock = SystemClock()
    // Kept for as long as files are open in it.
    private let zone: FaultZone?
    private let say: @Sendable (String) -> Void

    /// Between two pages, and between two looks for an active account.
    private static let rest: Duration = .milliseconds(2)

    /// Opens the workspace.
    ///
    /// - Parameter say: takes a line of what the worker does, without its end.
    /// - Throws: what opening throws.
    package init(
        _ role: Role,
        root: String,
        say: @escaping @Sendable (String) -> Void
    ) async throws {
        self.role = role
        self.say = say
        orders = try SwitchOrders()
        zone = role.canStand ? FaultZone(folder: root) : nil
        wallClock = SteppingWallClock()
        // Where the fence is compared outside, the comparison inside is missing as well.
        if role.defect != nil { PlantedDefect.skipFenceCheck.plant() }
        workspace = try await Workspace.openApart(
            at: root,
            name: role.number == 0 ? "host" : "helper-\(role.number)",
            role: role.number == 0 ? .host : .helper,
            schemas: [.messages],
            wallClock: wallClock,
            vfs: zone == nil ? nil : FaultZone.vfs
        )
    }

    /// Works until the orders end. May block the thread that it is called on.
    ///
    /// - Throws: what nobody could expect; it was said as well.
    package func run() async throws {
        do {
            if role.number == 0 {
                let host = try await workspace.serve()
                while let order = orders.next(until: .never) { try await obey(order) }
                await host.close()
            } else {
                try await ingest()
            }
        } catch {
            tell(.failed("\(error)"))
            await workspace.close()
            throw error
        }
        await workspace.close()
    }

    private func tell(_ statement: SwitchLine.Statement) {
        say(SwitchLine(time: clock.now(), statement).text)
    }

    /// Obeys what was ordered, and rests; `false` when the orders have ended.
    private func pause() async throws -> Bool {
        let deadline = Deadline(after: Self.rest, from: clock.now())
        while let order = orders.next(until: deadline) { try await obey(order) }
        return !orders.haveEnded
    }

    private func obey(_ order: SwitchOrder) async throws {
        switch order {
        case .makeSwitch(let offset): try await makeSwitch(offset)
        case .stepClock(let milliseconds): wallClock.step(by: milliseconds)
        case .stand(let change): try standStill(at: change)
        case .stop: preconditionFailure("orders to stop wait for the next attempt")
        }
    }

    /// Asks for a stand, and says so once it has come to it. Whoever gave the order kills the process,
    /// or ends the orders: then it goes on. A worker that closes changes files as well, now and then.
    private func standStill(at change: Int) throws {
        guard let zone else { preconditionFailure("only a worker with a zone is told to stand") }
        zone.pauseAtChange(after: change)
        _ = try WorkerThread.start(name: "sim-stand") { [self] in
            while !zone.awaitPause(within: .seconds(1)), !orders.haveEnded {}
            if !orders.haveEnded { tell(.stands(change: change)) }
            orders.waitForEnd()
            zone.release()
        }
    }

    // MARK: - Switching

    private func makeSwitch(_ offset: Int) async throws {
        while !orders.haveEnded {
            let accounts = try await workspace.accounts()
            guard let index = accounts.firstIndex(where: { $0.state == .active }) else {
                try await finishWhatWasBegun()
                continue
            }
            let (from, to) = (accounts[index].id, accounts[(index + offset) % accounts.count].id)
            tell(.switches(from: from, to: to))
            do {
                let session = try await workspace.replaceAccount(from, with: to)
                tell(.switched(from: from, to: session.token))
                await session.close()
            } catch let error as LockkeeperError {
                tell(.kept(from: from, to: to, code: error.code.rawValue))
            }
            return
        }
    }

    /// In the middle of a switch no account is active. Where its process was killed, whoever asks
    /// for a session of one of the two finishes it; so does this.
    private func finishWhatWasBegun() async throws {
        clock.sleep(until: Deadline(after: Self.rest, from: clock.now()))
        for account in try await workspace.accounts() {
            // An account that is not active gives no session, which is no news here.
            let session = try? await workspace.session(account.id)
            await session?.close()
        }
    }

    // MARK: - Ingesting

    private func ingest() async throws {
        var attemptCount = 0
        while try await pause() {
            guard let session = try await activeSession() else {
                try await finishWhatWasBegun()
                continue
            }
            tell(.took(session.token))
            let store = try MessageStore(session)
            if var page = try await lastPage(in: store) {
                while session.ended == nil, try await pause() {
                    attemptCount += 1
                    let attempt = SwitchAttempt(
                        helper: role.number,
                        life: role.life,
                        number: attemptCount
                    )
                    let refusal = try await handOver(page + 1, attempt, to: store)
                    if refusal == nil { page += 1 }
                }
            }
            await session.close()
        }
    }

    /// A session of the account that is active as far as this process knows.
    private func activeSession() async throws -> Session? {
        let accounts = try await workspace.accounts()
        guard let account = accounts.first(where: { $0.state == .active }) else { return nil }
        return try await unlessExpected { try await workspace.session(account.id) }
    }

    /// The last page of this helper's stream in an account; `nil` when the session is superseded.
    private func lastPage(in store: MessageStore) async throws -> Int? {
        try await unlessExpected {
            let cursor = try await store.cursors()[SwitchPages.stream(of: role.number)]
            return cursor.flatMap(SwitchPages.page) ?? 0
        }
    }

    /// What a call gives; `nil` where it fails with what a switch makes a call fail with.
    private func unlessExpected<Value>(_ body: () async throws -> Value) async throws -> Value? {
        do {
            return try await body()
        } catch let error as LockkeeperError {
            guard [.superseded, .accountInactive, .busy].contains(error.code) else { throw error }
            return nil
        }
    }

    /// Hands a page to the store, and says so before and after.
    ///
    /// - Returns: why it was refused; `nil` when it was stored.
    /// - Throws: an error that is none of Lockkeeper's.
    private func handOver(
        _ page: Int,
        _ attempt: SwitchAttempt,
        to store: MessageStore
    ) async throws -> LockkeeperError.Code? {
        tell(.sends(attempt, store.session.token, page: page))
        do {
            tell(.stored(attempt, commit: try await commit(page, attempt, to: store)))
            return nil
        } catch let error as LockkeeperError {
            tell(.refused(attempt, code: error.code.rawValue))
            return error.code
        }
    }

    private func commit(
        _ page: Int,
        _ attempt: SwitchAttempt,
        to store: MessageStore
    ) async throws -> Int64 {
        let database = store.session.database
        if role.defect == .checkFenceOutsideTransaction { try await database.read { _ in } }
        stopIfTold(.before, attempt)
        let token = store.session.token
        let (_, receipt) = try await database.write { [self] transaction in
            try store.apply(
                SwitchPages.events(of: page, for: token.account, attempt),
                in: transaction
            )
            stopIfTold(.inside, attempt)
            try SwitchWitness.insert(
                attempt,
                page: page,
                token: token,
                at: clock.now(),
                in: transaction
            )
        }
        return receipt.commit?.rawValue ?? 0
    }

    private func stopIfTold(_ place: SwitchStopPlace, _ attempt: SwitchAttempt) {
        guard orders.takeStop(at: place) else { return }
        tell(.stops(attempt, place))
        CurrentProcess.stop()
    }
}

/// What a worker was told and has not done yet, read from its standard input by a thread.
///
/// Lock rule: the monitor guards the list; nothing else is taken inside it.
final class SwitchOrders: Sendable {
    private let state = Monitor(State())

    private struct State: Sendable {
        var waiting: [SwitchOrder] = []
        var stops: Set<SwitchStopPlace> = []
        var haveEnded = false
    }

    /// Starts to read.
    init() throws(SystemCallError) {
        _ = try WorkerThread.start(name: "sim-orders") { [self] in
            let input = FileDescriptor(owning: 0)
            var text: [UInt8] = []
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
            defer { buffer.deallocate() }
            // An input that cannot be read has ended, whatever the reason.
            while let count = try? input.read(into: buffer), count > 0 {
                text += buffer[..<count]
                while let end = text.firstIndex(of: UInt8(ascii: "\n")) {
                    take(String(decoding: text[..<end], as: UTF8.self))
                    text.removeFirst(end + 1)
                }
            }
            state.withLock { $0.haveEnded = true }
            state.broadcast()
        }
    }

    /// Whether no more will come.
    var haveEnded: Bool { state.withLock { $0.haveEnded } }

    /// Waits until no more will come. Blocks the thread.
    func waitForEnd() { _ = state.wait(until: .never) { $0.haveEnded ? true : nil } }

    /// The next order that is not to stop; `nil` at the deadline, and at the end.
    func next(until deadline: Deadline) -> SwitchOrder? {
        let next = state.wait(until: deadline) { state -> SwitchOrder?? in
            if !state.waiting.isEmpty { return .some(state.waiting.removeFirst()) }
            return state.haveEnded ? .some(nil) : nil
        }
        return next ?? nil
    }

    /// Whether the worker was told to stop at a place and has not done so yet. It counts as done.
    func takeStop(at place: SwitchStopPlace) -> Bool {
        state.withLock { $0.stops.remove(place) != nil }
    }

    private func take(_ line: String) {
        guard let order = SwitchOrder(line) else { return }
        state.withLock { state in
            if case .stop(let place) = order {
                state.stops.insert(place)
            } else {
                state.waiting.append(order)
            }
        }
        state.broadcast()
    }
}

/// The machine's time of day, moved by as much as it was told to: what an NTP step or a person does
/// to it.
final class SteppingWallClock: WallClockSource {
    private let offset = Monitor<Int64>(0)
    private let system = SystemWallClock()

    func milliseconds() -> Int64 { system.milliseconds() + offset.withLock { $0 } }

    /// Moves it.
    func step(by milliseconds: Int64) { offset.withLock { $0 += milliseconds } }
}

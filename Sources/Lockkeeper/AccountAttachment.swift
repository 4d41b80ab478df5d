import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperStorage
import Synchronization

/// A process's place at one account: its record slot and its PRESENCE. Sessions, the hub and
/// maintenance share it; it ends with the last of them.
///
/// Order of 5.5: ENTRY shared, PRESENCE shared, ENTRY let go, and only then the registry's current
/// files are read. Whoever replaces files takes ENTRY exclusively, so that what was read after this
/// stays current for as long as the process stays.
///
/// Whether it is here is ``Occupancy``'s to say. It leaves for two reasons: the process was suspended,
/// which its own program takes back; or another process needs the account to itself and has set the
/// leave word, after which it comes back by itself. The word is looked at four times a second and by
/// each write. Where the account was removed meanwhile, it never comes back.
///
/// Lock rules
/// 1. `monitor` is held for single steps; no lock of the kernel is waited for under it.
/// 2. `presence` is written only by who leaves and comes back, and those are one at a time: the
///    phases see to it.
final class AccountAttachment: Sendable {
    let account: AccountID
    /// Tells the account from another one that is added under its id once it was removed.
    let birth: Generation
    let paths: WorkspacePaths.Account
    let membership: LockFileMembership
    /// What this process reads at the account.
    let reads: ReadLedger
    /// What this process has claimed at the account.
    let claims = ClaimBook()
    /// What this process has synced of it.
    private let durable = (messages: DurableMark(), settings: DurableMark())
    private let clock: any MonotonicClock
    private let registry: RegistryHandle
    private let presence: Mutex<LockGuard?>
    private let monitor = Monitor(State())

    typealias Absence = Occupancy.Absence

    private struct State {
        var occupancy = Occupancy()
        var occupants: [ObjectIdentifier: WeakOccupant] = [:]
    }

    private struct WeakOccupant: Sendable {
        weak let value: (any Occupant)?
    }

    /// How often the leave word is looked at where nobody writes.
    private static let lookInterval = Duration.milliseconds(250)

    /// Attaches to an account. Blocks while exclusive work is done, at most until the deadline.
    init(
        _ record: AccountRecord,
        paths: WorkspacePaths,
        registry: RegistryHandle,
        process: ProcessDescription,
        clock: any MonotonicClock,
        timer: DeadlineTimer,
        deadline: Deadline
    ) throws {
        account = record.id
        birth = record.birth
        self.paths = paths.account(directory: record.directory)
        self.clock = clock
        self.registry = registry
        try FileSystem.makeDirectory(paths.accounts, mode: 0o700)
        try FileSystem.makeDirectory(self.paths.directory, mode: 0o700)
        membership = try LockFileMembership(
            path: self.paths.locks,
            process: process,
            clock: clock
        )
        reads = ReadLedger(membership, clock: clock, timer: timer)
        presence = Mutex(try Presence.enter(membership, until: deadline))
        try membership.setActivity(.idle)
        add(claims)
    }

    // MARK: - Staying

    /// The right to have connections to the account's files. It ends with this object.
    final class Stay: Sendable {
        let attachment: AccountAttachment

        fileprivate init(_ attachment: AccountAttachment) { self.attachment = attachment }

        deinit { attachment.stayEnded() }
    }

    /// Waits until the process is here, and keeps it here.
    ///
    /// - Throws: `LockingError` — `suspended`; `busy` when exclusive work goes on past the deadline.
    ///   ``LockkeeperError`` with the code `accountRemoved`.
    func stay(until deadline: Deadline) throws -> Stay {
        let began = clock.now()
        let entrance = monitor.wait(until: deadline) { state -> Occupancy.Entrance? in
            let entrance = state.occupancy.enter()
            return entrance == .waits ? nil : entrance
        }
        switch entrance {
        case .stays: return Stay(self)
        case .refused: throw LockingError.suspended
        case .removed: throw LockkeeperError.accountRemoved(account)
        case .waits, nil:
            throw LockingError.busy(
                .entry,
                holders: (try? membership.holders(of: .entry)) ?? [],
                waited: clock.now().duration(since: began)
            )
        }
    }

    /// Waits until the process is here, however long it was suspended; `nil` once the caller has
    /// stopped, which it says with ``wakeThoseWhoWait()``.
    ///
    /// - Throws: ``LockkeeperError`` with the code `accountRemoved`.
    func stay(unless hasStopped: () -> Bool) throws -> Stay? {
        let entrance = monitor.wait(until: .never) { state -> Occupancy.Entrance?? in
            if hasStopped() { return .some(nil) }
            let entrance = state.occupancy.enter()
            return [.stays, .removed].contains(entrance) ? .some(entrance) : nil
        }
        switch entrance ?? nil {
        case .stays: return Stay(self)
        case .removed: throw LockkeeperError.accountRemoved(account)
        case .waits, .refused, nil: return nil
        }
    }

    /// Makes those who wait look again whether they have stopped.
    func wakeThoseWhoWait() {
        // Who has looked and does not wait yet holds the lock until it does.
        monitor.withLock { _ in }
        monitor.broadcast()
    }

    /// Up to where the commits to one of the files are known to be durable.
    func durable(of kind: StoreKind) -> DurableMark {
        switch kind {
        case .messages: durable.messages
        case .settings: durable.settings
        }
    }

    /// Whether who stays may go on staying.
    var isOpen: Bool { monitor.withLock { $0.occupancy.isOpen } }

    /// Whether the account was removed from the workspace, as far as this process has noticed.
    var isRemoved: Bool { monitor.withLock { $0.occupancy.isRemoved } }

    /// Registers somebody who stays for long, so that it is told to leave.
    func add(_ occupant: some Occupant) {
        monitor.withLock { state in
            state.occupants = state.occupants.filter { $0.value.value != nil }
            state.occupants[ObjectIdentifier(occupant)] = WeakOccupant(value: occupant)
        }
    }

    func remove(_ occupant: some Occupant) {
        monitor.withLock { _ = $0.occupants.removeValue(forKey: ObjectIdentifier(occupant)) }
    }

    private func stayEnded() {
        monitor.withLock { $0.occupancy.stayEnded() }
        monitor.broadcast()
    }

    // MARK: - Leaving and coming back

    /// Closes every connection of this process to the account and lets PRESENCE go. Blocks.
    ///
    /// - Throws: `LockingError.busy` when something still ran at the deadline; everything goes on
    ///   then as if nothing had been asked.
    func leave(_ absence: Absence, until deadline: Deadline) throws {
        try waitForTurn(absence, until: deadline)
        if try vacate(absence, until: deadline) { return }
        try comeBack(until: .never)
        throw LockingError.busy(
            .presence,
            holders: (try? membership.members().filter {
                $0.identity == membership.process.identity
            })
                ?? [],
            waited: .zero
        )
    }

    /// Comes in again, and opens what was open. Blocks while another process has the account to
    /// itself. Does nothing where the process is here.
    ///
    /// - Throws: `LockingError` as for coming in the first time; the process is still away then.
    func comeBack(until deadline: Deadline) throws {
        guard let absence = monitor.withLock({ $0.occupancy.absence }) else {
            if isRemoved { tellOccupants() }
            return
        }
        try enter(until: deadline)
        let isKnown: Bool
        do {
            // One that was added under the id meanwhile is another account.
            isKnown = try registry.use { try $0.account(account) }?.birth == birth
        } catch LockingError.closed {
            // The workspace was closed, and its folder removed: nobody comes back to that.
            return try stayAway(after: absence)
        } catch {
            presence.withLock { $0 = nil }
            throw error
        }
        if isKnown { try goOn(after: absence) } else { try stayAway(after: absence) }
    }

    /// Stays away for good, because the account was removed, and tells everybody who waits.
    private func stayAway(after absence: Absence) throws {
        presence.withLock { $0 = nil }
        guard monitor.withLock({ $0.occupancy.stayAway(after: absence) }) else {
            throw LockingError.cancelled
        }
        monitor.broadcast()
        tellOccupants()
    }

    /// What waits in the occupants' lines goes on, and is told when it asks for a stay.
    private func tellOccupants() {
        let occupants = monitor.withLock { $0.occupants.values.compactMap(\.value) }
        for occupant in occupants { try? occupant.comeBack() }
    }

    /// Looks at the leave word, and leaves where it is set. Never waits: leaving is done on a thread
    /// of its own.
    func lookAtLeaveWord() {
        guard isOpen, (try? membership.isAskedToLeave()) == true,
            monitor.withLock({ $0.occupancy.beginReturning() })
        else { return }
        do {
            _ = try WorkerThread.start(name: "lk-leave") { [self] in leaveAndReturn() }
        } catch {
            // The next look tries again.
            monitor.withLock { state in
                _ = state.occupancy.goOn(after: .excluded)
                state.occupancy.returningEnded()
            }
            monitor.broadcast()
        }
    }

    /// Looks at the leave word four times a second, for as long as the attachment lives.
    func watchLeaveWord(with timer: DeadlineTimer) {
        let kernel = SystemClock()
        // Where no timer can be had, writes still look.
        _ = try? timer.schedule(at: Deadline(after: Self.lookInterval, from: kernel.now())) {
            [weak self, weak timer] in
            guard let self, let timer else { return }
            lookAtLeaveWord()
            watchLeaveWord(with: timer)
        }
    }

    private func leaveAndReturn() {
        let kernel = SystemClock()
        while true {
            let soon = Deadline(after: Self.lookInterval, from: kernel.now())
            if (try? vacate(.excluded, until: soon)) == true { break }
            // Whoever asked has given up: nobody need leave any more.
            if (try? membership.isAskedToLeave()) != true { break }
        }
        while monitor.withLock({ $0.occupancy.absence == .excluded }) {
            if (try? comeBack(until: .never)) != nil { break }
            // The kernel refuses for now: too many open files, for example.
            kernel.sleep(until: Deadline(after: Self.lookInterval, from: kernel.now()))
        }
        monitor.withLock { $0.occupancy.returningEnded() }
        monitor.broadcast()
    }

    /// Waits for a thread that leaves or returns already.
    private func waitForTurn(_ absence: Absence, until deadline: Deadline) throws(LockingError) {
        let began = clock.now()
        let isMine = monitor.wait(until: deadline) { state in
            state.occupancy.beginLeaving(absence) ? true : nil
        }
        guard isMine == true else {
            throw .busy(.presence, holders: [], waited: clock.now().duration(since: began))
        }
    }

    /// Returns whether nobody stays any more and PRESENCE is let go.
    private func vacate(_ absence: Absence, until deadline: Deadline) throws -> Bool {
        let occupants = monitor.withLock { $0.occupants.values.compactMap(\.value) }
        for occupant in occupants where try !occupant.vacate(absence, until: deadline) {
            return false
        }
        let isEmpty = monitor.wait(until: deadline) { state in
            state.occupancy.isEmptied(for: absence) ? true : nil
        }
        guard isEmpty == true else { return false }
        presence.withLock { $0 = nil }
        return true
    }

    private func enter(until deadline: Deadline) throws {
        if presence.withLock({ $0 != nil }) { return }
        let absence = monitor.withLock { $0.occupancy.absence }
        var entered: LockGuard? = try Presence.enter(membership, until: deadline) {
            monitor.withLock { $0.occupancy.absence != absence }
        }
        presence.withLock { swap(&$0, &entered) }
    }

    private func goOn(after absence: Absence) throws {
        let occupants = monitor.withLock { state in
            state.occupancy.goOn(after: absence)
                ? state.occupants.values.compactMap(\.value) : nil
        }
        guard let occupants else {
            // Suspended in the last moment: PRESENCE must not stay behind.
            presence.withLock { $0 = nil }
            throw LockingError.cancelled
        }
        monitor.broadcast()
        do {
            for occupant in occupants { try occupant.comeBack() }
        } catch {
            monitor.withLock { $0.occupancy.relapse(to: absence) }
            _ = try vacate(absence, until: .never)
            throw error
        }
    }

    // MARK: - WRITER

    /// Runs a closure while this process holds WRITER, in its turn. Blocks the calling thread, which
    /// must be one of our own.
    ///
    /// - Throws: `LockingError` when the deadline passed, and what the closure throws.
    func underWriter<Value: Sendable>(
        deadline: Deadline,
        _ body: @escaping @Sendable () throws -> Value
    ) throws -> Value {
        let line = try WriterThread.start(membership)
        let work = ClosureWork(body)
        line.submit(work, deadline: deadline)
        defer { line.close(until: deadline) }
        return try work.result()
    }
}

/// Somebody of this process who has an account's files open for long.
protocol Occupant: AnyObject, Sendable {
    /// Finishes what runs, keeps what waits, and closes its connections; or begins to, where it does
    /// so on a thread of its own and then ends its stay.
    ///
    /// - Returns: `false` where something still ran at the deadline.
    func vacate(_ absence: AccountAttachment.Absence, until deadline: Deadline) throws -> Bool

    /// Goes on: the process is here again, perhaps with another file; or the account was removed, and
    /// nobody gets a stay any more.
    ///
    /// - Throws: where it cannot; the process leaves again then.
    func comeBack() throws
}

/// A closure that is admitted once, for rare work that blocks its own thread.
private final class ClosureWork<Value: Sendable>: AdmittedWork {
    private let body: @Sendable () throws -> Value
    private let monitor = Monitor<Result<Value, any Error>?>(nil)

    init(_ body: @escaping @Sendable () throws -> Value) { self.body = body }

    func perform(waited: Duration) {
        let result = Result { try body() }
        monitor.withLock { $0 = result }
    }

    func finish(before following: Following) { monitor.broadcast() }

    func fail(_ error: LockingError) {
        monitor.withLock { $0 = .failure(error) }
        monitor.broadcast()
    }

    func result() throws -> Value {
        // Without a deadline of its own: the line ends every wait by the one it was given.
        guard let result = monitor.wait(until: .never, for: { $0 }) else {
            preconditionFailure("a wait without deadline ended without a result")
        }
        return try result.get()
    }
}

extension Occupancy.Absence {
    /// What lines of writers do meanwhile.
    var suspension: Suspension {
        switch self {
        case .suspended: .refusing
        case .excluded: .keeping
        }
    }
}

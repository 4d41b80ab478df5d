import LockkeeperDomain
import LockkeeperLocking
import LockkeeperSQLite
import LockkeeperStorage

/// Applies the packets that wait as rows, in the order of arrival. Blocks.
///
/// There is one transaction from packet to packet:
///
/// ```
/// begin 1 ─▶ decode 1 ─▶ apply 1, remove 1, begin 2 ─▶ decode 2 ─▶ apply 2, remove 2, begin 3 ─▶ …
/// ```
///
/// To begin a packet is to count an attempt. It is on the disk before the packet is decoded, so that
/// one that ends the process, or the machine, is parked in the end (B100). A packet's row goes in the
/// transaction that applies its events: it is applied once, whoever else is at it (I-3, I-12).
///
/// A packet that fails is passed over in this pass, so that it holds up no other, and tried again with
/// the next. A program that does not read a packet's format leaves it without an attempt.
struct PacketDrain {
    let workspace: Workspace
    let session: Session
    let folder: InboxFolder
    let intake: PacketIntake
    /// Whether the session is to close: then nothing more is begun.
    let isStopping: () -> Bool

    /// What came of the packet that was begun last.
    private enum Last: Sendable {
        case none
        case decoded(PacketTable.Begun, PacketWork)
        case failed(PacketTable.Begun, name: String)
        /// It could not be applied, and that is not its fault.
        case withdrawn(PacketTable.Begun)
    }

    /// What a transaction did.
    private struct Step: Sendable {
        var isApplied = false
        var next: PacketTable.Begun?
        var parkedCount = 0
        /// How many wait; only where there is no next one.
        var waitingCount = 0
    }

    /// Applies what waits.
    ///
    /// - Throws: ``StorageError`` when the mark of what waits cannot be set.
    func run() throws -> InboxReport {
        var report = InboxReport()
        repeat {
            report.stamp = try folder.rowsStamp()
            apply(&report)
            guard report.obstacle == nil, report.leftCount == 0 else { return report }
            folder.forgetRows()
            // Who received a packet meanwhile may have found the mark still there.
            do {
                report.leftCount = try step(.none, after: 0, begins: false).waitingCount
            } catch {
                report.obstacle = error
            }
            if report.leftCount > 0 || report.obstacle != nil { try folder.noteRows() }
        } while report.leftCount > 0 && report.obstacle == nil
        return report
    }

    private func apply(_ report: inout InboxReport) {
        var last = Last.none
        // Those up to here have failed in this pass. They are still there, so that what comes later
        // has a larger number.
        var passedOver: UInt64 = 0
        while true {
            let begins = !isStopping() && !workspace.isSuspended
            let done: Step
            do {
                done = try step(last, after: passedOver, begins: begins)
            } catch {
                guard case .decoded(let packet, _) = last else { return report.obstacle = error }
                passedOver = packet.name.number
                switch PacketFault(error) {
                case .packet: last = .failed(packet, name: PacketFault.name(of: error))
                case .room: last = .withdrawn(packet)
                case .database:
                    // Where this fails as well the attempt stays counted: five of them in a row,
                    // each between two transactions, park a packet that somebody may let go again.
                    _ = try? step(.withdrawn(packet), after: 0, begins: false)
                    return report.obstacle = error
                }
                continue
            }
            report.parkedCount += done.parkedCount
            if done.isApplied { report.appliedCount += 1 }
            guard let next = done.next else {
                report.leftCount = done.waitingCount
                if !begins {
                    let isSuspended = workspace.isSuspended
                    report.obstacle = isSuspended ? LockingError.suspended : LockingError.closed
                }
                return
            }
            do {
                last = .decoded(next, try intake.work(session, next.packet))
            } catch {
                passedOver = next.name.number
                last = .failed(next, name: PacketFault.name(of: error))
            }
        }
    }

    /// One transaction: ends the last packet and begins the next one.
    private func step(_ last: Last, after number: UInt64, begins: Bool) throws -> Step {
        let (formats, attemptCountMax) = (intake.formats, workspace.limits.inboxAttemptCountMax)
        return try session.database.writeFromInbox(
            durability: .durable,
            class: .backfill,
            // Each transaction has its own: there may be many, and decoders take their time.
            deadline: Deadline(
                after: workspace.limits.admissionWaitMax,
                from: workspace.clock.now()
            )
        ) { connection, topics in
            let table = PacketTable(connection)
            var step = Step()
            switch last {
            case .none: break
            case .decoded(let packet, let work):
                // Where the row is gone another process has settled it.
                if try table.remove(packet.name) {
                    try work(connection, &topics)
                    step.isApplied = true
                }
            case .failed(let packet, let name): try table.note(name, of: packet.name)
            case .withdrawn(let packet): try table.uncount(packet.name)
            }
            if begins {
                (step.next, step.parkedCount) = try table.begin(
                    after: number,
                    formats: formats,
                    attemptCountMax: attemptCountMax
                )
            }
            if step.next == nil { step.waitingCount = try table.counts().waiting }
            return step
        }
    }
}

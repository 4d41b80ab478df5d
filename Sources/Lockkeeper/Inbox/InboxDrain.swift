import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import Synchronization

/// Applies the packets that are kept as files, oldest first. Blocks.
///
/// For each packet: it is read and decoded; one transaction looks whether its name is recorded
/// already and its file still there, applies it and records the name; once that is durable the file is
/// removed, and once the removal is durable the name is forgotten. A process may die between any two
/// of these steps, and any number of processes may be at it at once: each packet is applied once
/// (I-12).
///
/// What cannot be applied for reasons that are not its own is left, and ends the drain; one for which
/// the disk has no room is left, and the next one is tried; one that fails by itself counts an
/// attempt, which is written down before an app's decoder or the transaction's work sees the packet, so
/// that one that ends the process is parked in the end.
///
/// Who only stands in line counts none. Any number of processes may stand there with the same packet,
/// behind a program that holds the lock for long, and be killed there: each would count one, and a packet
/// that nobody has tried would be parked. The attempt at the work is counted by who is inside.
struct InboxDrain {
    let workspace: Workspace
    let session: Session
    let folder: InboxFolder
    let intake: PacketIntake
    let deadline: Deadline

    /// How many packets are made durable together.
    private static let roundCountMax = 64
    /// How many recorded names are looked through for files that are gone.
    private static let recordedCountMax = 256

    /// What a transaction found.
    private enum Outcome: Sendable {
        /// The packet is applied now, or was before; its file can go.
        case applied
        /// The file is gone: another process has settled it.
        case gone
        /// It was begun too often and is not applied.
        case exhausted
        /// It seemed to have been begun too often, and others have come back meanwhile.
        case left
    }

    /// Applies what waits.
    ///
    /// - Throws: ``StorageError`` when the folder cannot be read or written.
    func run() throws -> InboxReport {
        var report = InboxReport()
        var tried: Set<PacketName> = []
        try adoptLeftovers()
        while true {
            report.stamp = try folder.waitingStamp()
            let waiting = try folder.waiting()
            let round = waiting.filter { !tried.contains($0) }.prefix(Self.roundCountMax)
            if round.isEmpty || report.obstacle != nil {
                report.leftCount = waiting.count
                if waiting.isEmpty { folder.removeFolderOfNothing() }
                return report
            }
            tried.formUnion(round)
            try run(round, &report)
        }
    }

    private func run(_ round: ArraySlice<PacketName>, _ report: inout InboxReport) throws {
        var applied: [PacketName] = []
        var isDurable = true
        for name in round {
            if workspace.isSuspended { report.obstacle = LockingError.suspended }
            if report.obstacle != nil { break }
            let durability: Durability = name == round.last ? .durable : .committed
            guard try apply(name, durability, &report) else { continue }
            applied.append(name)
            isDurable = durability == .durable
        }
        guard !applied.isEmpty else { return }
        do {
            try settle(applied, isDurable: isDurable)
            report.appliedCount += applied.count
        } catch {
            // Whoever comes next finds their names recorded.
            report.obstacle = report.obstacle ?? error
        }
    }

    /// Applies one packet.
    ///
    /// - Returns: whether its file can go once the transaction is durable.
    private func apply(
        _ name: PacketName,
        _ durability: Durability,
        _ report: inout InboxReport
    ) throws -> Bool {
        let packet: PacketFile
        do {
            let limit = workspace.limits.packetByteCountMax
            guard let file = try folder.read(name, byteCountMax: limit) else { return false }
            packet = file
        } catch {
            // A newer program's packet is left for one.
            if case .packetTorn = error { try park(name, .torn, &report) }
            return false
        }
        guard packet.account == session.token.account else {
            try park(name, .wrongAccount, &report)
            return false
        }
        guard packet.birth == session.attachment.birth else {
            // Somebody kept it for an account of this id that was removed before he had done so.
            try folder.remove([name])
            return false
        }
        // What another program's decoder reads is left for that.
        guard intake.formats.contains(packet.packet.format) else { return false }
        let attempt = Attempt(folder: folder, name: name)
        do {
            var work: PacketWork?
            if packet.attemptCount < workspace.limits.inboxAttemptCountMax {
                work = try decode(packet.packet, attempt)
            }
            switch try write(name, work, durability, attempt) {
            case .applied: return true
            case .gone, .left: return false
            case .exhausted: try park(name, .tooManyAttempts, &report)
            }
        } catch {
            switch PacketFault(error) {
            case .packet: try attempt.count()
            case .room: try attempt.takeBack()
            case .database:
                try attempt.takeBack()
                report.obstacle = error
            }
        }
        return false
    }

    /// Decodes a packet. An app's decoder may end the process, or not come back; ours does neither.
    private func decode(_ packet: Packet, _ attempt: Attempt) throws -> PacketWork {
        guard packet.format != .eventLines else { return try intake.work(session, packet) }
        try attempt.count()
        let work = try intake.work(session, packet)
        try attempt.takeBack()
        return work
    }

    /// An attempt at a packet, which is counted once or not at all.
    private final class Attempt: Sendable {
        private let folder: InboxFolder
        private let name: PacketName
        private let isCounted = Mutex(false)

        init(folder: InboxFolder, name: PacketName) {
            self.folder = folder
            self.name = name
        }

        func count() throws(StorageError) {
            guard !isCounted.withLock({ $0 }), let count = try folder.attemptCount(of: name) else {
                return
            }
            try folder.note(attempts: count + 1, of: name)
            isCounted.withLock { $0 = true }
        }

        /// Another process may have counted one meanwhile, which stays.
        func takeBack() throws(StorageError) {
            guard isCounted.withLock({ $0 }), let count = try folder.attemptCount(of: name) else {
                return
            }
            try folder.note(attempts: max(0, count - 1), of: name)
            isCounted.withLock { $0 = false }
        }
    }

    private func write(
        _ name: PacketName,
        _ work: PacketWork?,
        _ durability: Durability,
        _ attempt: Attempt
    ) throws -> Outcome {
        let attemptCountMax = workspace.limits.inboxAttemptCountMax
        return try submit(durability) { [folder] connection, topics in
            let table = InboxTable(connection)
            if try table.contains(name) { return .applied }
            guard let count = try folder.attemptCount(of: name) else { return .gone }
            guard let work else { return count < attemptCountMax ? .left : .exhausted }
            try attempt.count()
            try work(connection, &topics)
            try table.record(name)
            Failpoint.packetApplied.reach()
            return .applied
        }
    }

    /// Removes the files of packets that were applied, and then their names.
    private func settle(_ names: [PacketName], isDurable: Bool) throws {
        // What another process has applied may not be on the disk either.
        if !isDurable { try submit(.durable) { _, _ in } }
        Failpoint.packetDurable.reach()
        try folder.remove(names)
        Failpoint.packetRemoved.reach()
        let recorded = try submit(.committed) { connection, _ in
            let table = InboxTable(connection)
            try table.forget(names)
            return try table.names(limit: Self.recordedCountMax)
        }
        Failpoint.packetForgotten.reach()
        // Somebody died between the two.
        let gone = try recorded.filter { try !folder.isKept($0) }
        if gone.isEmpty { return }
        try folder.sync()
        try submit(.committed) { connection, _ in try InboxTable(connection).forget(gone) }
    }

    private func park(
        _ name: PacketName,
        _ why: InboxFolder.ParkingReason,
        _ report: inout InboxReport
    ) throws {
        try folder.park(name, because: why)
        report.parkedCount += 1
    }

    private func adoptLeftovers() throws {
        let own = workspace.process.identity.pid
        let pids = Set(try workspace.membership.members().map(\.identity.pid))
        try folder.adoptLeftovers(byteCountMax: workspace.limits.packetByteCountMax) { pid in
            pid == own || pids.contains(pid)
        }
    }

    private func submit<Value: Sendable>(
        _ durability: Durability,
        _ body: @escaping @Sendable (Connection, inout TopicSet) throws -> Value
    ) throws -> Value {
        try session.database.writeFromInbox(
            durability: durability,
            class: .live,
            deadline: deadline,
            body
        )
    }
}

public import LockkeeperDomain
import LockkeeperStorage

/// A packet of the inbox: received, durable, and not applied yet.
public struct KeptPacket: Sendable, Hashable {
    /// Where a packet is kept.
    public enum Place: String, Sendable, Hashable, CaseIterable {
        /// In the account's database.
        case row
        /// In a file of its own, because the database could not take it.
        case file
    }

    /// Its name, which is never given to another one.
    public let name: String
    /// Where it is kept.
    public let place: Place
    /// How many bytes it takes; of a file all of them.
    public let byteCount: Int64
    /// Why it is put aside, and by itself no more applied: "torn", "wrong-account" or
    /// "too-many-attempts"; `nil` where it waits.
    public let parked: String?
    /// Why the database could not take it, as an error's code; `nil` for a row, and where the file
    /// cannot be read.
    public let reason: String?
    /// What the last attempt to apply it failed with: an error's code, or the type of the decoder's
    /// error; `nil` where none failed, where whoever tried died, and for files.
    public let failure: String?
    /// Whether it holds event lines, which every program reads, or what only the app's decoder
    /// reads; `nil` where the file cannot be read.
    public let isEventLines: Bool?
    /// The page that it is known to be, without a look into its bytes.
    public let page: SyncPage?
    /// The process that kept it; `nil` where the file cannot be read.
    public let processName: String?
    /// When, in milliseconds since 1970; for people. `nil` where the file cannot be read.
    public let keptAt: Int64?
    /// How often somebody began to apply it in vain.
    public let attemptCount: Int

    init(_ entry: InboxFolder.Entry, _ file: PacketFile?) {
        name = entry.name.description
        place = .file
        byteCount = entry.byteCount
        parked = entry.parked?.rawValue
        reason = file?.reason
        failure = nil
        isEventLines = file.map { $0.packet.format == .eventLines }
        page = file?.packet.page
        processName = file?.processName
        keptAt = file?.keptAt
        attemptCount = file?.attemptCount ?? 0
    }

    init(_ entry: PacketTable.Entry) {
        name = entry.name.description
        place = .row
        byteCount = Int64(entry.byteCount)
        parked = entry.parked?.rawValue
        reason = nil
        failure = entry.failure
        isEventLines = entry.format == .eventLines
        page = entry.page
        processName = entry.processName
        keptAt = entry.receivedAt
        attemptCount = entry.attemptCount
    }
}

/// What became of the packets of an account's inbox.
public struct InboxReport: Sendable {
    /// Packets whose events are in the database now, durably, and that are kept no more.
    public internal(set) var appliedCount = 0
    /// Packets that were put aside.
    public internal(set) var parkedCount = 0
    /// Packets that wait on.
    public internal(set) var leftCount = 0
    /// Why they wait on, where the reason is not the packets'.
    public internal(set) var obstacle: (any Error)?
    /// The last change of what says that packets wait, from before it was last looked at.
    var stamp: Int64?

    /// The same with what became of others.
    func adding(_ other: InboxReport) -> InboxReport {
        var sum = self
        sum.appliedCount += other.appliedCount
        sum.parkedCount += other.parkedCount
        sum.leftCount += other.leftCount
        sum.obstacle = obstacle ?? other.obstacle
        return sum
    }
}

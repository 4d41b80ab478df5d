import LockkeeperDomain
import LockkeeperStorage

/// A packet that is kept as a file, because its account's database could not take it.
public struct KeptPacket: Sendable, Hashable {
    /// Its name, which is never given to another one.
    public let name: String
    /// The bytes of its file.
    public let byteCount: Int64
    /// Why it is put aside, and by itself no more applied: "torn", "wrong-account" or
    /// "too-many-attempts"; `nil` where it waits.
    public let parked: String?
    /// Why the database could not take it, as an error's code; `nil` where the file cannot be read.
    public let reason: String?
    /// The process that kept it; `nil` where the file cannot be read.
    public let processName: String?
    /// When, in milliseconds since 1970; for people. `nil` where the file cannot be read.
    public let keptAt: Int64?
    /// How often somebody began to apply it in vain.
    public let attemptCount: Int

    init(_ entry: InboxFolder.Entry, _ file: PacketFile?) {
        name = entry.name.description
        byteCount = entry.byteCount
        parked = entry.parked?.rawValue
        reason = file?.reason
        processName = file?.processName
        keptAt = file?.keptAt
        attemptCount = file?.attemptCount ?? 0
    }
}

/// What became of the packets of an account that were kept as files.
public struct InboxReport: Sendable {
    /// Packets that are in the database now, durably, and whose files are gone.
    public internal(set) var appliedCount = 0
    /// Packets that were put aside.
    public internal(set) var parkedCount = 0
    /// Packets that wait on.
    public internal(set) var leftCount = 0
    /// Why they wait on, where the reason is not the packets'.
    public internal(set) var obstacle: (any Error)?
    /// The folder's last change before it was last listed.
    var stamp: Int64?
}

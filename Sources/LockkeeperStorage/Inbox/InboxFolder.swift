package import LockkeeperDomain
import LockkeeperPlatform

/// The packets of one account that are kept as files while its database cannot take them.
///
/// ```
/// <account>/inbox/           0700
///   waiting/                 there only while something waits
///     <name>                 0600; oldest first by name
///     <name>.<pid>-<n>.tmp   being written; nothing was promised of it yet
///   parked/
///     <name>.<why>           put aside, until somebody retries or drops it
///   rows/                    empty; there while packets may wait as rows of the database
/// <account>/reserve          space that a full disk cannot take from the inbox and from deleting
/// ```
///
/// A packet is in exactly one state, and each step is one `rename` or `unlink`, or none:
///
/// ```
///          keep                    applied, durable
/// (none) ───────▶ waiting ─────────────────────────▶ (none)
///                  │   ▲                               ▲
///             park │   │ retry                         │ drop
///                  ▼   │                               │
///                 parked ──────────────────────────────┘
/// ```
///
/// In an encrypted account packets are sealed (``FileSealing``).
///
/// Who applies a packet records its name in the same transaction (``InboxTable``), and removes the
/// file once that is durable. Whoever finds a file of a recorded name removes it. So it does no harm
/// that several processes do all this at once, and no lock is needed.
package struct InboxFolder: Sendable {
    /// The account's folder.
    private let account: String
    private let sealing: FileSealing
    private var inbox: String { "\(account)/inbox" }
    private var waitingFolder: String { "\(inbox)/waiting" }
    private var parkedFolder: String { "\(inbox)/parked" }
    private var rowsFolder: String { "\(inbox)/rows" }
    private var reserve: String { "\(account)/reserve" }

    /// The inbox in an account's folder. Nothing is made yet.
    ///
    /// - Parameter keys: those of an encrypted account's files.
    package init(account: String, keys: KeyRing = KeyRing()) {
        self.account = account
        sealing = FileSealing(account: account, keys: keys)
    }

    /// The folders in which packets are files.
    package var packetFolders: [String] { [waitingFolder, parkedFolder] }

    /// Why a packet was put aside. The raw value is a part of the file's name.
    package enum ParkingReason: String, Sendable, Hashable, CaseIterable {
        /// The file is not what was written.
        case torn
        /// It is a packet of another account.
        case wrongAccount = "wrong-account"
        /// It was begun as often as may be, and whoever did it failed or died.
        case tooManyAttempts = "too-many-attempts"
    }

    /// A packet's file.
    package struct Entry: Sendable, Hashable {
        /// Its name.
        package let name: PacketName
        /// Why it is parked; `nil` where it waits.
        package let parked: ParkingReason?
        /// The file's size.
        package let byteCount: Int64
    }

    // MARK: - Looking

    /// Whether anything waits, as the time of the folder's last change, to be compared for equality;
    /// `nil` where nothing does. One system call.
    package func waitingStamp() throws(StorageError) -> Int64? {
        try system { () throws(SystemCallError) in
            try FileSystem.status(waitingFolder)?.modified
        }
    }

    /// What waits, oldest first.
    package func waiting() throws(StorageError) -> [PacketName] {
        try names(in: waitingFolder).compactMap { PacketName($0) }.sorted()
    }

    /// Everything that is kept: what waits, oldest first, then what is parked.
    package func entries() throws(StorageError) -> [Entry] {
        var entries: [Entry] = []
        for name in try waiting() {
            guard let size = try size(waitingPath(name)) else { continue }
            entries.append(Entry(name: name, parked: nil, byteCount: size))
        }
        for (name, why) in try parked().sorted(by: { $0.name < $1.name }) {
            guard let size = try size(parkedPath(name, why)) else { continue }
            entries.append(Entry(name: name, parked: why, byteCount: size))
        }
        return entries
    }

    /// Whether a packet waits.
    package func isWaiting(_ name: PacketName) throws(StorageError) -> Bool {
        try size(waitingPath(name)) != nil
    }

    /// Whether a packet is kept at all.
    package func isKept(_ name: PacketName) throws(StorageError) -> Bool {
        // In this order, against which a packet that is retried cannot slip through.
        if try parked().contains(where: { $0.name == name }) { return true }
        return try isWaiting(name)
    }

    /// Reads a packet; `nil` where it is gone.
    ///
    /// - Throws: ``StorageError/packetTorn(path:reason:)``,
    ///   ``StorageError/packetNewer(path:version:)``.
    package func read(_ entry: PacketName, byteCountMax: Int) throws(StorageError) -> PacketFile? {
        try read(waitingPath(entry), byteCountMax)
    }

    /// Reads a packet that waits or is parked; `nil` where it is gone.
    package func read(_ entry: Entry, byteCountMax: Int) throws(StorageError) -> PacketFile? {
        guard let why = entry.parked else {
            return try read(entry.name, byteCountMax: byteCountMax)
        }
        return try read(parkedPath(entry.name, why), byteCountMax)
    }

    // MARK: - Keeping

    /// Keeps a packet. When this returns, file and name are on the disk.
    ///
    /// The bounds are looked at before: as many processes as keep at the same moment may each go past
    /// them by one packet.
    ///
    /// - Throws: ``StorageError/inboxFull(path:packetCount:byteCount:)``, and ``StorageError/system(_:)``
    ///   with `ENOSPC` when not even the reserve suffices. Nothing is kept then.
    package func keep(
        _ packet: PacketFile,
        limits: Limits,
        using generator: inout some RandomNumberGenerator
    ) throws(StorageError) -> Entry {
        let bytes = try sealing.sealed(packet.encoded)
        let kept = try entries()
        let byteCount = kept.reduce(0) { $0 + $1.byteCount }
        guard kept.count < limits.inboxPacketCountMax,
            byteCount + Int64(bytes.count) <= Int64(limits.inboxByteCountMax)
        else {
            throw .inboxFull(path: inbox, packetCount: kept.count, byteCount: byteCount)
        }
        let newest = kept.map(\.name.number).max() ?? 0
        let name = PacketName(number: newest + 1, using: &generator)
        do throws(SystemCallError) {
            try write(bytes, name)
        } catch {
            guard error.errno == .noSpace || error.errno == .quotaExceeded,
                releaseReserve()
            else { throw .system(error) }
            try system { () throws(SystemCallError) in try write(bytes, name) }
        }
        return Entry(name: name, parked: nil, byteCount: Int64(bytes.count))
    }

    /// Takes space for times when the disk is full, where that was not done and as much is left for the
    /// log afterwards: what was deleted makes room in the database, and writing there needs a log.
    /// Where it cannot be had now, somebody who opens the account later tries again.
    package func makeReserve(byteCount: Int64) {
        do throws(SystemCallError) {
            if try FileSystem.status(reserve) != nil { return }
            guard try FileSystem.freeBytes(at: account) >= 2 * byteCount else { return }
            let file = try FileDescriptor(
                opening: reserve,
                [.readWrite, .create, .exclusive, .noFollow]
            )
            do throws(SystemCallError) {
                try file.allocate(byteCount)
            } catch {
                _ = try? FileSystem.remove(reserve)
            }
        } catch {
            // Another process may be at it, or the disk is full already.
        }
    }

    /// Whether the space is taken.
    package var hasReserve: Bool { ((try? FileSystem.status(reserve)) ?? nil) != nil }

    /// Whether so many bytes of the disk are free. Where that cannot be known nobody is stopped by it.
    package func hasRoom(byteCount: Int64) -> Bool {
        ((try? FileSystem.freeBytes(at: account)) ?? .max) >= byteCount
    }

    /// Gives the reserve to whoever needs it now.
    ///
    /// - Returns: whether there was one.
    package func releaseReserve() -> Bool { (try? FileSystem.remove(reserve)) == true }

    // MARK: - Moving on

    /// How often a packet that waits was begun; `nil` where it is gone.
    package func attemptCount(of name: PacketName) throws(StorageError) -> Int? {
        do throws(SystemCallError) {
            let file = try FileDescriptor(opening: waitingPath(name), [.noFollow])
            var count: UInt8 = 0
            _ = try withUnsafeMutableBytes(of: &count) { (buffer) throws(SystemCallError) in
                try file.read(into: buffer, at: PacketFile.attemptOffset)
            }
            return Int(count)
        } catch {
            if error.errno == .noSuchFile { return nil }
            throw .system(error)
        }
    }

    /// Writes down how often a packet was begun. It need not survive a power loss.
    package func note(attempts: Int, of name: PacketName) throws(StorageError) {
        do throws(SystemCallError) {
            let file = try FileDescriptor(opening: waitingPath(name), [.writeOnly, .noFollow])
            try file.write([UInt8(clamping: attempts)], at: PacketFile.attemptOffset)
        } catch {
            // It is gone: another process was faster.
            if error.errno != .noSuchFile { throw .system(error) }
        }
    }

    /// Puts a packet that waits aside. Nothing happens where it is gone.
    package func park(_ name: PacketName, because why: ParkingReason) throws(StorageError) {
        try system { () throws(SystemCallError) in
            try FileSystem.makeDirectory(parkedFolder)
            try move(waitingPath(name), to: parkedPath(name, why))
        }
        try sync()
        removeFolderOfNothing()
    }

    /// Lets a parked packet wait again, as if nobody had begun it.
    ///
    /// - Returns: whether there was one.
    package func retry(_ name: PacketName) throws(StorageError) -> Bool {
        guard let why = try parked().first(where: { $0.name == name })?.why else { return false }
        try system { () throws(SystemCallError) in
            while true {
                try FileSystem.makeDirectory(waitingFolder)
                do throws(SystemCallError) {
                    try FileSystem.rename(parkedPath(name, why), to: waitingPath(name))
                    break
                } catch {
                    // The folder of what waits was found empty and removed in between.
                    guard error.errno == .noSuchFile,
                        try FileSystem.status(parkedPath(name, why)) != nil
                    else { throw error }
                }
            }
        }
        try note(attempts: 0, of: name)
        try sync()
        return true
    }

    /// Removes packets, whether they wait or are parked, and waits until that is on the disk.
    ///
    /// - Returns: how many there were.
    @discardableResult
    package func remove(_ names: some Collection<PacketName>) throws(StorageError) -> Int {
        let parked = try parked()
        var count = 0
        for name in names {
            let paths =
                [waitingPath(name)]
                + parked.filter { $0.name == name }.map { parkedPath($0.name, $0.why) }
            for path in paths {
                let isRemoved = try system { () throws(SystemCallError) in
                    try FileSystem.remove(path)
                }
                if isRemoved { count += 1 }
            }
        }
        try sync()
        removeFolderOfNothing()
        return count
    }

    /// Removes a packet of an account that is gone, and the folders that were made for it, as far as
    /// nothing else is in them.
    package func removeWithFolders(_ name: PacketName) throws(StorageError) {
        try remove([name])
        for folder in [inbox, account] { _ = try? FileSystem.removeDirectory(folder) }
    }

    /// Gives files whose writers died before they named them their names, where they are whole: they may
    /// be the only copy. Torn ones are removed, since nothing was promised of them.
    ///
    /// - Parameter isWriting: whether a process of a pid may still be writing.
    package func adoptLeftovers(
        byteCountMax: Int,
        isWriting: (Int32) -> Bool
    ) throws(StorageError) {
        for file in try names(in: waitingFolder) where file.hasSuffix(".tmp") {
            let parts = file.split(separator: ".")
            guard parts.count == 3, let name = PacketName(parts[0]),
                let pid = Int32(parts[1].prefix { $0 != "-" }), !isWriting(pid)
            else { continue }
            let path = "\(waitingFolder)/\(file)"
            do throws(StorageError) {
                _ = try read(path, byteCountMax)
            } catch {
                if case .packetTorn = error {
                    try system { () throws(SystemCallError) in _ = try FileSystem.remove(path) }
                    continue
                }
            }
            try system { () throws(SystemCallError) in try move(path, to: waitingPath(name)) }
        }
    }

    /// Waits until names that were removed and renamed are on the disk.
    package func sync() throws(StorageError) {
        for folder in [waitingFolder, parkedFolder, inbox] {
            do throws(SystemCallError) {
                try FileSystem.syncDirectory(folder)
            } catch {
                if error.errno != .noSuchFile { throw .system(error) }
            }
        }
    }

    /// Removes the folder of what waits where it is empty: that it is gone says with one system call that
    /// nothing waits. Who keeps a packet makes it again.
    package func removeFolderOfNothing() { _ = try? FileSystem.removeDirectory(waitingFolder) }

    // MARK: - Rows

    /// Whether packets may wait as rows of the database (``PacketTable``), as the time of the mark's
    /// last change; `nil` where none does. One system call.
    package func rowsStamp() throws(StorageError) -> Int64? {
        try system { () throws(SystemCallError) in try FileSystem.status(rowsFolder)?.modified }
    }

    /// Says that packets wait as rows. The mark is on the disk when this returns, so that whoever
    /// opens the account after a loss of power finds them without a look into the database.
    package func noteRows() throws(StorageError) {
        try system { () throws(SystemCallError) in
            if try FileSystem.status(rowsFolder) != nil { return }
            try FileSystem.makeDirectory(inbox)
            try FileSystem.makeDirectory(rowsFolder)
            for folder in [inbox, account] { try FileSystem.syncDirectory(folder) }
        }
    }

    /// Says that no packet waits as a row. Who finds one afterwards sets the mark again.
    package func forgetRows() { _ = try? FileSystem.removeDirectory(rowsFolder) }

    // MARK: - Steps

    private func write(_ bytes: [UInt8], _ name: PacketName) throws(SystemCallError) {
        try FileSystem.makeDirectory(FileSystem.directory(of: account))
        try FileSystem.makeDirectory(account)
        try FileSystem.makeDirectory(inbox)
        while true {
            try FileSystem.makeDirectory(waitingFolder)
            do throws(SystemCallError) {
                try FileSystem.replaceFile(at: waitingPath(name), with: bytes)
                break
            } catch {
                // The folder was found empty and removed in between. Somebody drains then, who does
                // not do so for ever.
                if error.errno != .noSuchFile { throw error }
            }
        }
        // The folders may all be new, and another process that made one may not have synced it.
        var folder = waitingFolder
        for _ in 0..<4 {
            folder = FileSystem.directory(of: folder)
            try FileSystem.syncDirectory(folder)
        }
    }

    private func move(_ source: String, to target: String) throws(SystemCallError) {
        do throws(SystemCallError) {
            try FileSystem.rename(source, to: target)
        } catch {
            // Another process was faster.
            if error.errno != .noSuchFile { throw error }
        }
    }

    private func read(_ path: String, _ byteCountMax: Int) throws(StorageError) -> PacketFile? {
        let bytes: [UInt8]
        do throws(SystemCallError) {
            // One byte more than any whole file has, so that a longer one is found out.
            bytes = try FileSystem.contents(
                of: path,
                limit: byteCountMax + PacketFile.overheadByteCountMax
                    + FileSealing.overheadByteCount + 1
            )
        } catch {
            if error.errno == .noSuchFile { return nil }
            throw .system(error)
        }
        guard let content = try sealing.opened(bytes, at: path) else {
            throw .packetTorn(path: path, reason: "it is not what was sealed")
        }
        return try PacketFile(decoding: content, path: path)
    }

    private func parked() throws(StorageError) -> [(name: PacketName, why: ParkingReason)] {
        try names(in: parkedFolder).compactMap { file in
            let parts = file.split(separator: ".", maxSplits: 1)
            guard parts.count == 2, let name = PacketName(parts[0]),
                let why = ParkingReason(rawValue: String(parts[1]))
            else { return nil }
            return (name, why)
        }
    }

    private func names(in folder: String) throws(StorageError) -> [String] {
        do throws(SystemCallError) {
            return try FileSystem.list(folder)
        } catch {
            if error.errno == .noSuchFile { return [] }
            throw .system(error)
        }
    }

    private func size(_ path: String) throws(StorageError) -> Int64? {
        try system { () throws(SystemCallError) in try FileSystem.status(path)?.size }
    }

    private func waitingPath(_ name: PacketName) -> String { "\(waitingFolder)/\(name)" }

    private func parkedPath(_ name: PacketName, _ why: ParkingReason) -> String {
        "\(parkedFolder)/\(name).\(why.rawValue)"
    }
}

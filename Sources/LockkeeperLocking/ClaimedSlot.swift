import LockkeeperPlatform
import Synchronization

/// A lock file that was opened and a record slot of it that was taken: what a
/// ``LockFileMembership`` has while it is attached. The slot's byte is held for as long as this
/// lives.
final class ClaimedSlot: Sendable {
    /// Holds the slot's byte.
    let descriptor: LockDescriptor
    /// The slot's number.
    let slot: Int
    /// What was last written into the record; read and changed under the membership's lock.
    let lastActivity = Atomic<UInt8>(ProcessActivity.opening.rawValue)

    /// The syncs of this process. The membership's lock keeps them and the file the same.
    let lanes: Mutex<SyncLanes>

    private init(descriptor: consuming LockDescriptor, slot: Int, lanes: SyncLanes) {
        self.descriptor = descriptor
        self.slot = slot
        self.lanes = Mutex(lanes)
    }

    /// Empties the record, so that the slot does not name a process that has left.
    deinit {
        // A leftover record does no harm: its byte is free.
        let empty = [UInt8](repeating: 0, count: LockFileLayout.recordByteCount)
        try? Self.write(empty, into: slot, of: descriptor)
        try? descriptor.unlock(LockFileLayout.byte(ofSlot: slot))
    }

    /// Opens the file, takes the first free slot, and writes a record into it.
    ///
    /// - Throws: The errors of ``LockFileMembership/init(path:process:clock:)``.
    static func claim(
        path: String,
        record: ProcessRecord
    ) throws(LockingError) -> ClaimedSlot {
        let descriptor = try systemCalls { () throws(SystemCallError) in
            try LockDescriptor(opening: path)
        }
        try prepareHeader(of: descriptor, path: path)
        let slot = try takeSlot(of: descriptor, path: path)
        let lanes = try announce(record, in: slot, of: descriptor, path: path)
        return ClaimedSlot(descriptor: descriptor, slot: slot, lanes: SyncLanes(lanes))
    }

    /// Writes what a lane says.
    func write(_ mark: UInt8, toLane lane: Int) throws(SystemCallError) {
        var mark = mark
        let offset = LockFileLayout.laneOffset(lane, ofSlot: slot)
        try withUnsafeBytes(of: &mark) { (bytes) throws(SystemCallError) in
            try descriptor.write(bytes, at: offset)
        }
    }

    /// Writes a record, but for the lanes: what an owner before this one died in is still unknown.
    private static func write(
        _ record: [UInt8],
        into slot: Int,
        of descriptor: borrowing LockDescriptor
    ) throws(SystemCallError) {
        let offset = LockFileLayout.offset(ofSlot: slot)
        let (lanes, behind) = (
            LockFileLayout.lanesOffset, LockFileLayout.lanesOffset + SyncLanes.count
        )
        try descriptor.write(Array(record[..<lanes]), at: offset)
        try descriptor.write(Array(record[behind...]), at: offset + Int64(behind))
    }

    /// Makes the header of a new file. A file that is no lock file is made one: its content is
    /// nobody's, because the name is ours.
    private static func prepareHeader(
        of descriptor: borrowing LockDescriptor,
        path: String
    ) throws(LockingError) {
        let header: LockFileLayout.Header
        do throws(SystemCallError) {
            let bytes = try descriptor.read(count: LockFileLayout.headerByteCount, at: 0)
            header = bytes.withUnsafeBytes { LockFileLayout.header($0) }
            if header == .empty || header == .rubbish {
                try descriptor.write(LockFileLayout.emptyHeader, at: 0)
            }
        } catch {
            throw .system(error)
        }
        if case .otherVersion(let version) = header {
            throw .lockFileVersion(path: path, version: version)
        }
    }

    /// The first slot whose byte nobody holds; what its record says does not matter.
    private static func takeSlot(
        of descriptor: borrowing LockDescriptor,
        path: String
    ) throws(LockingError) -> Int {
        for slot in 0..<LockFileLayout.recordCount {
            do throws(SystemCallError) {
                if try descriptor.tryLock(LockFileLayout.byte(ofSlot: slot), .exclusive) {
                    return slot
                }
            } catch {
                throw .system(error)
            }
        }
        throw .tooManyProcesses(path: path, processCountMax: LockFileLayout.recordCount)
    }

    /// Returns what the lanes of the slot say.
    private static func announce(
        _ record: ProcessRecord,
        in slot: Int,
        of descriptor: borrowing LockDescriptor,
        path: String
    ) throws(LockingError) -> [UInt8] {
        let lanes: [UInt8]
        let isStillAtPath: Bool
        do throws(SystemCallError) {
            lanes = try descriptor.read(
                count: SyncLanes.count,
                at: LockFileLayout.laneOffset(0, ofSlot: slot)
            )
            try write(LockFileLayout.encode(record), into: slot, of: descriptor)
            isStillAtPath = try descriptor.isStill(at: path)
        } catch {
            throw .system(error)
        }
        // Replaced in the moment of opening: nobody is to come in by the old file.
        guard isStillAtPath else { throw .lockFileReplaced(path: path) }
        return lanes
    }
}

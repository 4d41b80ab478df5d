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

    private init(descriptor: consuming LockDescriptor, slot: Int) {
        self.descriptor = descriptor
        self.slot = slot
    }

    /// Empties the record, so that the slot does not name a process that has left.
    deinit {
        // A leftover record does no harm: its byte is free.
        let empty = [UInt8](repeating: 0, count: LockFileLayout.recordByteCount)
        try? descriptor.write(empty, at: LockFileLayout.offset(ofSlot: slot))
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
        try announce(record, in: slot, of: descriptor, path: path)
        return ClaimedSlot(descriptor: descriptor, slot: slot)
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

    private static func announce(
        _ record: ProcessRecord,
        in slot: Int,
        of descriptor: borrowing LockDescriptor,
        path: String
    ) throws(LockingError) {
        let isStillAtPath: Bool
        do throws(SystemCallError) {
            let bytes = LockFileLayout.encode(record)
            try descriptor.write(bytes, at: LockFileLayout.offset(ofSlot: slot))
            isStillAtPath = try descriptor.isStill(at: path)
        } catch {
            throw .system(error)
        }
        // Replaced in the moment of opening: nobody is to come in by the old file.
        guard isStillAtPath else { throw .lockFileReplaced(path: path) }
    }
}

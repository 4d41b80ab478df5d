import LockkeeperDomain
import LockkeeperPlatform

/// Who is here, and who holds what.
///
/// The kernel does not tell whose an open-file-description lock is: `F_OFD_GETLK` and `/proc/locks`
/// give -1. But `/proc/<pid>/fdinfo/<n>` lists the locks of each description that the process has
/// open, so the holder is found among the processes with a living record. The answers are for
/// sentences; nothing is decided by them.
extension LockFileMembership {
    /// Everybody who has the lock file open and a record in it, this process included, in the
    /// order of their slots.
    ///
    /// - Parameter includingSelf: whether this membership's own slot is among them. It is left out
    ///   by its slot and not by the pid: a process can have other memberships beside.
    /// - Throws: ``LockingError/system(_:)`` when the kernel refuses.
    package func members(includingSelf: Bool = true) throws(LockingError) -> [Holder] {
        let records = try livingRecords(includingSelf: includingSelf)
        return try systemCalls { () throws(SystemCallError) in try records.map(holder) }
    }

    /// The processes that hold a lock. Empty where nobody does, or nobody with a record.
    ///
    /// - Parameter includingSelf: whether this membership may be named. Who looks for what stands in
    ///   its own way is not to find itself.
    /// - Throws: ``LockingError/system(_:)`` when the kernel refuses.
    package func holders(
        of lock: LockByte,
        includingSelf: Bool = true
    ) throws(LockingError) -> [Holder] {
        try holders(ofByte: LockFileLayout.byte(of: lock), includingSelf: includingSelf)
    }

    /// The processes that hold a byte.
    func holders(
        ofByte byte: Int64,
        includingSelf: Bool
    ) throws(LockingError) -> [Holder] {
        let file = try withClaim { (claim) throws(SystemCallError) in claim.descriptor.identity }
        let records = try livingRecords(includingSelf: includingSelf)
        return try systemCalls { () throws(SystemCallError) in
            var pids: Set<Int32> = []
            var holders: [Holder] = []
            for (record, isOwn) in records {
                let pid = record.process.identity.pid
                // A process may be a member twice, in the tests for example; it is named once.
                // Beside oneself only one that says that it is at work can be meant.
                let isIdleTwin =
                    !includingSelf && pid == process.identity.pid && record.activity == .idle
                guard !isIdleTwin, pids.insert(pid).inserted, hasLock(on: byte, of: file, pid: pid)
                else {
                    continue
                }
                holders.append(try holder(record, isOwn))
            }
            return holders
        }
    }

    /// The processes without a record that hold a byte: what inherited a description.
    func strangers(
        holding byte: Int64,
        beside members: Set<Int32>
    ) throws(LockingError) -> [ClaimHeir] {
        let file = try withClaim { (claim) throws(SystemCallError) in claim.descriptor.identity }
        return try systemCalls { () throws(SystemCallError) in
            var heirs: [ClaimHeir] = []
            for pid in try FileSystem.list("/proc").compactMap({ Int32($0) }).sorted()
            where !members.contains(pid) && hasLock(on: byte, of: file, pid: pid) {
                guard let identity = try ProcessIdentity.read(pid: pid),
                    let program = ProcessIdentity.programName(pid: pid)
                else { continue }
                heirs.append(
                    ClaimHeir(
                        pid: pid,
                        program: program,
                        condition: try identity.condition()
                    )
                )
            }
            return heirs
        }
    }

    private func holder(
        _ record: ProcessRecord,
        _ isOwn: Bool
    ) throws(SystemCallError) -> Holder {
        Holder(
            record: record,
            condition: try record.process.identity.condition(),
            observedAt: clock.now(),
            isSelf: isOwn
        )
    }

    /// A record, and whether it is this membership's.
    private typealias LivingRecord = (record: ProcessRecord, isOwn: Bool)

    /// The records whose bytes are held.
    private func livingRecords(includingSelf: Bool) throws(LockingError) -> [LivingRecord] {
        try withClaim { (claim) throws(SystemCallError) in
            try livingRecords(claim, includingSelf: includingSelf)
        }
    }

    private func livingRecords(
        _ claim: ClaimedSlot,
        includingSelf: Bool
    ) throws(SystemCallError) -> [LivingRecord] {
        let bytes = try claim.descriptor.read(
            count: LockFileLayout.recordsByteCount,
            at: LockFileLayout.recordsOffset
        )
        var records: [LivingRecord] = []
        for slot in 0..<LockFileLayout.recordCount where includingSelf || slot != claim.slot {
            let record = bytes.withUnsafeBytes { buffer in
                let start = slot * LockFileLayout.recordByteCount
                return LockFileLayout.decode(
                    UnsafeRawBufferPointer(
                        rebasing: buffer[start..<(start + LockFileLayout.recordByteCount)]
                    )
                )
            }
            guard let record else { continue }
            // One's own byte stands in nobody's way, so that the kernel does not show it.
            if slot != claim.slot {
                let byte = LockFileLayout.byte(ofSlot: slot)
                guard try claim.descriptor.isHeldElsewhere(byte) else { continue }
            }
            records.append((record, slot == claim.slot))
        }
        return records
    }

    /// Whether a process has a description of this lock file that holds a byte. What cannot be
    /// read, because the process has ended meanwhile or may not be looked into, holds nothing.
    private func hasLock(on byte: Int64, of file: FileIdentity, pid: Int32) -> Bool {
        guard let numbers = try? FileSystem.list("/proc/\(pid)/fd") else { return false }
        return numbers.contains { number in
            guard let status = try? FileSystem.status("/proc/\(pid)/fd/\(number)"),
                status.identity == file,
                let text = try? FileSystem.contents(of: "/proc/\(pid)/fdinfo/\(number)")
            else { return false }
            return KernelLock.list(in: text).contains {
                $0.kind == .openFileDescription && $0.covers(byte)
            }
        }
    }
}

import LockkeeperDomain
import LockkeeperPlatform
import Synchronization

/// A sync of the account's log that somebody began and whose result nobody is known to have looked
/// at: its lane in a record says so.
package struct UnfinishedSync: Sendable, Hashable {
    let slot: Int
    let lane: Int
    /// What the lane says; a sync that has ended, and one that began after it, change it.
    let mark: UInt8
}

/// The four lanes in which one process syncs. A lane's byte in the record is odd from before a sync
/// begins until its result was looked at.
///
/// The kernel tells a failed sync once to each descriptor that was open then, and never to one that
/// is opened later. So who dies between the two leaves a log of which nobody knows whether it is on
/// the disk; the next one finds the odd byte (design 5.2).
struct SyncLanes: Sendable {
    static let count = 4

    private var marks: [UInt8]
    private var isBusy = [Bool](repeating: false, count: count)
    /// The marks that an earlier owner of the slot left behind; they stay odd until they are
    /// forgotten.
    private var isInherited: [Bool]

    /// The lanes of a slot as its last owner left them.
    init(_ marks: [UInt8]) {
        precondition(marks.count == Self.count, "a record has \(Self.count) lanes")
        self.marks = marks
        isInherited = marks.map(\.isOdd)
    }

    /// Takes a free lane and says what to write into it; `nil` where all are taken.
    mutating func begin() -> (lane: Int, mark: UInt8)? {
        guard let lane = isBusy.firstIndex(of: false) else { return nil }
        isBusy[lane] = true
        marks[lane] |= 1
        return (lane, marks[lane])
    }

    /// Gives a lane back and says what to write into it.
    mutating func end(_ lane: Int) -> UInt8 {
        isBusy[lane] = false
        if !isInherited[lane] { marks[lane] &+= 1 }
        return marks[lane]
    }

    /// Whether a mark is of an owner before this one.
    func isInherited(_ lane: Int) -> Bool { isInherited[lane] }

    /// Forgets what an earlier owner left in a lane. Returns what to write; `nil` where nothing is
    /// to be written, or a sync in the lane will do it.
    mutating func forget(_ lane: Int) -> UInt8? {
        guard isInherited[lane] else { return nil }
        isInherited[lane] = false
        if isBusy[lane] { return nil }
        marks[lane] &+= 1
        return marks[lane]
    }
}

extension UInt8 {
    /// Whether a lane's byte says that a sync is under way.
    var isOdd: Bool { self & 1 == 1 }
}

extension LockFileMembership {
    /// Runs a sync of the account's log, and what looks at its result, while the record says so.
    ///
    /// - Throws: what the closure throws; ``LockingError/system(_:)`` when the kernel refuses.
    package func whileSyncing<Value>(_ body: () throws -> Value) throws -> Value {
        let lane = try takeLane()
        let result = Result { try body() }
        try withClaim { (claim) throws(SystemCallError) in
            let mark = claim.lanes.withLock { $0.end(lane) }
            try claim.write(mark, toLane: lane)
        }
        return try result.get()
    }

    /// A lane for a sync. A process syncs an account on at most three threads at a time; where a
    /// fourth and fifth come, they wait for each other.
    private func takeLane() throws(LockingError) -> Int {
        while true {
            let lane = try withClaim { (claim) throws(SystemCallError) -> Int? in
                guard let (lane, mark) = claim.lanes.withLock({ $0.begin() }) else { return nil }
                try claim.write(mark, toLane: lane)
                return lane
            }
            if let lane { return lane }
            let clock = SystemClock()
            clock.sleep(until: Deadline(after: .milliseconds(1), from: clock.now()))
        }
    }

    /// The syncs that others are in, or died in. Of this process only those count that an earlier
    /// owner of its slot died in.
    ///
    /// - Throws: ``LockingError/system(_:)`` when the kernel refuses.
    package func unfinishedSyncs() throws(LockingError) -> [UnfinishedSync] {
        try withClaim { (claim) throws(SystemCallError) in
            let bytes = try claim.descriptor.read(
                count: LockFileLayout.recordsByteCount,
                at: LockFileLayout.recordsOffset
            )
            let inherited = claim.lanes.withLock { $0 }
            var unfinished: [UnfinishedSync] = []
            for slot in 0..<LockFileLayout.recordCount {
                let start = slot * LockFileLayout.recordByteCount + LockFileLayout.lanesOffset
                for lane in 0..<SyncLanes.count where bytes[start + lane].isOdd {
                    if slot == claim.slot, !inherited.isInherited(lane) { continue }
                    unfinished.append(
                        UnfinishedSync(slot: slot, lane: lane, mark: bytes[start + lane])
                    )
                }
            }
            return unfinished
        }
    }

    /// Takes back what somebody who died left in a lane, after the log was made durable. A lane of a
    /// process that lives is left to it.
    ///
    /// - Throws: ``LockingError/system(_:)`` when the kernel refuses.
    package func forget(_ sync: UnfinishedSync) throws(LockingError) {
        let isOwn = try withClaim { (claim) throws(SystemCallError) -> Bool in
            guard sync.slot == claim.slot else { return false }
            if let mark = claim.lanes.withLock({ $0.forget(sync.lane) }) {
                try claim.write(mark, toLane: sync.lane)
            }
            return true
        }
        if isOwn { return }
        let byte = LockFileLayout.byte(ofSlot: sync.slot)
        let offset = LockFileLayout.laneOffset(sync.lane, ofSlot: sync.slot)
        let candidate = try openDescription()
        try systemCalls { () throws(SystemCallError) in
            // Whoever holds the byte owns the record: a newcomer may have taken the slot.
            guard try candidate.descriptor.tryLock(byte, .exclusive) else { return }
            if try candidate.descriptor.read(count: 1, at: offset) == [sync.mark] {
                try candidate.descriptor.write([sync.mark &+ 1], at: offset)
            }
            try candidate.descriptor.unlock(byte)
        }
    }
}

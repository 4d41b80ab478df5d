import LockkeeperDomain
import LockkeeperPlatform

/// The layout of `workspace.locks` and `account.locks`, version 1. Integers are little endian.
///
///     offset   width  content
///          0       7  "LKLOCKS"
///          7       1  version
///          8       8  admission count: raised by every holder of WRITER, while it holds it
///         16       8  skip word: not 0 says that QUEUE is to be passed by; set by a holder of
///                     WRITER who has seen that QUEUE's holder is stopped, cleared by whoever
///                     gets QUEUE
///         24       8  leave word: not 0 asks everybody to leave; counts only while ENTRY is held
///                     exclusively
///         32      24  distrust word of the messages: boot id (16), file number (8)
///         56      24  distrust word of the settings: the same
///         80    4016  zeros
///       4096   65536  256 records of 256 bytes
///
/// A record:
///
///          0       4  "LKPR"
///          4       4  pid
///          8       8  start time, in clock ticks since the boot
///         16      16  boot id
///         32       8  since when it does what it does, in nanoseconds of the monotonic clock
///         40       1  activity
///         41       1  role
///         42       1  bytes of the program's name
///         43       1  bytes of the process's name
///         44       2  steps of the activity that are done
///         46       2  how many there are; 0 where it has no steps
///         48      96  the program's name, UTF-8
///        144      96  the process's name, UTF-8
///        240       4  four lanes for syncs of the log, one byte each: odd from before a sync until
///                     its result was looked at. They outlive their owner: who comes into the slot
///                     leaves them as they are until the log was made durable.
///        244       1  what the oldest read transaction reads
///        245       3  zeros
///        248       8  since when it runs, in nanoseconds of the monotonic clock; 0 where there is
///                     none, or none that has lasted long enough to be written down
///
/// Locks are taken on bytes behind every content, and the kernel does not care whether the file
/// has them:
///
///     2^30 + 0…2      HOST, SWITCH, HUB
///     2^30 + 16…20    ENTRY, PRESENCE, MAINTENANCE, QUEUE, WRITER
///     2^30 + 4096…    one for each record, locked by its process for life
///     2^40 + n        the claim of outbox item n
///     2^41 + n        the claim of the effect of message row n
///
/// Version rule: a new field takes zeros that it reads as absent, and the version stays. What an
/// older program would get wrong, above all another place or order of locks, raises the version,
/// and a program refuses a version that it does not know.
///
/// The content may be cut or overwritten at any time by anybody with the permission. Zeros are a
/// valid value of every field; a record that makes no sense is no record.
enum LockFileLayout {
    static let version: UInt8 = 1
    static let headerByteCount = 80

    /// The admission count and the skip word, which are read in one call.
    static let turnstileOffset: Int64 = 8
    static let skipOffset: Int64 = 16
    static let leaveOffset: Int64 = 24

    static let recordCount = 256
    static let recordByteCount = 256
    static let recordsOffset: Int64 = 4096
    static let recordsByteCount = recordCount * recordByteCount
    /// Where, in a record, the two words stand that change with the activity.
    static let activityOffset: Int64 = 32
    /// Where, in a record, the lanes stand.
    static let lanesOffset = 240

    /// Where, in a record, the oldest read stands.
    static let oldestReadOffset: Int64 = 244

    static let nameByteCountMax = 96

    private static let magic: [UInt8] = Array("LKLOCKS".utf8)
    private static let recordMagic: [UInt8] = Array("LKPR".utf8)
    private static let programOffset = 48
    private static let processNameOffset = 144
    private static let firstLock: Int64 = 1 << 30

    /// What the first bytes of a file say.
    enum Header: Equatable {
        /// A new file, or one that was cut.
        case empty
        /// A file of this version.
        case valid
        /// A file of a version that this program does not know.
        case otherVersion(UInt8)
        /// No lock file.
        case rubbish
    }

    /// The bytes of an empty header with no word set.
    static var emptyHeader: [UInt8] {
        magic + [version] + Array(repeating: 0, count: headerByteCount - 8)
    }

    /// Judges the first ``headerByteCount`` bytes.
    static func header(_ bytes: UnsafeRawBufferPointer) -> Header {
        if bytes.allSatisfy({ $0 == 0 }) { return .empty }
        guard bytes[..<7].elementsEqual(magic) else { return .rubbish }
        return bytes[7] == version ? .valid : .otherVersion(bytes[7])
    }

    static func distrustOffset(of file: DistrustedFile) -> Int64 {
        switch file {
        case .messages: 32
        case .settings: 56
        }
    }

    /// The byte that a lock is taken on.
    static func byte(of lock: LockByte) -> Int64 {
        switch lock {
        case .host: firstLock
        case .switching: firstLock + 1
        case .hub: firstLock + 2
        case .entry: firstLock + 16
        case .presence: firstLock + 17
        case .maintenance: firstLock + 18
        case .queue: firstLock + 19
        case .writer: firstLock + 20
        }
    }

    /// The byte that the owner of a record holds.
    static func byte(ofSlot slot: Int) -> Int64 { firstLock + 4096 + Int64(slot) }

    /// The byte that the claimer of something holds. Each number has a byte of its own, so that no
    /// claim stands in another's way; nothing is written there.
    static func byte(of kind: ClaimKind, _ number: Int64) -> Int64 {
        precondition(number >= 0 && number < 1 << 40, "claims are numbered up to 2^40")
        return switch kind {
        case .outbox: 1 << 40 + number
        case .effect: 1 << 41 + number
        }
    }

    /// Where a record begins.
    static func offset(ofSlot slot: Int) -> Int64 {
        recordsOffset + Int64(slot * recordByteCount)
    }

    /// Where a lane of a record stands.
    static func laneOffset(_ lane: Int, ofSlot slot: Int) -> Int64 {
        offset(ofSlot: slot) + Int64(lanesOffset + lane)
    }

    /// The bytes of a record with no lane marked.
    static func encode(_ record: ProcessRecord) -> [UInt8] {
        let process = record.process
        let program = kept(process.program)
        let processName = kept(process.processName)
        var bytes = [UInt8](repeating: 0, count: recordByteCount)
        bytes.withUnsafeMutableBytes { buffer in
            buffer.copyBytes(from: recordMagic)
            buffer.store(Int64(process.identity.pid), at: 4, as: Int32.self)
            buffer.store(Int64(bitPattern: process.identity.startTime), at: 8, as: Int64.self)
            UnsafeMutableRawBufferPointer(rebasing: buffer[16..<32])
                .copyBytes(from: process.identity.bootID.bytes)
            let words = activityWords(
                record.activity,
                record.since,
                process.role,
                nameByteCounts: (program.count, processName.count),
                record.progress
            )
            buffer.store(Int64(bitPattern: words.0), at: 32, as: Int64.self)
            buffer.store(Int64(bitPattern: words.1), at: 40, as: Int64.self)
            UnsafeMutableRawBufferPointer(rebasing: buffer[programOffset...])
                .copyBytes(from: program)
            UnsafeMutableRawBufferPointer(rebasing: buffer[processNameOffset...])
                .copyBytes(from: processName)
            UnsafeMutableRawBufferPointer(rebasing: buffer[Int(oldestReadOffset)...])
                .copyBytes(from: encode(record.oldestRead))
        }
        return bytes
    }

    /// The bytes of the oldest read, written in one call.
    static func encode(_ read: OldestRead?) -> [UInt8] {
        guard let read else { return [UInt8](repeating: 0, count: 12) }
        let since = UInt64(bitPattern: read.since.nanoseconds)
        return [read.purpose.rawValue, 0, 0, 0]
            + (0..<8).map { UInt8(truncatingIfNeeded: since >> (8 * $0)) }
    }

    private static func decodeOldestRead(_ bytes: UnsafeRawBufferPointer) -> OldestRead? {
        let offset = Int(oldestReadOffset)
        let since = bytes.loadUnaligned(fromByteOffset: offset + 4, as: Int64.self).littleEndian
        guard since > 0 else { return nil }
        return OldestRead(
            purpose: ReadPurpose(rawValue: bytes[offset]) ?? .unknown,
            since: MonotonicInstant(nanoseconds: since)
        )
    }

    /// The two words of a record that are written anew for each activity, in the file's order of
    /// bytes. One write of 16 bytes, because it is made several times for each transaction.
    static func activityWords(
        _ activity: ProcessActivity,
        _ since: MonotonicInstant,
        _ role: ProcessRole,
        nameByteCounts: (program: Int, processName: Int),
        _ progress: ActivityProgress?
    ) -> (UInt64, UInt64) {
        let second =
            UInt64(activity.rawValue) | UInt64(role.rawValue) << 8
            | UInt64(nameByteCounts.program) << 16 | UInt64(nameByteCounts.processName) << 24
            | UInt64(progress?.done ?? 0) << 32 | UInt64(progress?.count ?? 0) << 48
        return (UInt64(bitPattern: since.nanoseconds).littleEndian, second.littleEndian)
    }

    /// Reads a record; `nil` where there is none or it makes no sense.
    static func decode(_ bytes: UnsafeRawBufferPointer) -> ProcessRecord? {
        guard bytes.count == recordByteCount, bytes[..<4].elementsEqual(recordMagic) else {
            return nil
        }
        let pid = Int32(littleEndian: bytes.loadUnaligned(fromByteOffset: 4, as: Int32.self))
        let programCount = Int(bytes[42])
        let processNameCount = Int(bytes[43])
        guard pid > 0, programCount <= nameByteCountMax, processNameCount <= nameByteCountMax,
            let bootID = BootID(bytes: bytes[16..<32])
        else { return nil }
        let identity = ProcessIdentity(
            pid: pid,
            startTime: UInt64(
                littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
            ),
            bootID: bootID
        )
        return ProcessRecord(
            process: ProcessDescription(
                identity: identity,
                program: text(bytes[programOffset..<(programOffset + programCount)]),
                processName: text(
                    bytes[processNameOffset..<(processNameOffset + processNameCount)]
                ),
                role: ProcessRole(rawValue: bytes[41]) ?? .unknown
            ),
            activity: ProcessActivity(rawValue: bytes[40]) ?? .unknown,
            since: MonotonicInstant(
                nanoseconds: Int64(
                    littleEndian: bytes.loadUnaligned(fromByteOffset: 32, as: Int64.self)
                )
            ),
            oldestRead: decodeOldestRead(bytes),
            progress: decodeProgress(bytes)
        )
    }

    private static func decodeProgress(_ bytes: UnsafeRawBufferPointer) -> ActivityProgress? {
        let done = UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 44, as: UInt16.self))
        let count = UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 46, as: UInt16.self))
        return count == 0 ? nil : ActivityProgress(done: Int(done), of: Int(count))
    }

    /// The words of the turnstile, given as the two words of memory that the file has.
    static func decodeTurnstile(_ words: (UInt64, UInt64)) -> TurnstileWords {
        TurnstileWords(
            admissionCount: UInt64(littleEndian: words.0),
            isQueuePassedBy: words.1 != 0
        )
    }

    /// The words of the turnstile in the file's order of bytes.
    static func encode(_ words: TurnstileWords) -> (UInt64, UInt64) {
        (words.admissionCount.littleEndian, (words.isQueuePassedBy ? 1 : UInt64(0)).littleEndian)
    }

    /// The bytes of a distrust word.
    static func encode(_ distrust: Distrust) -> [UInt8] {
        distrust.bootID.bytes
            + (0..<8).map { UInt8(truncatingIfNeeded: distrust.fileNumber >> (8 * $0)) }
    }

    /// The words from ``leaveOffset`` on, given as the words of memory that the file has.
    static func decodeNotices(
        _ words: (UInt64, (UInt64, UInt64, UInt64), (UInt64, UInt64, UInt64))
    ) -> Notices {
        Notices(
            isLeaveWordSet: words.0 != 0,
            messages: decodeDistrust(words.1),
            settings: decodeDistrust(words.2)
        )
    }

    /// Reads a distrust word, given as the three words of memory that the file has; `nil` where
    /// none is set.
    private static func decodeDistrust(_ words: (UInt64, UInt64, UInt64)) -> Distrust? {
        if words == (0, 0, 0) { return nil }
        return Distrust(
            bootID: BootID(high: UInt64(bigEndian: words.0), low: UInt64(bigEndian: words.1)),
            fileNumber: UInt64(littleEndian: words.2)
        )
    }

    /// How many bytes of a name a record keeps.
    static func keptByteCount(_ name: String) -> Int { kept(name).count }

    private static func kept(_ name: String) -> ArraySlice<UInt8> {
        Array(name.utf8).prefix(nameByteCountMax)
    }

    /// A name as text that cannot disturb a terminal.
    private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        return String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    scalar.properties.generalCategory == .control ? "\u{FFFD}" : scalar
                }
            )
        )
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Stores an integer's low bytes in the file's order.
    fileprivate func store<Stored: FixedWidthInteger>(
        _ value: Int64,
        at offset: Int,
        as type: Stored.Type
    ) {
        storeBytes(
            of: Stored(truncatingIfNeeded: value).littleEndian,
            toByteOffset: offset,
            as: type
        )
    }
}

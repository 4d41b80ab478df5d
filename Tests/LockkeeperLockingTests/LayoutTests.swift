import LockkeeperDomain
import LockkeeperPlatform
import Testing

@testable import LockkeeperLocking

@Suite
struct LayoutTests {
    private let record = ProcessRecord(
        process: ProcessDescription(
            identity: ProcessIdentity(
                pid: 4711,
                startTime: 0x0102_0304_0506_0708,
                bootID: BootID(high: 1, low: 2)
            ),
            program: "chat",
            processName: "push-helper",
            role: .helper
        ),
        activity: .writing,
        since: MonotonicInstant(nanoseconds: 123_456_789),
        progress: ActivityProgress(done: 2, of: 0x105)
    )

    private func decode(_ bytes: [UInt8]) -> ProcessRecord? {
        bytes.withUnsafeBytes { LockFileLayout.decode($0) }
    }

    @Test("A record is read as it was written, in the bytes that the layout names")
    func recordRoundTrip() {
        let bytes = LockFileLayout.encode(record)
        #expect(bytes.count == 256)
        #expect(Array(bytes[..<8]) == Array("LKPR".utf8) + [0x67, 0x12, 0, 0])
        #expect(Array(bytes[8..<16]) == [8, 7, 6, 5, 4, 3, 2, 1])
        #expect(Array(bytes[40..<48]) == [4, 2, 4, 11, 2, 0, 5, 1])
        #expect(decode(bytes) == record)
    }

    @Test("A long name is cut, also within a character; control characters cannot reach a terminal")
    func names() {
        var long = record
        long.process.processName = String(repeating: "é", count: 60)
        long.process.program = "a\u{1B}[31mb\nc"
        let read = decode(LockFileLayout.encode(long))
        #expect(read?.process.processName == String(repeating: "é", count: 48))
        #expect(read?.process.program == "a\u{FFFD}[31mb\u{FFFD}c")
        long.process.processName = "x" + String(repeating: "é", count: 60)
        #expect(decode(LockFileLayout.encode(long))?.process.processName.last == "\u{FFFD}")
    }

    @Test("Roles and activities of a later program are unknown, not unreadable")
    func laterProgram() {
        var bytes = LockFileLayout.encode(record)
        bytes[40] = 200
        bytes[41] = 201
        #expect(decode(bytes)?.activity == .unknown)
        #expect(decode(bytes)?.process.role == .unknown)
    }

    @Test("Any bytes are a record or none, and never a trap")
    func rubbish() {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed=\(seed)")
        var generator = SplitMix64(seed: seed)
        var readCount = 0
        for round in 0..<5_000 {
            var bytes = LockFileLayout.encode(record)
            for _ in 0..<(round % 40) {
                let index = Int.random(in: 0..<256, using: &generator)
                bytes[index] = UInt8.random(in: 0...255, using: &generator)
            }
            if decode(bytes) != nil { readCount += 1 }
            let random = (0..<256).map { _ in UInt8.random(in: 0...255, using: &generator) }
            #expect(decode(random) == nil)
        }
        #expect(readCount > 100, "seed=\(seed)")
        #expect(decode([]) == nil)
        #expect(decode([UInt8](repeating: 0, count: 256)) == nil)
    }

    @Test("No two locks or records share a byte, and none lies in the content")
    func bytesAreDistinct() {
        let locks = LockByte.allCases.map(LockFileLayout.byte(of:))
        let slots = (0..<LockFileLayout.recordCount).map(LockFileLayout.byte(ofSlot:))
        #expect(Set(locks + slots).count == locks.count + slots.count)
        let end = LockFileLayout.recordsOffset + Int64(LockFileLayout.recordsByteCount)
        #expect((locks + slots).allSatisfy { $0 > end })
    }

    @Test("The bytes of the locks are those of version 1, for programs of every version")
    func bytesAreFixed() {
        #expect(
            LockByte.allCases.map { LockFileLayout.byte(of: $0) - (1 << 30) }
                == [0, 1, 2, 16, 17, 18, 19, 20]
        )
        #expect(LockFileLayout.byte(ofSlot: 3) == (1 << 30) + 4099)
    }

    @Test("A header is told from a new file, another version and rubbish")
    func header() {
        func judge(_ bytes: [UInt8]) -> LockFileLayout.Header {
            bytes.withUnsafeBytes { LockFileLayout.header($0) }
        }
        #expect(judge(LockFileLayout.emptyHeader) == .valid)
        #expect(LockFileLayout.emptyHeader.count == LockFileLayout.headerByteCount)
        #expect(judge([UInt8](repeating: 0, count: 80)) == .empty)
        var other = LockFileLayout.emptyHeader
        other[7] = 9
        #expect(judge(other) == .otherVersion(9))
        #expect(judge([UInt8](repeating: 7, count: 80)) == .rubbish)
    }

    @Test("A holder is described in a sentence")
    func sentence() {
        let holder = Holder(
            record: record,
            condition: .stopped,
            observedAt: record.since.advanced(by: .milliseconds(3_250))
        )
        #expect(
            holder.description
                == "pid 4711 (chat as push-helper, helper), writing (step 3 of 261) for 3.2 s, stopped"
        )
        #expect(
            LockingError.busy(.writer, holders: [holder], waited: .seconds(5)).description
                == "WRITER was not free within 5000 ms: held by "
                + "pid 4711 (chat as push-helper, helper), writing (step 3 of 261) for 3.2 s, stopped"
        )
    }

    @Test(
        "The oldest read stands in the record's last twelve bytes, and zeros say that there is none"
    )
    func oldestRead() {
        var reading = record
        reading.oldestRead = OldestRead(
            purpose: .export,
            since: MonotonicInstant(nanoseconds: 0x0102_0304)
        )
        var bytes = LockFileLayout.encode(reading)
        #expect(Array(bytes[244...]) == [4, 0, 0, 0, 4, 3, 2, 1, 0, 0, 0, 0])
        #expect(decode(bytes) == reading)
        bytes[244] = 99
        #expect(decode(bytes)?.oldestRead?.purpose == .unknown)
        #expect(Array(LockFileLayout.encode(record)[240...]) == [UInt8](repeating: 0, count: 16))
        #expect(decode(LockFileLayout.encode(record))?.oldestRead == nil)
    }
}

import CLockkeeperFaultVFS
import LockkeeperDomain

/// A folder in which the disk is as slow, as broken and as talkative as a test wants.
///
/// What SQLite opens there with the VFS ``vfs`` after the zone was made obeys it; nothing else does,
/// so that tests beside each other do not disturb each other. The innermost zone governs.
///
///     let zone = FaultZone(folder: workspace.root)
///     zone.pause(at: .checkpoint, of: .database)
///     … something that checkpoints, on another thread …
///     #expect(zone.awaitPause(within: .seconds(10)))
///     … what should happen in between …
///     zone.release()
// Safe to share because the zone behind the pointer has a lock of its own around everything, and the
// pointer never changes.
package final class FaultZone: @unchecked Sendable {
    /// The name to open files with. Where no zone was made it does what the default VFS does.
    package static let vfs: String = {
        // The VFS beneath is missing only in a SQLite that was built without one.
        precondition(lk_fault_register() == 0, "this SQLite has no VFS to stand before")
        return LK_FAULT_VFS
    }()

    private let zone: OpaquePointer

    /// The calls that can be counted, failed and paused at.
    package enum Call: Sendable, CaseIterable {
        case open, delete, read, write, truncate, sync
        /// A checkpoint has read the header of the log's index, and has not looked yet at what is
        /// copied already: the window of the WAL-reset defect. SQLite calls it only where the header
        /// has changed since the connection last looked.
        case unfetch
        /// A checkpoint is about to ask for the checkpointer's lock.
        case checkpoint

        fileprivate var raw: lk_fault_call {
            switch self {
            case .open: LK_FAULT_OPEN
            case .delete: LK_FAULT_DELETE
            case .read: LK_FAULT_READ
            case .write: LK_FAULT_WRITE
            case .truncate: LK_FAULT_TRUNCATE
            case .sync: LK_FAULT_SYNC
            case .unfetch: LK_FAULT_UNFETCH
            case .checkpoint: LK_FAULT_CHECKPOINT
            }
        }
    }

    /// Which file of a database a call is made on.
    package enum File: Sendable, CaseIterable {
        case database, log
        /// The rollback journal of a database that has no log.
        case journal
        /// Temporary files.
        case other

        fileprivate var raw: lk_fault_file {
            switch self {
            case .database: LK_FAULT_DATABASE
            case .log: LK_FAULT_LOG
            case .journal: LK_FAULT_JOURNAL
            case .other: LK_FAULT_OTHER
            }
        }
    }

    /// How a call fails.
    package enum Failure: Sendable, Hashable {
        /// The disk is broken: SQLite's I/O error of that call.
        case ioError
        /// The disk is full.
        case diskFull
        /// The disk is full after so many bytes of a write.
        case shortWrite(byteCount: Int)
        /// Only of reads: the file gives so many bytes and no more.
        case shortRead(byteCount: Int)
    }

    /// Makes a zone of a folder, given by its canonical path.
    package init(folder: String) {
        _ = Self.vfs
        guard let zone = lk_fault_zone_make(folder) else {
            preconditionFailure("no memory for a zone")
        }
        self.zone = zone
    }

    /// Files opened from now on do not belong to the zone; those that do keep what they use of it.
    deinit {
        lk_fault_release(zone)
        lk_fault_zone_end(zone)
    }

    // MARK: - Slow and broken

    /// Each sync of a database or a log takes so much longer.
    package func delaySyncs(by delay: Duration) {
        lk_fault_delay_syncs(zone, UInt32(clamping: delay.wholeNanoseconds / 1000))
    }

    /// How many calls there were.
    package func callCount(_ call: Call, of file: File) -> Int {
        Int(lk_fault_calls(zone, call.raw, file.raw))
    }

    /// Makes calls fail.
    ///
    /// - Parameters:
    ///   - skipCount: how many calls still succeed.
    ///   - times: how many then fail; `nil`: all from then on.
    package func fail(
        _ call: Call,
        of file: File,
        after skipCount: Int = 0,
        times: Int? = 1,
        with failure: Failure
    ) {
        precondition(times != 0, "a failure that never comes")
        let (raw, byteCount): (lk_fault_failure, Int) =
            switch failure {
            case .ioError: (LK_FAULT_IO_ERROR, 0)
            case .diskFull: (LK_FAULT_DISK_FULL, 0)
            case .shortWrite(let byteCount): (LK_FAULT_DISK_FULL, byteCount)
            case .shortRead(let byteCount): (LK_FAULT_SHORT_READ, byteCount)
            }
        lk_fault_fail(
            zone,
            call.raw,
            file.raw,
            UInt64(skipCount),
            UInt64(times ?? 0),
            raw,
            Int32(byteCount)
        )
    }

    /// Lets a kind of call succeed again.
    package func heal(_ call: Call, of file: File) {
        lk_fault_fail(zone, call.raw, file.raw, 0, 0, LK_FAULT_NONE, 0)
    }

    // MARK: - Standing still

    /// The next such call stands still before it does anything. The next pause may be asked for
    /// while a call stands.
    package func pause(at call: Call, of file: File) {
        lk_fault_pause(zone, call.raw, file.raw)
    }

    /// The call that is about to change a file, whichever it is, stands still, after so many more
    /// changes. Changes are writes, truncations, syncs and deletions.
    package func pauseAtChange(after skipCount: Int) {
        lk_fault_pause_at_change(zone, UInt64(skipCount))
    }

    /// Waits until a call stands still. Blocks the thread; false where none does in time.
    package func awaitPause(within wait: Duration) -> Bool {
        lk_fault_await_pause(zone, UInt32(clamping: wait.wholeNanoseconds / 1_000_000)) != 0
    }

    /// Lets the call that stands go on; where none does, takes the pause back.
    package func release() { lk_fault_release(zone) }

    // MARK: - Recording

    /// Begins to record what is written to databases, logs and journals.
    package func beginRecording() { lk_fault_record_begin(zone) }

    /// Puts a mark between the records: that something was acknowledged, for example.
    package func mark(_ number: Int) { lk_fault_record_mark(zone, Int64(number)) }

    /// Ends recording and gives what was recorded.
    ///
    /// - Parameter initial: the files as they were on the disk when recording began, by their paths.
    package func endRecording(initial: [String: [UInt8]] = [:]) -> RecordedWrites {
        lk_fault_record_end(zone)
        let steps = (0..<lk_fault_record_count(zone)).map {
            Self.step(lk_fault_record_at(zone, $0))
        }
        return RecordedWrites(initial: initial, steps: steps)
    }

    private static func step(_ record: lk_fault_record) -> RecordedWrites.Step {
        guard let path = record.path.map(String.init(cString:)) else {
            return .mark(Int(record.offset))
        }
        switch record.call {
        case LK_FAULT_OPEN: return .open(path)
        case LK_FAULT_DELETE: return .delete(path)
        case LK_FAULT_TRUNCATE: return .truncate(path, size: Int(record.offset))
        case LK_FAULT_SYNC:
            return .sync(path, coveredCount: Int(record.offset), succeeded: record.code == 0)
        case LK_FAULT_WRITE:
            let bytes = UnsafeBufferPointer(start: record.bytes, count: record.byte_count)
            return .write(path, offset: Int(record.offset), bytes: Array(bytes))
        default: preconditionFailure("a call was recorded that writes nothing")
        }
    }
}

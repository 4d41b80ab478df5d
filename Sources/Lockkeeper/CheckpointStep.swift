import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

/// What is done to the log, by whoever holds MAINTENANCE (5.4).
struct CheckpointStep: Sendable {
    let trust: FileTrust
    let environment: StoreEnvironment
    let deadline: Deadline
    let limits: Limits

    /// Copies what no reader needs any more into the database file.
    ///
    /// For the whole of it a second connection holds a read transaction, so that nobody, ours or
    /// foreign, can restart the log meanwhile: that is what SQLite before 3.51.3 gets wrong (I-10).
    func copy() throws -> CheckpointResult {
        try withReader { _ in
            try withWorker { worker in
                Failpoint.checkpointReading.reach()
                let result = try trust.syncing { try worker.checkpoint(.passive) }
                Failpoint.checkpointCopied.reach()
                return result
            }
        }
    }

    /// Whether the disk has room for the pages that the log would add to the database file.
    ///
    /// - Parameter rest: what is to be free then.
    func fits(leaving rest: Int64 = 0) throws -> Bool {
        let free = try FileSystem.freeBytes(at: trust.path) - rest
        // No page is added without a frame.
        if try StoreFiles(trust.path).logByteCount() <= free { return true }
        let byteCount = try withReader { connection in
            let pageCount = try connection.value("PRAGMA page_count")?.integer ?? 0
            return pageCount * (try connection.value("PRAGMA page_size")?.integer ?? 0)
        }
        let grown = try FileSystem.status(trust.path)?.size ?? 0
        return byteCount - grown <= free
    }

    /// Whether the log's file has grown past the degraded mark.
    var isDegraded: Bool {
        get throws {
            let size = try StoreFiles(trust.path).logByteCount()
            return size > Int64(limits.logByteCountDegraded)
        }
    }

    /// Empties the log's file, after everything in it was copied. The caller holds WRITER.
    ///
    /// The next commits are dearer, because the file grows again. A reader that came meanwhile is
    /// waited for shortly: whoever writes waits with us. Our own reader is opened anew, because one
    /// that began on the log would be in the way itself.
    ///
    /// - Returns: whether it was done. `false`: a reader stands on the log.
    func shorten() throws -> Bool {
        try withReader { _ in
            try withWorker { worker in
                worker.busyDeadline = Deadline(
                    after: limits.truncateWaitMax,
                    from: environment.clock.now()
                )
                do {
                    _ = try trust.syncing { try worker.checkpoint(.truncate) }
                    Failpoint.checkpointShortened.reach()
                    return true
                } catch let error as SQLiteError where ResultCode.busy ~= error.code {
                    return false
                }
            }
        }
    }

    /// Runs a closure while a connection of this process keeps the log's index. The last one that
    /// closes removes it, and what was copied is forgotten with it: where nobody else has the
    /// database open each step would find an uncopied log, and our own reader standing on it.
    func whileIndexStays<Value>(_ body: () throws -> Value) throws -> Value {
        let connection = try open(for: .reading)
        // Closing fails only while a statement is held.
        defer { try? connection.close() }
        // SQLite opens the index with the first read.
        _ = try connection.value("SELECT generation FROM lk_fence")
        return try body()
    }

    private func withReader<Value>(_ body: (Connection) throws -> Value) throws -> Value {
        let reader = try open(for: .reading)
        if PlantedDefect.checkpointWithoutReader.isPlanted {
            defer { try? reader.close() }
            return try body(reader)
        }
        try reader.begin(.deferred)
        _ = try reader.value("SELECT generation FROM lk_fence")
        defer {
            reader.rollBack()
            // Closing fails only while a statement is held.
            try? reader.close()
        }
        return try body(reader)
    }

    private func withWorker<Value>(_ body: (Connection) throws -> Value) throws -> Value {
        let worker = try open(for: .maintaining)
        defer { try? worker.close() }
        return try body(worker)
    }

    private func open(for purpose: StoreFile.Purpose) throws -> Connection {
        try StoreFile.open(
            trust.path,
            for: purpose,
            environment: environment,
            busyDeadline: deadline
        )
    }
}

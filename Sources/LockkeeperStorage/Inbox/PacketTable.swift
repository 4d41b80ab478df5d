package import LockkeeperDomain
package import LockkeeperSQLite

/// The packets of an account that are kept as rows of its database: they were received and are not
/// applied yet.
///
/// ```
///          receive              apply, in one transaction with its events
/// (none) ───────────▶ waiting ──────────────────────────────────────────▶ (none)
///                     │ ▲   ▲                                               ▲
///              begin  │ │   │ retry                                         │ drop
///     (counted; once  ▼ │   │                                               │
///     too often) ────▶ parked ──────────────────────────────────────────────┘
/// ```
///
/// Each step is a part of a transaction. Any number of processes may take steps at once: who began a
/// packet applies it only where the row is still there.
package struct PacketTable {
    private let connection: Connection

    /// The table of a store.
    package init(_ connection: Connection) { self.connection = connection }

    /// A packet that somebody began to apply.
    package struct Begun: Sendable {
        /// Its name.
        package let name: PacketName
        /// What it holds.
        package let packet: Packet
    }

    /// A packet as a list shows it.
    package struct Entry: Sendable, Hashable {
        /// Its name.
        package let name: PacketName
        /// Why it is parked; `nil` where it waits.
        package let parked: InboxFolder.ParkingReason?
        /// How many bytes it has.
        package let byteCount: Int
        /// Who can read it.
        package let format: PacketFormat
        /// The page that it is known to be.
        package let page: SyncPage?
        /// The process that received it.
        package let processName: String
        /// When, in milliseconds since 1970; for people.
        package let receivedAt: Int64
        /// How often somebody began to apply it in vain.
        package let attemptCount: Int
        /// What the last of them failed with.
        package let failure: String?
    }

    // MARK: - Receiving

    /// Stores a packet behind all others.
    ///
    /// - Throws: ``StorageError/inboxFull(path:packetCount:byteCount:)``,
    ///   ``StorageError/sqlite(_:)``.
    package func insert(
        _ packet: Packet,
        processName: String,
        receivedAt: Int64,
        limits: Limits,
        using generator: inout some RandomNumberGenerator
    ) throws(StorageError) -> Entry {
        let kept: (count: Int, byteCount: Int, newest: Int64)
        do throws(SQLiteError) { kept = try sums() } catch { throw .sqlite(error) }
        guard kept.count < limits.inboxPacketCountMax,
            kept.byteCount + packet.bytes.count <= limits.inboxByteCountMax
        else {
            throw .inboxFull(
                path: "lk_inbox_packet",
                packetCount: kept.count,
                byteCount: Int64(kept.byteCount)
            )
        }
        do throws(SQLiteError) {
            let entry = Entry(
                name: PacketName(number: UInt64(clamping: kept.newest + 1), using: &generator),
                parked: nil,
                byteCount: packet.bytes.count,
                format: packet.format,
                page: packet.page,
                processName: processName,
                receivedAt: receivedAt,
                attemptCount: 0,
                failure: nil
            )
            try insert(entry, packet.bytes)
            return entry
        } catch {
            throw .sqlite(error)
        }
    }

    // MARK: - Applying

    /// Begins the first packet that waits behind a number, and counts that; those that were begun as
    /// often as may be are parked on the way.
    ///
    /// - Parameters:
    ///   - number: 0 for the first of all.
    ///   - formats: the formats that the caller reads. Others are left without an attempt.
    /// - Returns: the packet; `nil` where none is left. And how many were parked.
    package func begin(
        after number: UInt64,
        formats: Set<PacketFormat>,
        attemptCountMax: Int
    ) throws(SQLiteError) -> (begun: Begun?, parkedCount: Int) {
        var parkedCount = 0
        var number = Int64(clamping: number)
        while let found = try firstWaiting(after: number) {
            number = found.number
            guard let format = found.format, formats.contains(format) else { continue }
            guard found.attemptCount < attemptCountMax else {
                try set(found.number, parked: .tooManyAttempts)
                parkedCount += 1
                continue
            }
            let count = try connection.statement(
                "UPDATE lk_inbox_packet SET attempts = attempts + 1 WHERE number = ?1"
            )
            try count.bind(1, found.number)
            try count.run()
            return (try read(found.number, format), parkedCount)
        }
        return (nil, parkedCount)
    }

    /// Takes a packet out: the rest of the transaction applies it, or it is dropped.
    ///
    /// - Returns: whether it was there; where not, another process has settled it.
    package func remove(_ name: PacketName) throws(SQLiteError) -> Bool {
        let delete = try connection.statement("DELETE FROM lk_inbox_packet WHERE name = ?1")
        try delete.bind(1, name.description)
        try delete.run()
        return connection.changes > 0
    }

    /// Notes what an attempt failed with.
    ///
    /// - Parameter failure: a name, without a word of what the packet says.
    package func note(_ failure: String, of name: PacketName) throws(SQLiteError) {
        let update = try connection.statement(
            "UPDATE lk_inbox_packet SET failure = ?2 WHERE name = ?1"
        )
        try update.bind(1, name.description)
        try update.bind(2, failure)
        try update.run()
    }

    /// Takes an attempt back that was not the packet's fault.
    package func uncount(_ name: PacketName) throws(SQLiteError) {
        let update = try connection.statement(
            "UPDATE lk_inbox_packet SET attempts = attempts - 1 WHERE name = ?1 AND attempts > 0"
        )
        try update.bind(1, name.description)
        try update.run()
    }

    /// Lets a parked packet wait again, as if nobody had begun it.
    ///
    /// - Returns: whether there was one.
    package func retry(_ name: PacketName) throws(SQLiteError) -> Bool {
        let update = try connection.statement(
            """
            UPDATE lk_inbox_packet SET parked = NULL, failure = NULL, attempts = 0
            WHERE name = ?1 AND parked IS NOT NULL
            """
        )
        try update.bind(1, name.description)
        try update.run()
        return connection.changes > 0
    }

    // MARK: - Looking

    /// How many packets wait and how many are parked.
    package func counts() throws(SQLiteError) -> (waiting: Int, parked: Int) {
        let select = try connection.statement(
            "SELECT count(*), count(parked) FROM lk_inbox_packet"
        )
        defer { select.reset() }
        guard try select.step() else { return (0, 0) }
        return (Int(select.int64(0) - select.int64(1)), Int(select.int64(1)))
    }

    /// Everything that is kept, in the order of arrival, without bytes.
    package func entries() throws(SQLiteError) -> [Entry] {
        let select = try connection.statement(
            """
            SELECT name, parked, byte_count, format, stream, after, next, done, received_by,
                received_at, attempts, failure
            FROM lk_inbox_packet ORDER BY number
            """
        )
        defer { select.reset() }
        var entries: [Entry] = []
        while try select.step() {
            guard let name = PacketName(select.string(0)) else { continue }
            let parked = select.isNull(1) ? nil : select.string(1)
            entries.append(
                Entry(
                    name: name,
                    parked: parked.map { InboxFolder.ParkingReason(rawValue: $0) ?? .torn },
                    byteCount: Int(select.int64(2)),
                    format: PacketFormat(rawValue: UInt8(clamping: select.int64(3))) ?? .ownOfApp,
                    page: Self.page(select, from: 4),
                    processName: select.string(8),
                    receivedAt: select.int64(9),
                    attemptCount: Int(select.int64(10)),
                    failure: select.isNull(11) ? nil : select.string(11)
                )
            )
        }
        return entries
    }

    /// The bytes of a packet; `nil` where it is gone.
    package func packet(_ name: PacketName) throws(SQLiteError) -> Packet? {
        try read(Int64(clamping: name.number), nil).flatMap { $0.name == name ? $0.packet : nil }
    }

    // MARK: - Steps

    private func sums() throws(SQLiteError) -> (count: Int, byteCount: Int, newest: Int64) {
        let select = try connection.statement(
            "SELECT count(*), ifnull(sum(byte_count), 0), ifnull(max(number), 0) FROM lk_inbox_packet"
        )
        defer { select.reset() }
        guard try select.step() else { return (0, 0, 0) }
        return (Int(select.int64(0)), Int(select.int64(1)), select.int64(2))
    }

    private func insert(_ entry: Entry, _ bytes: [UInt8]) throws(SQLiteError) {
        let insert = try connection.statement(
            """
            INSERT INTO lk_inbox_packet (number, name, format, stream, after, next, done,
                received_by, received_at, byte_count, packet)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
            """
        )
        try insert.bind(1, Int64(clamping: entry.name.number))
        try insert.bind(2, entry.name.description)
        try insert.bind(3, Int64(entry.format.rawValue))
        try insert.bind(4, text: entry.page?.stream.bytes)
        try insert.bind(5, text: entry.page?.after?.bytes)
        try insert.bind(6, text: entry.page?.next.bytes)
        try insert.bind(7, entry.page.map { $0.isDone ? 1 : 0 })
        try insert.bind(8, entry.processName)
        try insert.bind(9, entry.receivedAt)
        try insert.bind(10, bytes.count)
        try insert.bind(11, blob: bytes)
        try insert.run()
    }

    private struct Waiting {
        let number: Int64
        let format: PacketFormat?
        let attemptCount: Int
    }

    private func firstWaiting(after number: Int64) throws(SQLiteError) -> Waiting? {
        let select = try connection.statement(
            """
            SELECT number, format, attempts FROM lk_inbox_packet
            WHERE parked IS NULL AND number > ?1 ORDER BY number LIMIT 1
            """
        )
        defer { select.reset() }
        try select.bind(1, number)
        guard try select.step() else { return nil }
        return Waiting(
            number: select.int64(0),
            format: PacketFormat(rawValue: UInt8(clamping: select.int64(1))),
            attemptCount: Int(select.int64(2))
        )
    }

    private func set(_ number: Int64, parked: InboxFolder.ParkingReason) throws(SQLiteError) {
        let update = try connection.statement(
            "UPDATE lk_inbox_packet SET parked = ?2 WHERE number = ?1"
        )
        try update.bind(1, number)
        try update.bind(2, parked.rawValue)
        try update.run()
    }

    private func read(_ number: Int64, _ format: PacketFormat?) throws(SQLiteError) -> Begun? {
        let select = try connection.statement(
            """
            SELECT name, packet, format, stream, after, next, done FROM lk_inbox_packet
            WHERE number = ?1
            """
        )
        defer { select.reset() }
        try select.bind(1, number)
        guard try select.step(), let name = PacketName(select.string(0)) else { return nil }
        let stored = PacketFormat(rawValue: UInt8(clamping: select.int64(2)))
        return Begun(
            name: name,
            packet: Packet(
                select.bytes(1),
                format: format ?? stored ?? .ownOfApp,
                page: Self.page(select, from: 3)
            )
        )
    }

    /// The page in four columns: stream, after, next, done.
    private static func page(_ row: Statement, from column: Int) -> SyncPage? {
        guard let stream = row.optionalBytes(column), let next = row.optionalBytes(column + 2)
        else { return nil }
        return SyncPage(
            stream: StreamID(unchecked: stream),
            after: row.optionalBytes(column + 1).map(Cursor.init(unchecked:)),
            next: Cursor(unchecked: next),
            done: row.int64(column + 3) != 0
        )
    }
}

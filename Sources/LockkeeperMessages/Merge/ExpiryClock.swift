import LockkeeperDomain
import LockkeeperSQLite

/// Decides from when on the time of day is believed: what has expired is removed for good, and a clock
/// that jumps must not remove what was to stay for another year.
///
/// The time of day is compared with the kernel's monotonic clock. Their difference stays the same
/// while nobody sets the clock; when it changes, after a boot, a sleep of the machine or a correction,
/// the time of day is not believed until it has gone on evenly for a while. A clock that was wrong is
/// mostly corrected within that while.
///
/// ```
///                evenly for `steadyAfter`
/// watching ─────────────────────────────────▶ steady      `observe` takes each step
///    ▲                                          │
///    └───── another boot, or a jump ────────────┘
/// ```
struct ExpiryClock: Equatable {
    /// One look at both clocks, in milliseconds.
    struct Reading: Equatable {
        let boot: [UInt8]
        let monotonic: Int64
        let wall: Int64

        var difference: Int64 { wall - monotonic }
    }

    /// The newest look.
    private(set) var last: Reading
    /// Since when, by the monotonic clock, both have gone evenly.
    private(set) var steadySince: Int64

    /// A clock that is looked at for the first time.
    init(_ reading: Reading) {
        last = reading
        steadySince = reading.monotonic
    }

    /// A clock as it is stored.
    init(last: Reading, steadySince: Int64) {
        self.last = last
        self.steadySince = steadySince
    }

    /// Takes a look.
    ///
    /// - Returns: the time of day if it is believed.
    mutating func observe(
        _ reading: Reading,
        jumpMax: Duration,
        steadyAfter: Duration
    ) -> Int64? {
        let jump = (reading.difference - last.difference).magnitude
        if reading.boot != last.boot || reading.monotonic < last.monotonic
            || jump > UInt64(jumpMax.milliseconds)
        {
            steadySince = reading.monotonic
        }
        last = reading
        let isSteady = reading.monotonic - steadySince >= steadyAfter.milliseconds
        return isSteady ? reading.wall : nil
    }
}

extension ExpiryClock {
    /// Whether it is worth remembering: a change, or that a minute has gone evenly.
    func isNews(after stored: ExpiryClock?) -> Bool {
        guard let stored else { return true }
        return stored.steadySince != steadySince || stored.last.boot != last.boot
            || last.monotonic - stored.last.monotonic >= 60_000
    }
}

extension Duration {
    /// Whole milliseconds.
    fileprivate var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}

extension ExpiryClock {
    /// The clock that the store remembers; `nil` before the first look.
    init?(in connection: Connection) throws(SQLiteError) {
        let select = try connection.statement(
            "SELECT boot, monotonic, wall, steady_since FROM lk_expiry_clock WHERE id = 1"
        )
        defer { select.reset() }
        guard try select.step() else { return nil }
        self.init(
            last: Reading(
                boot: select.bytes(0),
                monotonic: select.int64(1),
                wall: select.int64(2)
            ),
            steadySince: select.int64(3)
        )
    }

    /// Remembers it.
    func write(to connection: Connection) throws(SQLiteError) {
        let upsert = try connection.statement(
            """
            INSERT INTO lk_expiry_clock (id, boot, monotonic, wall, steady_since)
            VALUES (1, ?1, ?2, ?3, ?4)
            ON CONFLICT (id) DO UPDATE SET boot = excluded.boot, monotonic = excluded.monotonic,
                wall = excluded.wall, steady_since = excluded.steady_since
            """
        )
        try upsert.bind(1, blob: last.boot)
        try upsert.bind(2, last.monotonic)
        try upsert.bind(3, last.wall)
        try upsert.bind(4, steadySince)
        try upsert.run()
    }
}

package import LockkeeperDomain
package import LockkeeperPlatform
package import LockkeeperSQLite

/// The row that says whose a store is and who may write it.
///
///     retired ──advance(to: higher, .active)──▶ active
///     active  ──advance(to: higher, .retired)─▶ retired
///
/// The generation only rises, whatever the state (I-2).
package struct Fence: Sendable, Hashable {
    /// Which of the account's files it is.
    package let kind: StoreKind
    /// The account.
    package let account: AccountID
    /// The store's name for life.
    package let store: StoreIdentity
    /// The generation under which the account was last activated or retired, or its file was copied.
    package let generation: Generation
    /// Whether writes are taken.
    package let state: AccountState
    /// The run of the kernel under which the store was last written.
    package let bootID: BootID
    /// Commits up to this one are no longer in the log.
    package let floor: CommitNumber
    /// The generation under which the account was last activated or retired: a copy keeps it. 0 in one
    /// whose switch was not at its end.
    package let since: Generation
    /// The other account of the switch that wrote this row, and the generation that its fences get;
    /// `nil` where no switch did. It tells a registry that is made anew what is to be finished.
    package let counterpart: FencingToken?

    /// The row of its parts; the defaults are those of a store in which nothing was committed.
    package init(
        kind: StoreKind,
        account: AccountID,
        store: StoreIdentity,
        generation: Generation,
        state: AccountState,
        bootID: BootID,
        floor: CommitNumber = CommitNumber(0),
        since: Generation? = nil,
        counterpart: FencingToken? = nil
    ) {
        self.kind = kind
        self.account = account
        self.store = store
        self.generation = generation
        self.state = state
        self.bootID = bootID
        self.floor = floor
        self.since = since ?? generation
        self.counterpart = counterpart
    }

    /// Reads the row.
    ///
    /// - Parameter path: the file, for errors.
    /// - Throws: ``StorageError/fenceMissing(path:)`` when there is none or it makes no sense,
    ///   ``StorageError/foreignDatabase(path:)`` when it is another program's,
    ///   ``StorageError/notAStore(path:reason:)`` when the file is no database of ours.
    package static func read(
        from connection: Connection,
        path: String
    ) throws(StorageError) -> Fence {
        let exists = try StoreFile.reading(path) { () throws(SQLiteError) in
            try connection.value(
                "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'lk_fence'"
            )
        }
        guard exists != nil else {
            if try isForeign(connection, path: path) { throw .foreignDatabase(path: path) }
            throw .notAStore(path: path, reason: "it has no fence")
        }
        let fence = try sqlite { () throws(SQLiteError) in try row(of: connection) }
        guard let fence else { throw .fenceMissing(path: path) }
        return fence
    }

    /// Whether a database has tables of which none is ours, as that of another program has. One whose
    /// schema cannot be read whole, or is empty, is a damaged one.
    private static func isForeign(
        _ connection: Connection,
        path: String
    ) throws(StorageError) -> Bool {
        try StoreFile.reading(path) { () throws(SQLiteError) in
            try connection.value(
                """
                SELECT 1 WHERE EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table')
                AND NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE name LIKE 'lk\\_%' ESCAPE '\\')
                """
            ) != nil
        }
    }

    /// Makes sure that the store is what its name says.
    ///
    /// - Throws: ``StorageError/wrongAccount(path:expected:found:)``,
    ///   ``StorageError/wrongDatabase(path:expected:found:)``.
    package func require(
        _ kind: StoreKind,
        of account: AccountID,
        at path: String
    ) throws(StorageError) {
        guard self.account == account else {
            throw .wrongAccount(path: path, expected: account, found: self.account)
        }
        guard self.kind == kind else {
            throw .wrongDatabase(path: path, expected: kind, found: self.kind)
        }
    }

    /// Makes sure that a database is none that belongs elsewhere. One that is damaged is told by others.
    ///
    /// - Throws: as ``require(_:of:at:)``; ``StorageError/foreignDatabase(path:)``.
    package static func refuseStranger(
        _ connection: Connection,
        _ kind: StoreKind,
        of account: AccountID,
        at path: String
    ) throws(StorageError) {
        do throws(StorageError) {
            try read(from: connection, path: path).require(kind, of: account, at: path)
        } catch {
            if error.isMisplaced { throw error }
        }
    }

    private static func row(of connection: Connection) throws(SQLiteError) -> Fence? {
        let select = try connection.prepare(
            """
            SELECT kind, account, store, generation, state, boot, floor,
              since, counterpart, counterpart_generation FROM lk_fence WHERE id = 1
            """
        )
        defer { select.reset() }
        guard try select.step(),
            let kind = StoreKind(rawValue: select.string(0)),
            let account = try? AccountID(bytes: select.bytes(1)),
            let store = StoreIdentity(bytes: select.bytes(2)),
            let state = AccountState(rawValue: select.string(4)),
            let bootID = BootID(bytes: select.bytes(5)),
            select.kind(3) == .integer, select.kind(6) == .integer, select.kind(7) == .integer
        else { return nil }
        return Fence(
            kind: kind,
            account: account,
            store: store,
            generation: Generation(select.int64(3)),
            state: state,
            bootID: bootID,
            floor: CommitNumber(select.int64(6)),
            since: Generation(select.int64(7)),
            counterpart: select.optionalBytes(8).flatMap { try? AccountID(bytes: $0) }.map {
                FencingToken(account: $0, generation: Generation(select.int64(9)))
            }
        )
    }

    /// Writes the row of a new store.
    func insert(into connection: Connection) throws(SQLiteError) {
        let insert = try connection.prepare(
            "INSERT INTO lk_fence VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
        )
        try insert.bind(1, kind.rawValue)
        try insert.bind(2, text: account.bytes)
        try insert.bind(3, blob: store.bytes)
        try insert.bind(4, generation.rawValue)
        try insert.bind(5, state.rawValue)
        try insert.bind(6, blob: bootID.bytes)
        try insert.bind(7, floor.rawValue)
        try insert.bind(8, since.rawValue)
        try insert.bind(9, text: counterpart?.account.bytes)
        try insert.bind(10, counterpart?.generation.rawValue)
        try insert.run()
    }

    /// Makes a copy a store of its own: another name for life, a generation that nobody has, and the
    /// state that the registry knows. Where the fence says another state already, a switch was on its
    /// way there, and the copy is as if it had not come to it. The caller syncs the copy before the file
    /// is published.
    ///
    /// - Throws: ``StorageError/fenceWouldFall(from:to:)`` unless the generation is higher than
    ///   the one that stands there; what SQLite throws.
    static func renew(
        _ connection: Connection,
        path: String,
        as store: StoreIdentity,
        at generation: Generation,
        _ state: AccountState
    ) throws(StorageError) {
        try raise(connection, path: path, to: generation, state) { fence in
            fence.state == state
                ? Company(store: store, since: fence.since, counterpart: fence.counterpart)
                : Company(store: store, since: Generation(0), counterpart: nil)
        }
    }

    /// Raises the fence in a transaction of its own and syncs it: once this returns, no transaction
    /// of an older generation can commit, not after a power loss either. The caller holds the
    /// account's WRITER.
    ///
    /// - Parameter counterpart: the other account, where a switch does it.
    /// - Throws: ``StorageError/fenceWouldFall(from:to:)`` unless the generation is higher than
    ///   the one that stands there; what SQLite throws. The fence may have been raised when the
    ///   sync is what failed.
    package static func advance(
        _ connection: Connection,
        path: String,
        to generation: Generation,
        _ state: AccountState,
        counterpart: FencingToken? = nil
    ) throws(StorageError) {
        try raise(connection, path: path, to: generation, state) { fence in
            Company(store: fence.store, since: generation, counterpart: counterpart)
        }
        try sqlite { () throws(SQLiteError) in try connection.syncLog() }
    }

    /// What is written beside generation and state.
    private struct Company {
        var store: StoreIdentity
        var since: Generation
        var counterpart: FencingToken?
    }

    /// Writes a higher generation in a transaction of its own.
    ///
    /// - Parameter company: what stands beside it, by the fence that was there.
    private static func raise(
        _ connection: Connection,
        path: String,
        to generation: Generation,
        _ state: AccountState,
        _ company: (Fence) -> Company
    ) throws(StorageError) {
        try sqlite { () throws(SQLiteError) in try connection.begin(.immediate) }
        do throws(StorageError) {
            let fence = try read(from: connection, path: path)
            guard generation > fence.generation else {
                throw .fenceWouldFall(from: fence.generation, to: generation)
            }
            let company = company(fence)
            try sqlite { () throws(SQLiteError) in
                let update = try connection.prepare(
                    """
                    UPDATE lk_fence SET store = ?1, generation = ?2, state = ?3, since = ?6,
                      counterpart = ?4, counterpart_generation = ?5 WHERE id = 1
                    """
                )
                try update.bind(1, blob: company.store.bytes)
                try update.bind(2, generation.rawValue)
                try update.bind(3, state.rawValue)
                try update.bind(4, text: company.counterpart?.account.bytes)
                try update.bind(5, company.counterpart?.generation.rawValue)
                try update.bind(6, company.since.rawValue)
                try update.run()
                try connection.commit()
            }
        } catch {
            connection.rollBack()
            throw error
        }
    }
}

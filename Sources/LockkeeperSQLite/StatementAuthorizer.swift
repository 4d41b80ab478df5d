import CLockkeeperSQLite

/// Which statements a connection takes.
package enum StatementPolicy: Sendable, Hashable {
    /// Any: our own code is running.
    case open
    /// What ``StatementRefusal`` lists is refused: an app's closure is running.
    case restricted
}

/// SQLite's authoriser for one connection: it applies the policy for closures and tells the
/// tracker what a statement may write.
///
/// SQLite asks while a statement is prepared, not when it runs. A statement that was prepared under
/// the open policy therefore keeps its refusal with it (``Statement/refusal``), which the cache of
/// users' statements looks at; our own (`BEGIN`, `COMMIT`) run under either. SQLite also asks when
/// it prepares a statement again by itself, after a change of the schema: whoever ends a
/// transaction sets the open policy first.
final class StatementAuthorizer {
    var policy = StatementPolicy.open
    /// What the statement that is being prepared may write. Also set while a statement begins to
    /// run, since SQLite may prepare it again.
    var facts: WriteFacts?
    /// The same for what it reads, on connections that only read.
    var reads: ReadTables?
    /// What the statements of one closure read, where that is noted.
    var observed: Set<String>?
    /// Whether a statement is being prepared for the first time. Outside of that, what is asked
    /// comes from preparing again, and so from another schema.
    var isPreparing = false
    /// Tables of schemas that this program does not know, by their names in lower case, each with its
    /// owner. Closures are kept from them.
    var foreignTables: [String: String] = [:]
    /// Set while the connection asks its own questions, which are neither judged nor tracked.
    var isSuspended = false
    /// What a closure's own statements may write, and where they note what they read, while SQLite's
    /// handle is lent to it.
    private var lent: (facts: WriteFacts?, reads: ReadTables?)?
    /// Whether SQLite's handle is lent to a closure.
    var isHandleLent: Bool { lent != nil }
    /// Why the statement that is being prepared is none for closures.
    private(set) var refusal: StatementRefusal?

    let tracker: WriteTracker?
    private var droppedTable: String?

    /// Pragmas that only read, or set what the transaction's own rollback would undo.
    private static let harmlessPragmas: Set<String> = [
        "application_id", "collation_list", "compile_options", "data_version", "database_list",
        "defer_foreign_keys", "encoding", "foreign_key_check", "foreign_key_list", "freelist_count",
        "function_list", "index_info", "index_list", "index_xinfo", "integrity_check",
        "module_list", "page_count", "page_size", "pragma_list", "quick_check", "schema_version",
        "table_info", "table_list", "table_xinfo", "user_version",
    ]
    /// Those among them that a closure may give a value. The others' values name a table.
    private static let readOnlyPragmas: Set<String> = [
        "application_id", "encoding", "page_size", "schema_version",
    ]

    init(tracker: WriteTracker?) { self.tracker = tracker }

    /// Installs the authoriser. The connection keeps it alive longer than its database handle.
    func install(on database: OpaquePointer) {
        sqlite3_set_authorizer(
            database,
            { context, action, first, second, schema, trigger in
                guard let context else { return SQLITE_OK }
                let authorizer = Unmanaged<StatementAuthorizer>.fromOpaque(context)
                return authorizer.takeUnretainedValue()
                    .judge(action, first, second, schema, trigger)
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    /// Begins a statement: what is asked from now on is about it.
    func beginPreparing(_ facts: WriteFacts?, _ reads: ReadTables?) {
        self.facts = facts
        self.reads = reads
        isPreparing = true
        refusal = nil
        droppedTable = nil
    }

    /// Ends a statement.
    func endPreparing() {
        facts = nil
        reads = nil
        isPreparing = false
    }

    /// A statement that was prepared begins to run.
    func beginRunning(_ reads: ReadTables) {
        // SQLite may find now that the schema changed, and then prepares the statement again.
        self.reads = reads
        observed?.formUnion(reads.names)
    }

    /// From now on statements that are prepared elsewhere are the closure's.
    func lendHandle(_ facts: WriteFacts?) {
        lent = (facts, tracker == nil ? ReadTables() : nil)
    }

    /// Ends that.
    func takeHandleBack() { lent = nil }

    private func noteRead(_ name: String, in reads: ReadTables) {
        reads.names.insert(name)
        observed?.insert(name)
    }

    private func judge(
        _ action: Int32,
        _ first: UnsafePointer<CChar>?,
        _ second: UnsafePointer<CChar>?,
        _ schema: UnsafePointer<CChar>?,
        _ trigger: UnsafePointer<CChar>?
    ) -> Int32 {
        if isSuspended { return SQLITE_OK }
        switch action {
        case SQLITE_READ:
            if let reads = reads ?? lent?.reads { noteRead(Self.text(first), in: reads) }
            return foreignTables.isEmpty ? SQLITE_OK : judge(table: first)
        case SQLITE_SELECT, SQLITE_FUNCTION, SQLITE_RECURSIVE:
            return SQLITE_OK
        case SQLITE_TRANSACTION, SQLITE_SAVEPOINT:
            return refuse(.transactionControl)
        case SQLITE_ATTACH, SQLITE_DETACH:
            return refuse(.attachment)
        case SQLITE_PRAGMA:
            let name = Self.text(first).lowercased()
            let isHarmless =
                Self.harmlessPragmas.contains(name)
                && (second == nil || !Self.readOnlyPragmas.contains(name))
            return isHarmless ? SQLITE_OK : refuse(.pragma(name: name))
        default:
            if !foreignTables.isEmpty {
                // ALTER names the database first, CREATE INDEX and triggers their table second.
                for name in [first, second] where judge(table: name) != SQLITE_OK {
                    return SQLITE_DENY
                }
            }
            return note(action, first, second, isTemporary: Self.isTemporary(schema), trigger)
        }
    }

    /// Refuses a table of a schema that this program does not know.
    private func judge(table: UnsafePointer<CChar>?) -> Int32 {
        let name = Self.text(table)
        guard let owner = foreignTables[name.lowercased()] else { return SQLITE_OK }
        return refuse(.unknownSchema(table: name, owner: owner))
    }

    private func refuse(_ refusal: StatementRefusal) -> Int32 {
        self.refusal = refusal
        return policy == .restricted ? SQLITE_DENY : SQLITE_OK
    }

    /// Notes a write, and answers how SQLite should go about it.
    private func note(
        _ action: Int32,
        _ first: UnsafePointer<CChar>?,
        _ second: UnsafePointer<CChar>?,
        isTemporary: Bool,
        _ trigger: UnsafePointer<CChar>?
    ) -> Int32 {
        guard let tracker, !isTemporary else { return SQLITE_OK }
        if !isPreparing { tracker.schemaMayHaveChanged() }
        let facts = facts ?? lent?.facts
        switch action {
        case SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE:
            let name = Self.text(first)
            let table = tracker.index(ofTable: name)
            facts?.addTable(table, throughTrigger: trigger != nil)
            if action == SQLITE_UPDATE { facts?.addUpdate(of: Self.text(second), in: table) }
            // SQLITE_IGNORE makes a DELETE go row by row. Where a table is dropped the same answer
            // would quietly leave it there, and the engine's own tables are not ours to answer for.
            let isRowwise =
                action == SQLITE_DELETE && !isDropped(name) && !tracker.isIgnored(table)
            return isRowwise ? SQLITE_IGNORE : SQLITE_OK
        // A view that is another one shows other rows.
        case SQLITE_CREATE_TABLE, SQLITE_CREATE_VTABLE, SQLITE_CREATE_VIEW:
            noteSchema(of: Self.text(first), tracker)
        case SQLITE_DROP_TABLE, SQLITE_DROP_VTABLE, SQLITE_DROP_VIEW, SQLITE_DROP_TEMP_VIEW,
            SQLITE_DROP_TEMP_TABLE:
            droppedTable = Self.text(first)
            noteSchema(of: Self.text(first), tracker)
        case SQLITE_ALTER_TABLE:
            noteSchema(of: Self.text(second), tracker)
        default:
            break
        }
        return SQLITE_OK
    }

    private func isDropped(_ name: String) -> Bool {
        guard let droppedTable else { return false }
        return isSameName(name, droppedTable)
    }

    private func noteSchema(of name: String, _ tracker: WriteTracker) {
        tracker.schemaMayHaveChanged()
        (facts ?? lent?.facts)?.addSchemaTable(tracker.index(ofTable: name))
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String {
        guard let pointer else { return "" }
        return String(cString: pointer)
    }

    private static func isTemporary(_ schema: UnsafePointer<CChar>?) -> Bool {
        guard let schema else { return false }
        return String(cString: schema) == "temp"
    }
}

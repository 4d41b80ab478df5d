import CLockkeeperSQLite
package import LockkeeperDomain

/// A prepared statement.
///
/// One execution is: bind, then ``run()``, or ``step()`` until it answers false. It then is reset
/// by itself and has forgotten its values, so that it can be bound again and no text stays in
/// memory. Whoever stops in the middle calls ``reset()``. While it stands on a row it pins the
/// connection's snapshot.
///
/// Parameters count from 1, columns from 0, as in SQLite. Not `Sendable`: it belongs where its
/// connection is confined.
package final class Statement {
    /// Why the statement may not stand in a closure, where that is so.
    package let refusal: StatementRefusal?

    private let core: ConnectionCore
    private let handle: OpaquePointer
    private let facts: WriteFacts?
    private let reads: ReadTables?
    private(set) var isActive = false
    /// Whether an execution has begun of which the tracker was not told.
    private var hasRun = false
    private var changesBefore: Int32 = 0
    /// Who prepared it last: the file and line of the caller.
    var origin: (file: StaticString, line: Int) = ("", 0)
    private var trace: RunningTrace?

    /// The kinds of values that a column can hold in a row.
    package enum Kind: Sendable, Hashable {
        case null, integer, real, text, blob
    }

    /// Takes over a statement that was prepared.
    init(
        handle: OpaquePointer,
        core: ConnectionCore,
        facts: WriteFacts?,
        reads: ReadTables?,
        refusal: StatementRefusal?
    ) {
        self.handle = handle
        self.core = core
        self.facts = facts
        self.reads = reads
        self.refusal = refusal
    }

    deinit {
        if isActive { core.remove(active: self) }
        sqlite3_finalize(handle)
    }

    /// The statement's text, without values.
    package var sql: String { String(cString: sqlite3_sql(handle)) }

    // MARK: - Running

    /// Goes to the next row.
    ///
    /// - Returns: false when there is none; the execution is then complete.
    /// - Throws: ``SQLiteError`` when the execution failed; the statement is reset then.
    package func step() throws(SQLiteError) -> Bool {
        if !isActive { try prepareToRun() }
        let code = sqlite3_step(handle)
        if code == SQLITE_ROW {
            trace?.rowCount += 1
            if !isActive {
                isActive = true
                core.add(active: self)
                core.authorizer.facts = nil
            }
            return true
        }
        let failure = code == SQLITE_DONE ? nil : core.error(code, .step, sql: sql)
        reset()
        if let failure { throw failure }
        return false
    }

    /// Runs the statement to its end and leaves out its rows.
    ///
    /// - Throws: ``SQLiteError`` when the execution failed.
    package func run() throws(SQLiteError) {
        while try step() {}
    }

    /// Ends an execution in the middle, with a look at whether what it did until then holds:
    /// outside of a transaction this is where a statement that writes and gives rows commits.
    ///
    /// - Throws: ``SQLiteError`` when it does not.
    package func finish() throws(SQLiteError) {
        guard isActive else { return }
        let code = sqlite3_reset(handle)
        let failure = code == SQLITE_OK ? nil : core.error(code, .step, sql: sql)
        reset()
        if let failure { throw failure }
    }

    /// Ends an execution, wherever it stands, and forgets the values. What the reset answers is the
    /// failure of the step before, which was thrown there.
    package func reset() {
        if let trace { tell(trace) }
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
        if isActive {
            isActive = false
            core.remove(active: self)
        }
        if let facts { noteWrites(facts) }
    }

    private func prepareToRun() throws(SQLiteError) {
        try core.requireUsable(.step)
        if let request = StatementTracing.current {
            trace = RunningTrace(request: request, began: request.clock.now())
        }
        if let reads { core.authorizer.beginRunning(reads) }
        guard let facts, let tracker = core.authorizer.tracker else { return }
        if facts.resolvedEpoch != tracker.schemaEpoch { core.resolve(facts) }
        if !facts.tablesWithoutRows.isEmpty { changesBefore = sqlite3_total_changes(core.database) }
        // SQLite may find now that the schema changed, and then prepares the statement again.
        core.authorizer.facts = facts
        hasRun = true
    }

    /// Tells who traces that an execution has ended; before its values are forgotten.
    private func tell(_ trace: RunningTrace) {
        self.trace = nil
        let duration = trace.request.clock.now().duration(since: trace.began)
        guard duration >= trace.request.least else { return }
        var expanded: String?
        if trace.request.includesValues, let text = sqlite3_expanded_sql(handle) {
            expanded = String(cString: text)
            sqlite3_free(text)
        }
        trace.request.report(
            TracedExecution(
                sql: sql,
                expandedSQL: expanded,
                file: "\(origin.file)",
                line: origin.line,
                duration: duration,
                rowCount: trace.rowCount
            )
        )
    }

    /// Tells the tracker what the hook did not see.
    private func noteWrites(_ facts: WriteFacts) {
        core.authorizer.facts = nil
        guard hasRun, let tracker = core.authorizer.tracker else { return }
        hasRun = false
        if facts.resolvedEpoch != tracker.schemaEpoch {
            // Prepared again on the way: the count from before may not have been taken.
            if core.isUsable { core.resolve(facts) }
            tracker.touchAnyRow(of: facts.tablesWithoutRows)
        } else if !facts.tablesWithoutRows.isEmpty,
            sqlite3_total_changes(core.database) != changesBefore
        {
            tracker.touchAnyRow(of: facts.tablesWithoutRows)
        }
        if !facts.schemaTables.isEmpty {
            tracker.touchAnyRow(of: facts.schemaTables)
            // What was looked up before a table was made is not true of it.
            tracker.schemaMayHaveChanged()
        }
    }

    // MARK: - Binding

    /// Binds NULL.
    package func bindNull(_ index: Int) throws(SQLiteError) {
        try check(sqlite3_bind_null(handle, Int32(index)))
    }

    /// Binds an integer.
    package func bind(_ index: Int, _ number: Int64) throws(SQLiteError) {
        try check(sqlite3_bind_int64(handle, Int32(index), number))
    }

    /// Binds an integer.
    package func bind(_ index: Int, _ number: Int) throws(SQLiteError) {
        try check(sqlite3_bind_int64(handle, Int32(index), Int64(number)))
    }

    /// Binds an integer, or NULL.
    package func bind(_ index: Int, _ number: Int64?) throws(SQLiteError) {
        if let number { try bind(index, number) } else { try bindNull(index) }
    }

    /// Binds a floating-point number.
    package func bind(_ index: Int, _ number: Double) throws(SQLiteError) {
        try check(sqlite3_bind_double(handle, Int32(index), number))
    }

    /// Binds a text. It is copied, all of it, NUL among it or not.
    package func bind(_ index: Int, _ text: String) throws(SQLiteError) {
        var text = text
        let code = text.withUTF8 { bytes in
            bindText(index, UnsafeRawBufferPointer(bytes), lk_sqlite_transient())
        }
        try check(code)
    }

    /// Binds a text given as UTF-8 bytes, or NULL. It is copied.
    package func bind(_ index: Int, text bytes: [UInt8]?) throws(SQLiteError) {
        guard let bytes else { return try bindNull(index) }
        try check(bytes.withUnsafeBytes { bindText(index, $0, lk_sqlite_transient()) })
    }

    /// Binds a text given as UTF-8 bytes without copying it: the memory must stay as it is until
    /// the execution has ended.
    package func bind(
        _ index: Int,
        borrowedText bytes: UnsafeRawBufferPointer
    ) throws(SQLiteError) {
        try check(bindText(index, bytes, lk_sqlite_static()))
    }

    /// Binds a blob, or NULL. It is copied.
    package func bind(_ index: Int, blob bytes: [UInt8]?) throws(SQLiteError) {
        guard let bytes else { return try bindNull(index) }
        // An empty array has no address, and a blob without address would be NULL.
        guard !bytes.isEmpty else {
            return try check(sqlite3_bind_zeroblob(handle, Int32(index), 0))
        }
        let code = bytes.withUnsafeBytes {
            sqlite3_bind_blob64(
                handle,
                Int32(index),
                $0.baseAddress,
                UInt64($0.count),
                lk_sqlite_transient()
            )
        }
        try check(code)
    }

    /// Binds a value of any kind.
    package func bind(_ index: Int, _ value: SQLValue) throws(SQLiteError) {
        switch value {
        case .null: try bindNull(index)
        case .integer(let number): try bind(index, number)
        case .real(let number): try bind(index, number)
        case .text(let bytes): try bind(index, text: bytes)
        case .blob(let bytes): try bind(index, blob: bytes)
        }
    }

    /// Binds values to the parameters from 1 on.
    ///
    /// - Throws: ``SQLiteError`` when there are more or fewer values than parameters: the rest
    ///   would quietly be NULL.
    package func bind(_ values: [SQLValue]) throws(SQLiteError) {
        let count = Int(sqlite3_bind_parameter_count(handle))
        guard count == values.count else {
            throw SQLiteError(
                code: .range,
                message: "\(count) parameters, but \(values.count) values",
                operation: .bind,
                sql: sql
            )
        }
        for (index, value) in values.enumerated() { try bind(index + 1, value) }
    }

    private func bindText(
        _ index: Int,
        _ bytes: UnsafeRawBufferPointer,
        _ destructor: sqlite3_destructor_type?
    ) -> Int32 {
        // An empty text has no address, and a text without address would be NULL.
        guard let start = bytes.baseAddress, bytes.count > 0 else {
            return sqlite3_bind_text(handle, Int32(index), "", 0, lk_sqlite_transient())
        }
        return sqlite3_bind_text64(
            handle,
            Int32(index),
            start.assumingMemoryBound(to: CChar.self),
            UInt64(bytes.count),
            destructor,
            UInt8(SQLITE_UTF8)
        )
    }

    private func check(_ code: Int32) throws(SQLiteError) {
        guard code == SQLITE_OK else { throw core.error(code, .bind, sql: sql) }
    }

    // MARK: - Columns of the present row

    /// The number of columns.
    package var columnCount: Int { Int(sqlite3_column_count(handle)) }

    /// A column's name.
    package func columnName(_ column: Int) -> String {
        guard let name = sqlite3_column_name(handle, Int32(column)) else { return "" }
        return String(cString: name)
    }

    /// What kind of value a column holds.
    package func kind(_ column: Int) -> Kind {
        switch sqlite3_column_type(handle, Int32(column)) {
        case SQLITE_INTEGER: .integer
        case SQLITE_FLOAT: .real
        case SQLITE_TEXT: .text
        case SQLITE_BLOB: .blob
        default: .null
        }
    }

    /// Whether a column holds NULL.
    package func isNull(_ column: Int) -> Bool {
        sqlite3_column_type(handle, Int32(column)) == SQLITE_NULL
    }

    /// A column as an integer, 0 for NULL.
    package func int64(_ column: Int) -> Int64 { sqlite3_column_int64(handle, Int32(column)) }

    /// A column as an integer, `nil` for NULL.
    package func optionalInt64(_ column: Int) -> Int64? {
        isNull(column) ? nil : int64(column)
    }

    /// A column as a floating-point number, 0 for NULL.
    package func double(_ column: Int) -> Double { sqlite3_column_double(handle, Int32(column)) }

    /// A column as text; bytes that are not UTF-8 become replacement characters. "" for NULL.
    package func string(_ column: Int) -> String {
        withBytes(column) { String(decoding: $0, as: UTF8.self) }
    }

    /// The bytes of a text or a blob; none for NULL.
    package func bytes(_ column: Int) -> [UInt8] { withBytes(column) { Array($0) } }

    /// The bytes of a text or a blob, `nil` for NULL.
    package func optionalBytes(_ column: Int) -> [UInt8]? { isNull(column) ? nil : bytes(column) }

    /// Gives a text's or a blob's bytes as SQLite keeps them, without a copy. They are good within
    /// the closure only.
    package func withBytes<Result, Failure: Error>(
        _ column: Int,
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // For a text these are its UTF-8 bytes: our files are never UTF-16. The count is asked for
        // last, since asking for the value may convert it.
        let start = sqlite3_column_blob(handle, Int32(column))
        let count = Int(sqlite3_column_bytes(handle, Int32(column)))
        return try body(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
    }

    /// A column's value, whatever its kind.
    package func value(_ column: Int) -> SQLValue {
        switch kind(column) {
        case .null: .null
        case .integer: .integer(int64(column))
        case .real: .real(double(column))
        case .text: .text(bytes(column))
        case .blob: .blob(bytes(column))
        }
    }
}

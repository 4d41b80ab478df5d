extension Connection {
    /// Asks SQLite whether the file is sound.
    ///
    /// - Parameter quick: leaves out the comparison of indexes with their tables.
    /// - Returns: what is wrong, at most 100 sentences; none when nothing is.
    /// - Throws: ``SQLiteError`` when the file cannot be read well enough to ask.
    package func integrityCheck(quick: Bool) throws(SQLiteError) -> [String] {
        let statement = try prepare(quick ? "PRAGMA quick_check" : "PRAGMA integrity_check")
        var sentences: [String] = []
        while try statement.step() { sentences.append(statement.string(0)) }
        return sentences == ["ok"] ? [] : sentences
    }

    /// A row whose foreign key leads nowhere.
    package struct ForeignKeyViolation: Sendable, Hashable {
        /// The table with the row.
        package let table: String
        /// The row's id, `nil` in a table without.
        package let row: Int64?
        /// The table in which the row it names is missing.
        package let parent: String

        /// A violation of its parts.
        package init(table: String, row: Int64?, parent: String) {
            self.table = table
            self.row = row
            self.parent = parent
        }
    }

    /// Looks for rows whose foreign key leads nowhere.
    ///
    /// - Parameter table: the only table that is looked at; all where it is not given.
    /// - Throws: ``SQLiteError`` when the file cannot be read well enough.
    package func foreignKeyCheck(
        of table: String? = nil,
        limit: Int = 100
    ) throws(SQLiteError) -> [ForeignKeyViolation] {
        let only = table.map { "(\"\($0.replacing("\"", with: "\"\""))\")" } ?? ""
        let statement = try prepare("PRAGMA foreign_key_check\(only)")
        defer { statement.reset() }
        var violations: [ForeignKeyViolation] = []
        while violations.count < limit, try statement.step() {
            violations.append(
                ForeignKeyViolation(
                    table: statement.string(0),
                    row: statement.optionalInt64(1),
                    parent: statement.string(2)
                )
            )
        }
        return violations
    }

    /// A number that changes whenever another connection has committed. Compare readings of one
    /// connection only.
    ///
    /// - Throws: ``SQLiteError`` when the file cannot be read.
    package func dataVersion() throws(SQLiteError) -> Int64 {
        let statement = try statement("PRAGMA data_version")
        defer { statement.reset() }
        return try statement.step() ? statement.int64(0) : 0
    }
}

import LockkeeperDomain

/// Collects which rows of which tables a transaction writes.
///
/// Three sources together miss nothing:
///
/// 1. The *update hook* names each row that is inserted, updated or deleted in a table with row ids.
/// 2. The *authoriser* names, when a statement is prepared, the tables that it may write. It is
///    needed where the hook is silent: WITHOUT ROWID and virtual tables, rows that REPLACE removes,
///    a row id that UPDATE changes. Such a table counts as changed in any row when the statement
///    changed something.
/// 3. The authoriser answers SQLITE_IGNORE to deletes, which makes SQLite delete row by row also
///    where a DELETE has no WHERE, so that the hook sees it.
///
/// What is collected may cover more than what happened, never less: rows of a statement that failed
/// halfway stay in it. Not `Sendable`: it belongs to the connection that owns it.
package final class WriteTracker {
    /// Whether something was written since the changes were last taken.
    package private(set) var hasChanges = false

    /// Counts the changes of the schema that were noticed, from 1.
    private(set) var schemaEpoch = 1

    private var tables: ContiguousArray<Table> = []
    /// Where SQLite keeps the names of the tables that were seen lately. A name's address stays the
    /// same while the schema is loaded, and comparing it costs less than reading it.
    private var knownNames: ContiguousArray<(address: UnsafePointer<CChar>, table: Int)> = []
    private var latestName: UnsafePointer<CChar>?
    private var latestTable = 0
    private let isBookkeeping: @Sendable (String) -> Bool

    /// One table and what is known of it.
    struct Table {
        let name: String
        /// Written by the engine or by us, and nobody's news.
        let isIgnored: Bool
        var kind = Kind.unknown
        var isTouched = false
        var isTouchedInAnyRow = false
        var rows = RowRanges()
    }

    /// How a table tells which rows were written.
    enum Kind: Equatable {
        /// Not looked up under the present schema.
        case unknown
        /// By the hook; the column, where one stands for the row id.
        case rows(rowIDColumn: String?)
        /// Not at all: WITHOUT ROWID, virtual, or built to replace rows.
        case anyRow
        /// A table inside of a virtual one, which is the one to name.
        case shadow(of: String)
    }

    /// A tracker that leaves out the tables for which `isBookkeeping` is true.
    package init(isBookkeeping: @escaping @Sendable (String) -> Bool) {
        self.isBookkeeping = isBookkeeping
    }

    /// Gives what was written since the last time, in the order of the tables' names, and starts
    /// anew. Every table must have been looked up: ``Connection/takeChanges()`` sees to it.
    func takeChanges() -> [TableChange] {
        guard hasChanges else { return [] }
        var changes: [TableChange] = []
        for index in tables.indices where tables[index].isTouched {
            let rows = tables[index].rows
            let isAny = tables[index].isTouchedInAnyRow
            switch tables[index].kind {
            case .shadow(let owner):
                if !changes.contains(where: { isSameName($0.name, owner) }) {
                    changes.append(TableChange(name: owner, rows: nil))
                }
            case .unknown, .rows, .anyRow:
                let change = TableChange(name: tables[index].name, rows: isAny ? nil : rows)
                if let same = changes.firstIndex(where: { isSameName($0.name, change.name) }) {
                    changes[same].rows = nil
                } else {
                    changes.append(change)
                }
            }
        }
        discard()
        changes.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        return changes
    }

    /// Forgets what was written: the transaction was rolled back.
    package func discard() {
        guard hasChanges else { return }
        hasChanges = false
        for index in tables.indices where tables[index].isTouched {
            tables[index].isTouched = false
            tables[index].isTouchedInAnyRow = false
            tables[index].rows = RowRanges()
        }
    }

    // MARK: - The hook

    /// Notes a row. Called by SQLite once for each row that is written: nothing is allocated here.
    func noteRow(tableName: UnsafePointer<CChar>, row: Int64) {
        if tableName != latestName { select(tableName) }
        guard !tables[latestTable].isIgnored else { return }
        tables[latestTable].isTouched = true
        tables[latestTable].rows.insert(row)
        hasChanges = true
    }

    private func select(_ name: UnsafePointer<CChar>) {
        latestName = name
        if let known = knownNames.first(where: { $0.address == name }) {
            latestTable = known.table
        } else {
            latestTable = index(ofTable: String(cString: name))
            knownNames.append((name, latestTable))
        }
    }

    // MARK: - The authoriser

    /// The place of a table, which is made when the name is new.
    func index(ofTable name: String) -> Int {
        if let index = tables.firstIndex(where: { isSameName($0.name, name) }) { return index }
        let isIgnored = name.utf8.starts(with: "sqlite_".utf8) || isBookkeeping(name)
        tables.append(Table(name: name, isIgnored: isIgnored))
        return tables.count - 1
    }

    /// Whether a table's changes are left out.
    func isIgnored(_ table: Int) -> Bool { tables[table].isIgnored }

    /// Forgets what depends on the schema: names may have moved and tables may be of another kind.
    func schemaMayHaveChanged() {
        schemaEpoch += 1
        knownNames.removeAll(keepingCapacity: true)
        latestName = nil
        for index in tables.indices { tables[index].kind = .unknown }
    }

    // MARK: - Looking up

    /// The name of a table that has not been looked up, among some or, without a list, among those
    /// that were written.
    func unknownTable(among list: [Int]?) -> (index: Int, name: String)? {
        let candidates = list ?? tables.indices.filter { tables[$0].isTouched }
        for index in candidates where tables[index].kind == .unknown && !tables[index].isIgnored {
            return (index, tables[index].name)
        }
        return nil
    }

    /// Says of what kind a table is.
    func setKind(_ kind: Kind, ofTable table: Int) { tables[table].kind = kind }

    /// Works out for which of its tables a statement gives no rows.
    func resolve(_ facts: WriteFacts, triggersReplace: Bool) {
        let isBlind = facts.mayReplace || (facts.firesTriggers && triggersReplace)
        facts.tablesWithoutRows = facts.tables.filter { table in
            guard !isBlind, case .rows(let rowIDColumn) = tables[table].kind else { return true }
            return facts.updatedColumns.contains {
                $0.table == table && ($0.column == rowIDColumn || $0.column == "ROWID")
            }
        }
        facts.resolvedEpoch = schemaEpoch
    }

    /// Notes that any row of some tables may have changed.
    func touchAnyRow(of list: [Int]) {
        for table in list where !tables[table].isIgnored {
            tables[table].isTouched = true
            tables[table].isTouchedInAnyRow = true
            hasChanges = true
        }
    }
}

/// Whether SQLite takes two names for the same: by bytes, not by canonical equivalence.
func isSameName(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }

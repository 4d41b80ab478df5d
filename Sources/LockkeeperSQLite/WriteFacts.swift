/// What one prepared statement may write, as SQLite's authoriser told when it was prepared.
///
/// A statement may write more than its own table: triggers and foreign keys count. The update hook
/// says later which rows were written; these facts are for what it does not see.
final class WriteFacts {
    /// The tables that may be written, as indexes into the tracker's tables.
    private(set) var tables: [Int] = []
    /// Tables that are created, altered or dropped.
    private(set) var schemaTables: [Int] = []
    /// The columns that UPDATE may set: setting the row id itself leaves no trace of the old one.
    private(set) var updatedColumns: [(table: Int, column: String)] = []
    /// Whether the statement works through a trigger that stands in the schema.
    private(set) var firesTriggers = false
    /// Whether the statement's text says REPLACE, which removes rows without telling the hook.
    let mayReplace: Bool

    /// Tables that count as changed in any row when the statement changed something at all. Known
    /// for the schema that ``resolvedEpoch`` names.
    var tablesWithoutRows: [Int] = []
    /// The tracker's count of schema changes for which the facts were looked up; 0 for none yet.
    var resolvedEpoch = 0

    /// The facts of a statement that has yet to be prepared.
    init(sql: UnsafeBufferPointer<UInt8>) {
        mayReplace = Self.contains(word: "replace", in: sql)
    }

    /// Whether the statement writes nothing that anybody needs to hear of.
    var isEmpty: Bool { tables.isEmpty && schemaTables.isEmpty }

    /// Adds a table that may be written.
    func addTable(_ table: Int, throughTrigger: Bool) {
        if throughTrigger { firesTriggers = true }
        if !tables.contains(table) {
            tables.append(table)
            resolvedEpoch = 0
        }
    }

    /// Adds a column that UPDATE may set.
    func addUpdate(of column: String, in table: Int) {
        if updatedColumns.contains(where: { $0.table == table && $0.column == column }) { return }
        updatedColumns.append((table, column))
    }

    /// Adds a table that is created, altered or dropped.
    func addSchemaTable(_ table: Int) {
        if !schemaTables.contains(table) { schemaTables.append(table) }
    }

    /// Looks for a word in either case anywhere in a text. A false alarm, in a comment or a name,
    /// only makes a range less exact.
    static func contains(word: StaticString, in text: UnsafeBufferPointer<UInt8>) -> Bool {
        let count = word.utf8CodeUnitCount
        guard text.count >= count else { return false }
        return (0...(text.count - count)).contains { start in
            (0..<count).allSatisfy { text[start + $0] | 0x20 == word.utf8Start[$0] }
        }
    }
}

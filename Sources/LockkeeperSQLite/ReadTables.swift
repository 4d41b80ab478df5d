/// The tables that one statement reads, as far as preparing it tells. Prepared again by SQLite after
/// a change of the schema, it may gain some.
final class ReadTables {
    var names: Set<String> = []
}

extension Connection {
    /// Runs a closure and tells which tables its statements read. For connections that only read.
    ///
    /// - Returns: what the closure returned, and the tables' names as the schema or the statements
    ///   write them; `nil` where what was read may depend on more than rows of ordinary tables: the
    ///   schema itself, temporary and virtual tables.
    package func notingReads<Value>(
        _ body: (Connection) throws -> Value
    ) rethrows -> (value: Value, tables: Set<String>?) {
        let authorizer = core.authorizer
        precondition(authorizer.tracker == nil, "only what a reader reads is noted")
        precondition(authorizer.observed == nil, "one closure's reads are noted at a time")
        authorizer.observed = []
        defer { authorizer.observed = nil }
        let value = try body(self)
        let names = (authorizer.observed ?? []).subtracting(Self.pureFunctions)
        return (value, names.allSatisfy(core.isOrdinaryTable) ? names : nil)
    }

    /// Table-valued functions that depend on nothing but their arguments.
    private static let pureFunctions: Set<String> = ["json_each", "json_tree"]
}

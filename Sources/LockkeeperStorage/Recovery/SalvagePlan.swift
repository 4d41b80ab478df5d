import LockkeeperDomain
package import LockkeeperSQLite

/// What the owner of some tables says about them for the case that their file is damaged.
package struct SalvagePlan: Sendable {
    /// What a table's rows are worth.
    package enum TableClass: String, Sendable, Hashable {
        /// Nobody can give them back. Saved first, and read back and compared. What no plan names is
        /// one of these.
        case irreplaceable
        /// The server gives them again once its cursors are set back.
        case refetched
        /// They follow from others, and are made anew.
        case derived
    }

    /// What an index still tells of rows that its table does not. It is read by itself, from both ends,
    /// so that a page of it that is damaged is met from either side.
    package struct IndexReading: Sendable {
        let table: String
        let index: String
        let columns: [String]
        let exceptions: String?
        let isOfMade: Bool
        let completion: String

        /// A reading of its parts.
        ///
        /// - Parameters:
        ///   - columns: all columns of the index, in its order.
        ///   - exceptions: another index on the first of these columns: rows that it holds are left out,
        ///     and where it cannot be read to its end nothing is read.
        ///   - isOfMade: whether only rows are completed that an earlier reading of the table made.
        ///   - completion: the statement that makes or completes a row: `?1` is the row id, then come the
        ///     columns. It leaves rows alone that could be read.
        package init(
            of table: String,
            through index: String,
            _ columns: [String],
            except exceptions: String? = nil,
            isOfMade: Bool = false,
            completion: String
        ) {
            self.table = table
            self.index = index
            self.columns = columns
            self.exceptions = exceptions
            self.isOfMade = isOfMade
            self.completion = completion
        }
    }

    /// Rows that belong to rows of another table, where the schema does not say it by a foreign key.
    package struct Reference: Sendable {
        let table: String
        let column: String
        let parent: String

        /// A reference of a column to the row ids of another table.
        package init(from table: String, _ column: String, to parent: String) {
            self.table = table
            self.column = column
            self.parent = parent
        }
    }

    /// The classes of tables, by their names.
    package var classes: [String: TableClass]
    /// What is read of indexes where a table is damaged, in this order.
    package var indexReadings: [IndexReading]
    /// What belongs to what. Row ids of lost rows may be given again, to others.
    package var references: [Reference]
    /// Sets cursors back, so that what was lost is fetched again; returns what was set back. Called where
    /// something was lost, or may have been, and after everything else was copied.
    package var setBack: @Sendable (Connection) throws -> [String]
    /// Makes derived tables and columns anew. Called last, whatever was lost.
    package var derive: @Sendable (_ ownID: [UInt8]?, Connection) throws -> Void
    /// Codes of findings that this makes right.
    package var derivedFindings: Set<String>

    /// A plan of its parts; the default knows nothing of any table.
    package init(
        classes: [String: TableClass] = [:],
        indexReadings: [IndexReading] = [],
        references: [Reference] = [],
        setBack: @escaping @Sendable (Connection) throws -> [String] = { _ in [] },
        derive: @escaping @Sendable (_ ownID: [UInt8]?, Connection) throws -> Void = { _, _ in },
        derivedFindings: Set<String> = []
    ) {
        self.classes = classes
        self.indexReadings = indexReadings
        self.references = references
        self.setBack = setBack
        self.derive = derive
        self.derivedFindings = derivedFindings
    }

    /// What several owners say together, in their order.
    package init(_ plans: [SalvagePlan]) {
        self.init(
            classes: plans.reduce(into: [:]) { $0.merge($1.classes) { first, _ in first } },
            indexReadings: plans.flatMap(\.indexReadings),
            references: plans.flatMap(\.references),
            setBack: { connection in try plans.flatMap { try $0.setBack(connection) } },
            derive: { ownID, connection in
                for plan in plans { try plan.derive(ownID, connection) }
            },
            derivedFindings: plans.reduce(into: []) { $0.formUnion($1.derivedFindings) }
        )
    }

    /// This room's own tables. The commit log is begun anew: positions in it are of another store.
    package static let store = SalvagePlan(
        classes: [
            "lk_fence": .derived, "lk_commit": .derived, "lk_migration": .derived,
            "lk_owned": .derived,
        ]
    )

    func tableClass(of table: String) -> TableClass { classes[table] ?? .irreplaceable }
}

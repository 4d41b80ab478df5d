/// A call of SQLite that failed.
///
/// It carries the text of the statement, never the values that were bound to it.
package struct SQLiteError: Error, Hashable, CustomStringConvertible {
    /// The extended result code.
    package let code: ResultCode
    /// SQLite's own sentence, or ours where SQLite was not asked.
    package let message: String
    /// What was being done.
    package let operation: Operation
    /// The statement without its values, where there was one.
    package let sql: String?
    /// Which rule for closures the statement breaks, where that is why it failed.
    package let refusal: StatementRefusal?
    /// What the kernel said last on the connection, where it could not open a file; 0 otherwise.
    package let systemError: Int32

    /// What was being done when a call failed.
    package enum Operation: String, Sendable, Hashable {
        case open = "open the database"
        case close = "close the database"
        case configure = "set up the connection"
        case prepare = "prepare a statement"
        case bind = "set a value of a statement"
        case step = "run a statement"
        case begin = "begin a transaction"
        case commit = "commit"
        case checkpoint = "copy the log into the database"
        case inspect = "inspect the database"
        case copy = "copy the database"
        case rollBack = "roll back"
        case syncLog = "sync the log"
        case rewriteLog = "write the log again"
    }

    /// Describes a failed call.
    package init(
        code: ResultCode,
        message: String,
        operation: Operation,
        sql: String? = nil,
        refusal: StatementRefusal? = nil,
        systemError: Int32 = 0
    ) {
        self.systemError = systemError
        self.code = code
        self.message = message
        self.operation = operation
        self.sql = sql
        self.refusal = refusal
    }

    /// Whether a sync failed: what was written before it may never reach the disk, and no later sync
    /// can tell.
    package var isFailedSync: Bool {
        switch operation {
        case .syncLog, .rewriteLog: .ioError ~= code
        default: code == .ioErrorSync || code == .ioErrorDirectorySync
        }
    }

    /// What failed and why, for people who know nothing of SQLite's codes and statements.
    package var sentence: String { "cannot \(operation.rawValue): \(message)" }

    /// The failure as a sentence, with the code and the statement for those who look for the cause.
    package var description: String {
        let what = "\(sentence) (\(code))"
        guard let sql else { return what }
        return "\(what) in: \(sql)"
    }
}

/// Why a statement may not stand in a closure that runs inside a transaction of Lockkeeper's.
package enum StatementRefusal: Sendable, Hashable, CustomStringConvertible {
    /// `BEGIN`, `COMMIT`, `ROLLBACK`, savepoints: the transaction is not the closure's to end.
    case transactionControl
    /// `ATTACH` and `DETACH`: what another file holds is neither fenced nor logged.
    case attachment
    /// A pragma that can change how the connection works, or one that is not known to be harmless.
    case pragma(name: String)
    /// A table of a schema that this program does not know, and so may misunderstand.
    case unknownSchema(table: String, owner: String)

    /// The rule as a sentence.
    package var description: String {
        switch self {
        case .transactionControl: "a closure cannot begin or end transactions or savepoints"
        case .attachment: "a closure cannot attach or detach databases"
        case .pragma(let name): "a closure cannot run PRAGMA \(name)"
        case .unknownSchema(let table, let owner):
            "table \(table) belongs to the schema '\(owner)', which this program did not open with"
        }
    }
}

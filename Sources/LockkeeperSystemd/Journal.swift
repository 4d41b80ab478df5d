private import CLockkeeperSystemd

/// What a service says, as an entry of the system's journal with fields that can be searched, instead
/// of a line of text.
///
/// Only where the service manager led the standard error to the journal: what is redirected by a
/// person stays a line where that person wants it.
package enum Journal {
    /// How urgent an entry is; the numbers of syslog.
    package enum Priority: Int, Sendable {
        case error = 3
        case warning = 4
        case info = 6
    }

    /// A field of an entry: `LOCKKEEPER_ROOT=/home/me/chat`.
    package struct Field: Sendable, Hashable {
        /// Capital letters, digits and underscores, a letter first.
        let name: String
        let value: String

        /// A field of the program's own.
        package init(_ name: String, _ value: String) {
            precondition(Self.isName(name), "the journal takes no field that is named \(name)")
            self.name = name
            self.value = value
        }

        private static func isName(_ name: String) -> Bool {
            guard let first = name.utf8.first, (65...90).contains(first) else { return false }
            return name.utf8.allSatisfy { byte in
                (65...90).contains(byte) || (48...57).contains(byte) || byte == 95
            }
        }
    }

    /// Whether the standard error leads to the journal.
    package static var isStandardError: Bool { lk_sd_is_journal(2) != 0 }

    /// Sends an entry. It waits where the journal is behind, as a write to the standard error would.
    ///
    /// - Returns: whether it was sent; where not, it can be written to the standard error.
    package static func send(_ message: String, _ priority: Priority, _ fields: [Field]) -> Bool {
        let own = [
            Field("MESSAGE", message), Field("PRIORITY", "\(priority.rawValue)"),
            Field("SYSLOG_IDENTIFIER", "lockkeeper"),
        ]
        let parts = (own + fields).map { Array("\($0.name)=\($0.value)".utf8CString.dropLast()) }
        let sizes = parts.map(\.count)
        return lk_sd_journal_send(parts.flatMap(\.self), sizes, Int32(sizes.count)) > 0
    }
}

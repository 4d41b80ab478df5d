import LockkeeperCrypto
import LockkeeperDomain
import LockkeeperStorage

/// Where the files of a workspace lie.
///
/// ```
/// <root>/                       0700
///   workspace.db                the registry
///   workspace.locks             HOST, SWITCH, HUB
///   notifier.sock               0600
///   accounts/<directory>/       0700
///     messages-<n>.db           <n> changes when a file is replaced
///     settings-<n>.db
///     account.json              the account's charter, of which a lost registry is made anew
///     health.json               what inspections found when they were last run
///     account.locks             ENTRY, PRESENCE, MAINTENANCE, QUEUE, WRITER
///     backups/                  copies up to one commit each
///     damaged/                  what was replaced, and what a crash left behind
///   damaged/                    registries that could not be used
/// ```
struct WorkspacePaths: Sendable, Hashable {
    /// The canonical path of the workspace's folder.
    let root: String

    var registry: String { "\(root)/workspace.db" }
    var locks: String { "\(root)/workspace.locks" }
    var socket: String { "\(root)/notifier.sock" }
    var accounts: String { "\(root)/accounts" }
    /// Registries that are not used any more, and kept.
    var damaged: String { "\(root)/damaged" }

    /// The files of one account.
    struct Account: Sendable, Hashable {
        /// The account's folder.
        let directory: String

        var locks: String { "\(directory)/account.locks" }
        var charter: String { "\(directory)/account.json" }
        /// Copies that the account keeps of itself.
        var backups: String { "\(directory)/backups" }
        /// What inspections found when they were last run.
        var health: String { "\(directory)/health.json" }
        /// What is not opened any more, and kept.
        var damaged: String { "\(directory)/damaged" }

        /// A database file. The number is its own for ever.
        func file(of kind: StoreKind, number: Int64) -> String {
            "\(directory)/\(kind.rawValue)-\(number).db"
        }

        /// The same file among the damaged ones of a recovery.
        func file(of kind: StoreKind, number: Int64, in recovery: String) -> String {
            "\(damaged)/\(recovery)/\(kind.rawValue)-\(number).db"
        }

        /// The number in the name of a file of a kind, or of its log, index or journal; `nil` where
        /// it has another name.
        static func number(in name: String, of kind: StoreKind) -> Int64? {
            let prefix = "\(kind.rawValue)-"
            guard name.hasPrefix(prefix), name.contains(".db") else { return nil }
            return Int64(name.dropFirst(prefix.count).prefix { $0.isNumber })
        }
    }

    func account(directory: String) -> Account { Account(directory: "\(accounts)/\(directory)") }

    /// The name of an account's folder.
    static func directoryName(for account: AccountID) -> String { FileName.of(account.bytes) }
}

/// Names of files for ids.
package enum FileName {
    /// The id itself where it is plain and short, else its digest.
    ///
    /// An id may hold slashes, NUL, or only a dot, and file systems elsewhere fold case. One that ends as
    /// temporary files do would be cleared away as one. A digest is told from a plain id by its first
    /// character, which no plain id has.
    package static func of(_ id: [UInt8]) -> String {
        let isPlain =
            id.count <= plainByteCountMax && id.first != UInt8(ascii: ".")
            && id.allSatisfy(isPlainByte) && !id.suffix(4).elementsEqual(".tmp".utf8)
        if isPlain { return String(decoding: id, as: UTF8.self) }
        return "~" + SHA256.digest(of: id).prefix(20).hexadecimal
    }

    private static let plainByteCountMax = 64

    private static func isPlainByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}

import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperStorage

/// What stands in folders of accounts that the registry does not know.
///
/// Who keeps a packet holds no lock, so that the account may be removed between his look into the
/// registry and his file. He looks again and takes the file back, unless he dies before. Then the
/// packet lies in the folder of an account that is gone, or of another one that was added under the id.
/// In the first case whoever opens the workspace or adds the account erases it; in the second whoever
/// drains the inbox, by the packet's birth.
extension Workspace {
    /// Erases packets that came to an account after it was removed. Where SWITCH does not become free
    /// the next one who opens the workspace does it.
    func eraseLeftovers() throws {
        guard try !foldersWithLeftovers().isEmpty else { return }
        let soon = Deadline(after: Self.deathWaitMax, from: clock.now())
        try membership.underSwitch(until: soon) {
            // Read again now that nobody is adding one of them.
            for account in try foldersWithLeftovers() { try eraseInbox(of: account) }
        }
    }

    /// The folders that have packets and no account: no row, no charter, no database. A folder of which
    /// only row and charter were lost has databases, and keeps its packets.
    private func foldersWithLeftovers() throws -> [WorkspacePaths.Account] {
        guard try FileSystem.status(paths.accounts) != nil else { return [] }
        let folders = try FileSystem.list(paths.accounts)
        let known = try registry.use { registry in
            Set(try registry.accounts().map(\.directory) + registry.removals().map(\.directory))
        }
        return try folders.filter { !known.contains($0) }.map(paths.account).filter { account in
            guard try FileSystem.status(account.directory)?.kind == .directory,
                try FileSystem.status(account.charter) == nil
            else { return false }
            let names = try FileSystem.list(account.directory)
            return !names.contains(where: isDatabase) && names.contains(where: isOfInbox)
        }
    }

    /// Readies the folder of an account that is to be added. The caller holds SWITCH.
    ///
    /// Packets that came to an account of that id after it was removed are erased. Anything else that
    /// is not known is moved to the folder's `damaged/`, so that the new account does not take it for
    /// its own.
    ///
    /// - Returns: the birth of the same account where somebody died as he was adding it, or where
    ///   another registry was put there: what was kept for it belongs to it.
    /// The folder has no databases: an empty store beside them would hide what they hold.
    func birthOfBegun(_ id: AccountID, in directory: String) throws -> Generation? {
        let account = paths.account(directory: directory)
        guard try FileSystem.status(account.directory) != nil else { return nil }
        if let charter = try AccountCharter(of: account, in: directory), !charter.isRemoving {
            return charter.record.birth
        }
        try eraseInbox(of: account)
        for name in try FileSystem.list(account.directory).sorted() {
            let path = "\(account.directory)/\(name)"
            if [account.locks, account.damaged].contains(path) { continue }
            try FileSystem.makeDirectory(account.damaged, mode: 0o700)
            let used = Set(try FileSystem.list(account.damaged))
            var number = 1
            while used.contains("left-\(number)-\(name)") { number += 1 }
            try FileSystem.rename(path, to: "\(account.damaged)/left-\(number)-\(name)")
        }
        return nil
    }

    /// Erases the inbox of an account that is gone, and files that nobody came to name. The caller
    /// holds SWITCH.
    private func eraseInbox(of account: WorkspacePaths.Account) throws {
        for name in try FileSystem.list(account.directory).sorted() where isOfInbox(name) {
            let path = "\(account.directory)/\(name)"
            if try FileSystem.status(path, followingLinks: false)?.kind == .directory {
                try FileSystem.removeTree(path)
            } else {
                try FileSystem.remove(path)
            }
        }
        try FileSystem.syncDirectory(account.directory)
    }

    private func isDatabase(_ name: String) -> Bool { name.hasSuffix(".db") }

    private func isOfInbox(_ name: String) -> Bool {
        ["inbox", "reserve"].contains(name) || name.hasSuffix(".tmp")
    }

    /// Whether a folder has databases, of an account that the registry does not know.
    func holdsDatabases(_ account: WorkspacePaths.Account) throws -> Bool {
        guard try FileSystem.status(account.directory) != nil else { return false }
        return try FileSystem.list(account.directory).contains(where: isDatabase)
    }
}

extension LockkeeperError {
    static func unknownFiles(_ folder: String) -> LockkeeperError {
        LockkeeperError(
            .damaged,
            subject: folder,
            explanation:
                "the folder holds databases, of which none can be read that says that it is this account's",
            answer: .recover,
            remedy:
                "Nothing was changed. Put the folder's account.json back and move workspace.db away while"
                + " no process has the workspace open: it is made anew of the accounts' folders, and a"
                + " repair reads the databases. Or move the folder away to begin anew."
        )
    }
}

extension AccountCharter {
    /// A charter has a few hundred bytes, and ids of up to 512 of them.
    private static let byteCountMax = 1 << 16

    /// Reads the charter of an account's folder; `nil` where there is none.
    init?(of account: WorkspacePaths.Account, in directory: String) throws {
        guard try FileSystem.status(account.charter)?.kind == .regular else { return nil }
        let bytes = try FileSystem.contents(of: account.charter, limit: Self.byteCountMax)
        self.init(bytes, in: directory)
    }
}

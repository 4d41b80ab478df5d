public import LockkeeperDomain
import LockkeeperSQLite
import LockkeeperStorage

/// Where the keys of accounts' files are kept: outside of the workspace, which is asked for them before
/// anything of it is read.
///
/// A key has 32 bytes and a name, 16 hexadecimal digits that follow from it. Each file says which key it
/// has; keys of other names, left from an earlier installation for example, are not used for anything.
/// Nothing removes a key by itself, because backups may have it; `Workspace.removeKey(_:of:alsoIn:)` does
/// when it is asked to.
///
/// Every call is made on a thread of Lockkeeper's, and may block.
public protocol StoreKeySource: Sendable {
    /// All keys that are kept for an account.
    ///
    /// - Throws: ``LockkeeperError`` with the code `locked` where they cannot be read now and may be
    ///   later, `permissionDenied` where the source refuses.
    func keys(of account: AccountID) throws -> [Secret]

    /// Keeps one more key of an account; durable when this returns, because a file is made with it then.
    func add(_ key: Secret, named name: String, of account: AccountID) throws

    /// Removes a key of an account; durable when this returns.
    ///
    /// - Throws: ``LockkeeperError`` with the code `notFound` where there is none of that name,
    ///   `permissionDenied` where the source refuses.
    func remove(named name: String, of account: AccountID) throws
}

extension StoreKeySource {
    /// The keys of an account; what is no key is left out.
    func storeKeys(of account: AccountID) throws -> [StoreKey] {
        try keys(of: account).compactMap { $0.storeKey }
    }
}

extension Secret {
    /// The key that these bytes are; `nil` where they are none.
    fileprivate var storeKey: StoreKey? { StoreKey(shared) }
}

extension KeyRing {
    /// The keys of a workspace's accounts.
    convenience init(_ source: (any StoreKeySource)?, paths: WorkspacePaths) {
        guard let source else {
            self.init()
            return
        }
        self.init { path in
            guard let account = try paths.account(ofFile: path) else { return [] }
            return try source.storeKeys(of: account)
        }
    }
}

extension WorkspacePaths {
    /// The account in whose folder a file lies, by its charter: the registry may be what is being made.
    fileprivate func account(ofFile path: String) throws -> AccountID? {
        guard path.hasPrefix(accounts + "/"),
            let directory = path.dropFirst(accounts.utf8.count + 1).split(separator: "/").first
        else { return nil }
        let name = String(directory)
        return try AccountCharter(of: account(directory: name), in: name)?.record.id
    }
}

extension Workspace {
    /// Whether this program can encrypt the files of accounts.
    package static var canEncrypt: Bool { SQLiteLibrary.canEncrypt }

    /// The key that new files of an account get; `nil` where files are plain.
    ///
    /// - Parameter connections: to the account's files that are there.
    /// - Throws: what the source of keys throws.
    func keyOfNewFiles(
        of account: AccountID,
        beside connections: [Connection]
    ) throws -> StoreKey? {
        let present = connections.compactMap { environment.keys.key(of: $0) }.first
        if let present { return present }
        return environment.keys.isRequired ? try makeKey(for: account) : nil
    }

    /// Draws a key, and keeps it before anything is encrypted with it.
    ///
    /// - Throws: ``LockkeeperError`` with the code `invalidInput` where the workspace was opened without
    ///   keys; what the source of keys throws.
    func makeKey(for account: AccountID) throws -> StoreKey {
        let keySource = try requireKeySource()
        let key = StoreKey.random()
        try keySource.add(key.withBytes { Secret($0) }, named: key.name.description, of: account)
        environment.keys.add([key])
        return key
    }

    /// Where keys are kept.
    ///
    /// - Throws: ``LockkeeperError`` with the code `invalidInput` where the workspace was opened without
    ///   such a place.
    func requireKeySource() throws -> any StoreKeySource {
        if let keySource { return keySource }
        throw LockkeeperError(
            .invalidInput,
            subject: "keys",
            explanation: "the workspace was opened without a place for keys",
            answer: .fixProgram,
            remedy: "Open it with Workspace.open(at:name:keys:), or give --keys."
        )
    }

    /// Refuses to rebuild an encrypted file of which the first page cannot be read: nothing else can be read
    /// then, and of what is left nobody could tell whether it was this account's. Nothing was changed.
    func requireFirstPage(of path: String) throws {
        guard environment.keys.isRequired else { return }
        let noOthers = DamagedStore.Schemas(backups: []) { _ in }
        if let store = try DamagedStore.open(path, noOthers, environment) {
            try store.close()
            return
        }
        throw LockkeeperError(
            .damaged,
            subject: path,
            explanation:
                "its first page cannot be read, without which nothing of an encrypted file can",
            answer: .fixEnvironment,
            remedy:
                "Nothing was changed. Restore a backup; the damaged file is kept beside it then."
        )
    }

    /// Refuses keys in a program that cannot use them.
    static func requireEncryption(for source: (any StoreKeySource)?) throws {
        guard source != nil, !SQLiteLibrary.canEncrypt else { return }
        throw LockkeeperError(
            .encrypted,
            subject: "keys",
            explanation: "this program was built without encryption",
            answer: .fixProgram,
            remedy: "Build it with the package trait Encryption."
        )
    }
}

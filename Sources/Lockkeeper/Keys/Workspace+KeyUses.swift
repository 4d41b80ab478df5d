public import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperStorage

/// A key of an account's files, and what it opens.
public struct StoreKeyUse: Sendable, Hashable {
    /// The key's name: 16 hexadecimal digits.
    public let name: String
    /// Whether the source of keys has it; files name keys that are lost as well.
    public let isKept: Bool
    /// The files that cannot be opened without it, by their paths, sorted.
    public let files: [String]
}

/// Which keys an account has, and which files need them.
public struct StoreKeyUses: Sendable, Hashable {
    /// The account.
    public let account: AccountID
    /// The keys that are kept, in the order of the source, then those that only files name.
    public let keys: [StoreKeyUse]
    /// Files that may need a key, and do not say which: their first bytes are damaged.
    public let unknown: [String]
}

/// What keys are needed for. Files say which key they have, so that nothing has to be opened for it.
extension Workspace {
    /// Says which keys the source has for an account, and which files need which: everything in the
    /// account's folder, with its backups and what was replaced, and what lies elsewhere as far as it is
    /// named.
    ///
    /// - Parameters:
    ///   - id: the account; one that was removed may have keys still.
    ///   - paths: backups, copies of them, and folders, which are looked through with all that is in
    ///     them; links in them are not followed.
    /// - Throws: ``LockkeeperError``: `invalidInput` where the workspace was opened without keys;
    ///   `fileMissing` for a path where nothing is; `locked` and `permissionDenied` of the source; what
    ///   the kernel refuses.
    public func keyUses(
        of id: AccountID,
        alsoIn paths: [String] = []
    ) async throws -> StoreKeyUses {
        try await work { try $0.findKeyUses(of: id, paths, in: $0.requireKeySource()) }
    }

    /// Removes a key of an account that nothing needs any more. What had it, and lies where it was not
    /// looked for, can never be read again: name such places.
    ///
    /// - Parameters:
    ///   - name: the key's, of 16 hexadecimal digits.
    ///   - id: the account.
    ///   - paths: where else to look, as for ``keyUses(of:alsoIn:)``.
    /// - Throws: ``LockkeeperError``: `notFound` where the source has no such key; `keyNeeded` where a
    ///   file needs it, or may; `busy` while another process signs in, repairs, restores or changes a
    ///   key; as ``keyUses(of:alsoIn:)``. The key is still there then.
    public func removeKey(
        _ name: String,
        of id: AccountID,
        alsoIn paths: [String] = []
    ) async throws {
        try await work { workspace in
            let source = try workspace.requireKeySource()
            // A key is drawn before there is a file of it, and always under SWITCH.
            try workspace.membership.underSwitch(until: workspace.deadlineOfOpening()) {
                let uses = try workspace.findKeyUses(of: id, paths, in: source)
                guard let key = uses.keys.first(where: { $0.name == name && $0.isKept }) else {
                    throw LockkeeperError.noKey(name, of: id)
                }
                let files = key.files + uses.unknown
                guard files.isEmpty else {
                    throw LockkeeperError.keyNeeded(name, of: id, files, isSaid: !key.files.isEmpty)
                }
                try source.remove(named: name, of: id)
            }
        }
    }

    private func findKeyUses(
        of id: AccountID,
        _ others: [String],
        in source: any StoreKeySource
    ) throws -> StoreKeyUses {
        var search = KeySearch(environment: environment)
        // The folder of an account that was removed may have been left where it was.
        let directories = try registry.use { try $0.accounts() }
            .filter { $0.id == id }.map(\.directory)
        for directory in Set(directories + [WorkspacePaths.directoryName(for: id)]) {
            try search.look(through: paths.account(directory: directory).directory)
        }
        for path in others { try search.look(atNamed: path) }
        let kept = try source.storeKeys(of: id).map(\.name)
        let lost = search.files.keys.filter { !kept.contains($0) }
            .sorted { $0.description < $1.description }
        return StoreKeyUses(
            account: id,
            keys: (kept + lost).map { name in
                StoreKeyUse(
                    name: name.description,
                    isKept: kept.contains(name),
                    files: search.files[name, default: []].sorted()
                )
            },
            unknown: search.unknown.sorted()
        )
    }
}

/// The files that name keys.
private struct KeySearch {
    let environment: StoreEnvironment
    /// Files by the name of the key that each needs.
    private(set) var files: [StoreKey.Name: Set<String>] = [:]
    /// Files that do not say which they need.
    private(set) var unknown: Set<String> = []

    init(environment: StoreEnvironment) { self.environment = environment }

    /// Looks at what somebody named: it is there, and a file is a backup or an account's file.
    mutating func look(atNamed path: String) throws {
        guard let status = try FileSystem.status(path) else {
            throw StorageError.fileMissing(path: path)
        }
        let path = try FileSystem.canonicalPath(path)
        switch status.kind {
        case .directory: try look(through: path)
        case .regular: try look(at: path, isStore: true)
        default: throw StorageError.notAStore(path: path, reason: "it is neither file nor folder")
        }
    }

    /// Looks at all files of a folder, and of those in it. What is gone meanwhile needs nothing.
    mutating func look(through folder: String) throws {
        guard try FileSystem.status(folder) != nil else { return }
        for name in try FileSystem.list(folder) {
            let path = "\(folder)/\(name)"
            switch try FileSystem.status(path, followingLinks: false)?.kind {
            case .directory: try look(through: path)
            case .regular: try look(at: path, isStore: name.hasSuffix(".db"))
            default: continue
            }
        }
    }

    /// - Parameter isStore: whether a file that says nothing may be a store that is damaged.
    private mutating func look(at path: String, isStore: Bool) throws {
        // It says nothing, and SQLite's locks in it end when any descriptor of it is closed.
        if path.hasSuffix("-shm") { return }
        let need: KeyNeed
        do throws(StorageError) {
            need = try KeyNeed(ofFile: path, environment)
        } catch {
            if try FileSystem.status(path) == nil { return }
            throw error
        }
        switch need {
        case .none: break
        case .key(let name): files[name, default: []].insert(path)
        case .unknown: if isStore { unknown.insert(path) }
        }
    }
}

extension LockkeeperError {
    fileprivate static func noKey(_ name: String, of account: AccountID) -> LockkeeperError {
        LockkeeperError(
            .notFound,
            subject: "key \(name) of account \(account)",
            explanation: "the place for keys has none of that name",
            answer: .fixEnvironment,
            remedy: "See 'lockkeeper key list'."
        )
    }

    /// - Parameter isSaid: whether files name the key; else some may need any.
    fileprivate static func keyNeeded(
        _ name: String,
        of account: AccountID,
        _ files: [String],
        isSaid: Bool
    ) -> LockkeeperError {
        let others = files.count > 1 ? " and \(files.count - 1) more" : ""
        return LockkeeperError(
            .keyNeeded,
            subject: "key \(name) of account \(account)",
            explanation:
                "\(files[0])\(others) \(isSaid ? "cannot" : "perhaps cannot") be read without it",
            answer: .fixEnvironment,
            remedy:
                "Nothing was removed. 'lockkeeper key list' names them all: remove those first, or give"
                + " the account another key with 'lockkeeper key change'."
        )
    }
}

public import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperStorage
import Synchronization

/// What was removed of an account's folder `damaged`.
public struct DiscardReport: Sendable, Hashable {
    /// How many files.
    public let fileCount: Int
    /// How many bytes they had.
    public let byteCount: Int64
}

/// What a person decides about what recovery leaves behind, and what it cannot know.
extension Workspace {
    /// Notes that a log that was missing had nothing that is not in its database: another program was the
    /// last to close it, which puts the log into the database and removes it.
    ///
    /// Until this is said, or the account repaired, every check tells that the log was missing.
    ///
    /// - Returns: the databases of which it was noted; none where no log was missing.
    /// - Throws: ``LockkeeperError``: `unknownAccount`; what the kernel refuses.
    public func acceptMissingLogs(of id: AccountID) async throws -> [StoreKind] {
        try await work { workspace in
            let record = try workspace.registry.record(of: id)
            let paths = workspace.paths.account(directory: record.directory)
            return try StoreKind.allCases.filter { kind in
                let number = record.fileNumber(of: kind)
                guard number > 0 else { return false }
                let files = StoreFiles(paths.file(of: kind, number: number))
                // One that is missing still is noted by whoever opens the database next.
                return try FileSystem.status(files.log) != nil && files.forgetMissingLog()
            }
        }
    }

    /// Removes what was moved aside of an account: damaged files, with the reports beside them, and files
    /// that a restore or a copy has replaced. They hold message text, and nothing else ever removes them.
    ///
    /// - Throws: ``LockkeeperError``: `unknownAccount`; `busy` while a repair is not at its end, which
    ///   needs them; what the kernel refuses. What was removed until then is gone.
    public func discardDamaged(of id: AccountID) async throws -> DiscardReport {
        try await work { workspace in
            let deadline = workspace.deadlineOfOpening()
            return try workspace.membership.underSwitch(until: deadline) {
                let record = try workspace.registry.record(of: id)
                guard try workspace.registry.use({ try $0.recovery(of: id) }) == nil else {
                    throw LockkeeperError(
                        .busy,
                        subject: "account \(id)",
                        explanation:
                            "a repair of it is not at its end, and needs the damaged files",
                        answer: .retry,
                        remedy: "Run 'lockkeeper repair \(id)', which goes on with it."
                    )
                }
                let folder = workspace.paths.account(directory: record.directory).damaged
                guard try FileSystem.status(folder) != nil else {
                    return DiscardReport(fileCount: 0, byteCount: 0)
                }
                let size = try Self.size(ofTree: folder)
                try FileSystem.removeTree(folder)
                try FileSystem.syncDirectory(FileSystem.directory(of: folder))
                return size
            }
        }
    }

    /// How many files a folder has, and how many bytes they have.
    static func size(ofTree folder: String) throws -> DiscardReport {
        var (fileCount, byteCount) = (0, Int64(0))
        for name in try FileSystem.list(folder) {
            let path = "\(folder)/\(name)"
            guard let status = try FileSystem.status(path, followingLinks: false) else { continue }
            if status.kind == .directory {
                let below = try size(ofTree: path)
                fileCount += below.fileCount
                byteCount += below.byteCount
            } else {
                fileCount += 1
                byteCount += status.size
            }
        }
        return DiscardReport(fileCount: fileCount, byteCount: byteCount)
    }

    /// Tells a handler of each repair that this process brings to its end because another one died in it:
    /// opening an account does that, and what was lost must not stay untold. It is called on a thread of
    /// Lockkeeper's, before the account is open; the last handler that was given counts.
    public func onFinishedRepair(_ handler: @escaping @Sendable (RepairReport) -> Void) {
        state.withLock { $0.repairHandler = handler }
    }
}

public import Lockkeeper
public import LockkeeperMessages
import LockkeeperPlatform
import Synchronization

/// A workspace in a private folder, for tests of an app against the real store.
///
/// Nothing is simulated: files, locks and SQLite are those of the product. What a test gets more is
/// a folder that goes away with it, several "processes" inside its own, clocks that it moves, and
/// the inspection as an assertion.
public final class TestWorkspace: Sendable {
    /// The folder.
    public let root: String
    /// The monotonic clock of every process of this workspace.
    public let clock = ManualClock()
    /// The wall clock of every process of this workspace.
    public let wallClock = ManualWallClock()
    /// The schemas with which processes open.
    public let schemas: [Schema]
    /// The bounds that processes keep.
    public let limits: Limits

    /// Where the keys of its accounts are kept; `nil` where files are plain.
    public let keys: (any StoreKeySource)?

    /// What goes wrong on its disk; `nil` where nothing can.
    public let faults: Faults?

    private let opened = Mutex<[Workspace]>([])

    /// Makes an empty folder.
    ///
    /// - Parameters:
    ///   - schemas: what processes open with; the messages' by default.
    ///   - limits: the bounds that they keep.
    ///   - keys: where the keys of its accounts are kept; files are plain where it is not given.
    ///   - faults: what goes wrong on its disk; nothing where they are not given.
    ///   - parent: where the folder is made; the folder for temporary files by default.
    public init(
        schemas: [Schema] = [.messages],
        limits: Limits = Limits(),
        keys: (any StoreKeySource)? = nil,
        faults: Faults? = nil,
        in parent: String? = nil
    ) throws {
        self.keys = keys
        self.faults = faults
        self.schemas = schemas
        self.limits = limits
        let parent = parent ?? Environment.variable("TMPDIR") ?? "/tmp"
        let name = String(UInt64.random(in: 0...UInt64.max), radix: 36)
        root = "\(parent)/lk-test-\(name)"
        try FileSystem.makeDirectory(root, mode: 0o700)
        if let faults { faults.attach(to: try FileSystem.canonicalPath(root)) }
    }

    /// Opens the workspace as another process would: with descriptors, locks, connections and caches
    /// of its own. Locks of two such processes exclude each other as those of real ones do; only
    /// their death cannot be shown this way.
    public func process(
        _ name: String,
        role: Workspace.Role = .helper
    ) async throws -> Workspace {
        try await process(name, role: role, vfs: faults == nil ? nil : FaultZone.vfs)
    }

    /// Opens the workspace as another process whose files are opened with a SQLite VFS of the test's.
    package func process(
        _ name: String,
        role: Workspace.Role = .helper,
        vfs: String?
    ) async throws -> Workspace {
        let workspace = try await Workspace.openApart(
            at: root,
            name: name,
            role: role,
            schemas: schemas,
            limits: limits,
            clock: clock,
            wallClock: wallClock,
            vfs: vfs,
            keys: keys
        )
        opened.withLock { $0.append(workspace) }
        return workspace
    }

    /// Looks through the files of every account that has any.
    ///
    /// - Throws: ``UnsoundStore`` with what was found.
    public func expectSound() async throws {
        let workspace = try await process("inspection", role: .tool)
        for account in try await workspace.accounts() where account.generation > Generation(0) {
            let session = try await workspace.inspectionSession(account.id)
            let findings = try await session.inspect()
            await session.close()
            guard findings.isEmpty else {
                throw UnsoundStore(account: account.id, findings: findings)
            }
        }
        await workspace.close()
    }

    /// Closes every process, looks through the files, and removes the folder.
    ///
    /// - Throws: ``UnsoundStore`` with what was found; the folder is kept then.
    public func finish() async throws {
        for workspace in opened.withLock({ $0 }) { await workspace.close() }
        try await expectSound()
        try FileSystem.removeTree(root)
    }
}

/// A store that is not what it should be.
public struct UnsoundStore: Error, CustomStringConvertible {
    /// The account.
    public let account: AccountID
    /// What was found.
    public let findings: [InspectionFinding]

    /// One line for each finding.
    public var description: String {
        findings.map { "\(account): \($0.subject): \($0.explanation) (\($0.code))" }
            .joined(separator: "\n")
    }
}

extension TestWorkspace {
    /// Makes a workspace, runs a test in it, and finishes it: the test fails when the store is not
    /// sound afterwards.
    public static func with(
        schemas: [Schema] = [.messages],
        limits: Limits = Limits(),
        keys: (any StoreKeySource)? = nil,
        faults: Faults? = nil,
        _ test: (TestWorkspace) async throws -> Void
    ) async throws {
        let workspace = try TestWorkspace(
            schemas: schemas,
            limits: limits,
            keys: keys,
            faults: faults
        )
        try await test(workspace)
        try await workspace.finish()
    }
}

public import LockkeeperDomain
import LockkeeperLocking
package import LockkeeperPlatform
package import LockkeeperStorage
import Synchronization

/// An account as one process has it open under one generation.
///
/// Connections, prepared statements, queues and feeds belong to a session and die with it. When the
/// account is switched away from or signed into again, every call fails with `superseded`; the
/// workspace gives the next session.
public final class Session: Sendable {
    /// The account, as the registry knew it when the session was made.
    public let account: AccountInfo
    /// The account's database.
    public let database: AccountDatabase

    let attachment: AccountAttachment
    package let workspace: Workspace
    private let ending: SessionEnding
    /// Opened with the first use: a helper that only stores messages pays for one file.
    private let settings: Monitor<SettingsFile>
    private let isClosed = Atomic<Bool>(false)

    init(
        account: AccountInfo,
        database: AccountDatabase,
        attachment: AccountAttachment,
        ending: SessionEnding,
        workspace: Workspace,
        openSettings: @escaping @Sendable () throws -> AccountDatabase
    ) {
        self.account = account
        self.database = database
        self.attachment = attachment
        self.ending = ending
        self.workspace = workspace
        settings = Monitor(.unopened(openSettings))
    }

    /// The account and generation that every write carries.
    public var token: FencingToken { database.token }

    /// When and why the session was found superseded, once that was noticed; `nil` before.
    public var ended: SessionEnd? { ending.noticed }

    /// A timer of the workspace's, for the products.
    package var timer: DeadlineTimer { workspace.timer }

    /// The wall clock of the workspace, for the products; for people only (I-15).
    package var wallClock: any WallClockSource { workspace.wallClock }

    /// Whether the workspace was opened with a schema.
    package func declares(_ schema: Schema) -> Bool {
        workspace.schemas.contains { $0.owner == schema.owner }
    }

    /// The ranges of all commits after a position, of every process, in order and without a hole.
    ///
    /// - Parameters:
    ///   - position: where to begin; `nil` begins at the present head.
    ///   - origin: leaves out ranges that only this process name wrote.
    public func changes(after position: Position? = nil, without origin: String? = nil)
        -> ChangeFeed
    {
        database.feed(after: position, without: origin)
    }

    /// The account's second database, in which its settings are: of the same kind as the first, with
    /// a fence, a log and commit numbers of its own, under the same admission. Opened when it is first
    /// asked for.
    ///
    /// - Throws: ``LockkeeperError`` as for opening the account; `closed` once the session closed.
    package func settingsDatabase() async throws -> AccountDatabase {
        try await blocking("lk-open") { [self] in
            try ErrorMapping.mapped("account \(token.account)") { try openSettings() }
        }
    }

    /// Runs something with the account's folder, on a thread of its own, while the process is at the
    /// account.
    ///
    /// - Parameter mayHaveEnded: also after the session was found superseded: to clear away what it left.
    /// - Throws: ``LockkeeperError``: why the session has ended, where that is known; `accountRemoved`;
    ///   as `Workspace.staying(at:_:)`.
    package func staying<Value: Sendable>(
        mayHaveEnded: Bool = false,
        _ body: @escaping @Sendable (_ folder: String) throws -> Value
    ) async throws -> Value {
        if !mayHaveEnded, let ended { throw ended.reason }
        return try await blocking("lk-state") { [self] in
            try ErrorMapping.mapped("account \(token.account)") {
                let stay = try attachment.stay(until: workspace.deadlineOfOpening())
                return try withExtendedLifetime(stay) { try body(attachment.paths.directory) }
            }
        }
    }

    /// How files in the account's folder are encrypted.
    package func sealing(in folder: String) -> FileSealing {
        FileSealing(account: folder, keys: workspace.environment.keys)
    }

    /// Whether the account's files have to be encrypted.
    package var isEncrypted: Bool { workspace.environment.keys.isRequired }

    /// This process, as it is told from a later one of its number, for claims of the products.
    package var claimer: String { Self.claimer(workspace.process.identity) }

    /// The processes that have the account open, likewise: claims of others are void.
    ///
    /// - Throws: ``LockkeeperError`` when the kernel refuses.
    package func livingClaimers() async throws -> Set<String> {
        try await staying { [attachment] _ in
            Set(try attachment.membership.members().map { Self.claimer($0.identity) })
        }
    }

    private static func claimer(_ identity: ProcessIdentity) -> String {
        "\(identity.pid) \(identity.startTime) \(identity.bootID.bytes.hexadecimal)"
    }

    private enum SettingsFile: Sendable {
        case unopened(@Sendable () throws -> AccountDatabase)
        case opening
        case open(AccountDatabase)
        case closed
    }

    /// Opens it, or waits for the thread that does.
    private func openSettings() throws -> AccountDatabase {
        let found = settings.wait(until: .never) { file -> SettingsFile? in
            if case .opening = file { return nil }
            defer { if case .unopened = file { file = .opening } }
            return file
        }
        switch found {
        case .open(let database): return database
        case .closed, .opening, nil: throw LockkeeperError.closed("account \(token.account)")
        case .unopened(let open):
            let opened = Result { try open() }
            settings.withLock { file in
                switch opened {
                case .success(let database): file = .open(database)
                case .failure: file = .unopened(open)
                }
            }
            settings.broadcast()
            return try opened.get()
        }
    }

    /// Waits for an opening that is under way, and lets nobody open it any more. Blocks.
    private func closeSettings() {
        let found = settings.wait(until: .never) { file -> SettingsFile? in
            if case .opening = file { return nil }
            defer { file = .closed }
            return file
        }
        if case .open(let database)? = found { database.close() }
    }

    /// Finishes what runs, tells those who wait that the session closed, and closes every connection.
    public func close() async {
        guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        // Closing cannot fail; `blocking` only moves it off the cooperative pool.
        try? await blocking("lk-close") { [self] in
            database.upkeep?.close()
            database.inbox?.close()
            database.packets?.close()
            database.close()
            closeSettings()
        }
    }

    /// Whether calls may still succeed.
    var isUsable: Bool { ended == nil && !isClosed.load(ordering: .acquiring) }

    func end(_ reason: any Error) { ending.end(reason) }
}

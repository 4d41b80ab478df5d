public import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperStorage
import Synchronization

extension Workspace {
    /// The accounts of the workspace in the order of their ids.
    public func accounts() async throws -> [AccountInfo] {
        try await work { try $0.registry.use { try $0.accounts().map(AccountInfo.init) } }
    }

    /// One account.
    ///
    /// - Throws: ``LockkeeperError`` with the code `unknownAccount`.
    public func account(_ id: AccountID) async throws -> AccountInfo {
        try await work { AccountInfo(try $0.registry.record(of: id)) }
    }

    /// Adds an account. It takes writes once it is activated. Where its folder has its databases, of which
    /// registry and `account.json` are lost, it is added with these, as it was.
    ///
    /// - Parameters:
    ///   - id: the account's id, any 1 to 512 bytes.
    ///   - ownID: who the account is on its server, as `sender` of its messages names it; where it is
    ///     not given, every message counts as incoming that does not say otherwise.
    ///   - contract: what the account's server promises, for every process.
    /// - Throws: ``LockkeeperError`` — `accountExists`; `invalidInput` for a contract that no server
    ///   can have; `damaged` where its folder has databases of which nobody can say whose they are, or
    ///   another account's.
    @discardableResult
    public func addAccount(
        _ id: AccountID,
        ownID: [UInt8]? = nil,
        contract: ServerContract = ServerContract()
    ) async throws -> AccountInfo {
        if let contradiction = contract.contradiction {
            throw LockkeeperError(
                .invalidInput,
                subject: "contract of account \(id)",
                explanation: contradiction,
                answer: .fixProgram,
                remedy: "Declare what the server promises."
            )
        }
        return try await work { workspace in
            let deadline = workspace.deadlineOfOpening()
            let record = try workspace.membership.underSwitch(until: deadline) {
                try workspace.add(id, ownID: ownID, contract: contract)
            }
            return AccountInfo(record)
        }
    }

    /// Writes the charter, then the row: a registry that is lost in between is made anew with the
    /// account. The caller holds SWITCH.
    private func add(
        _ id: AccountID,
        ownID: [UInt8]?,
        contract: ServerContract
    ) throws -> AccountRecord {
        try finishRemovals(until: deadlineOfOpening(), of: id)
        guard try registry.use({ try $0.account(id) }) == nil else {
            throw LockkeeperError.accountExists(id)
        }
        let directory = WorkspacePaths.directoryName(for: id)
        let account = paths.account(directory: directory)
        let asked = AccountRecord(
            id: id,
            directory: directory,
            birth: Generation(0),
            ownID: ownID,
            contract: contract,
            createdAt: wallClock.milliseconds()
        )
        if try holdsDatabases(account) { return try adopt(asked, until: deadlineOfOpening()) }
        let birth =
            try birthOfBegun(id, in: directory) ?? registry.use { try $0.reserveGeneration() }
        let record = asked.with(birth: birth)
        for folder in [paths.accounts, account.directory] {
            try FileSystem.makeDirectory(folder, mode: 0o700)
        }
        try FileSystem.replaceFile(at: account.charter, with: AccountCharter(record).bytes)
        try FileSystem.syncDirectory(paths.accounts)
        try FileSystem.syncDirectory(paths.root)
        try registry.use { try $0.add(record) }
        return record
    }

    /// Makes an account active under a new generation and opens it. Signing in again to an active
    /// account is a new generation as well: sessions of the old one are superseded.
    @discardableResult
    public func activate(_ id: AccountID) async throws -> Session {
        try await work { try $0.changeAccounts(from: nil, to: id) }
        return try await session(id)
    }

    /// Makes an account take no writes any more. Sessions of it are superseded.
    public func signOut(_ id: AccountID) async throws {
        try await work { try $0.changeAccounts(from: id, to: nil) }
    }

    /// Signs out of one account and into another as one act: at rest exactly one of them is active.
    ///
    /// - Throws: ``LockkeeperError``; when the second account cannot be prepared, the first stays
    ///   active and untouched.
    @discardableResult
    public func replaceAccount(_ old: AccountID, with new: AccountID) async throws -> Session {
        guard old != new else { return try await activate(new) }
        try await work { try $0.changeAccounts(from: old, to: new) }
        return try await session(new)
    }

    /// Makes an account the active one, in place of whichever is active once nobody else switches; what
    /// ``replaceAccount(_:with:)`` is for a caller who knows that. Where it is active already it stays so,
    /// under its generation.
    ///
    /// - Returns: a session of it, and whether it became active now.
    /// - Throws: ``LockkeeperError``; `invalidInput` where several others are active, because nobody says
    ///   which one is to be left.
    @discardableResult
    public func makeOnlyActive(
        _ id: AccountID
    ) async throws -> (session: Session, isNew: Bool) {
        let isNew = try await work { try $0.changeActiveAccount(to: id) }
        return (try await session(id), isNew)
    }

    /// Opens an active account under its present generation: what a helper does when it wakes.
    ///
    /// - Throws: ``LockkeeperError`` — `unknownAccount`, `accountInactive`.
    public func session(_ id: AccountID) async throws -> Session {
        try await work { workspace in
            do {
                return try workspace.openSession(id)
            } catch {
                let mapped = ErrorMapping.map(error, subject: "account \(id)")
                throw workspace.noteDamage(mapped, id, nil)
            }
        }
    }

    /// Opens an active account. Blocks.
    ///
    /// - Parameter drainsInbox: whether packets that are kept as files are applied first.
    func openSession(_ id: AccountID, drainsInbox: Bool = true) throws -> Session {
        try continueRecovery(of: id)
        try finishPendingSwitch(concerning: id)
        try replaceDistrustedFiles(of: id)
        let record = try registry.record(of: id)
        pruneBackups(of: record)
        let info = AccountInfo(record)
        guard info.state == .active else { throw LockkeeperError.accountInactive(id) }
        let token = FencingToken(account: id, generation: info.generation)
        let known = state.withLock { $0.sessions[token]?.value }
        let session: Session
        if let known, known.isUsable {
            session = known
        } else {
            let builder = SessionBuilder(workspace: self, info: info, token: token)
            session = try builder.build(isReadOnly: false)
            state.withLock { $0.sessions[token] = Weak(session) }
        }
        if drainsInbox {
            // Nobody who opens an account waits for long because others have it: whoever lets it go
            // looks as well.
            let waitMax = limits.deliveryWaitMax
            session.database.inbox?.drain(until: Deadline(after: waitMax, from: clock.now()))
            session.database.packets?.look()
        }
        return session
    }

    /// Opens an account for reading, whether it is active or was signed out of: for tools that
    /// export and inspect. Its writes are refused with `accountInactive`.
    ///
    /// - Throws: ``LockkeeperError`` — `unknownAccount`, `accountInactive` when it was never
    ///   activated, so that there is nothing to read.
    public func inspectionSession(_ id: AccountID) async throws -> Session {
        try await work { workspace in
            try workspace.continueRecovery(of: id)
            let info = AccountInfo(try workspace.registry.record(of: id))
            let token = FencingToken(account: id, generation: info.generation)
            return try SessionBuilder(workspace: workspace, info: info, token: token)
                .build(isReadOnly: true)
        }
    }

    /// The sessions of an account that are open in this process.
    public func sessions(of id: AccountID) -> [Session] {
        state.withLock { state in
            state.sessions.filter { $0.key.account == id }.compactMap(\.value.value)
        }
    }

    /// Runs something with an account's folder, on a thread of its own. Nobody removes the account or
    /// replaces its files meanwhile, and the process is not suspended.
    ///
    /// - Throws: ``LockkeeperError``: `unknownAccount`, also for one that was removed; `suspended`;
    ///   `busy` while another process has the account to itself; what the closure throws.
    package func staying<Value: Sendable>(
        at id: AccountID,
        _ body: @escaping @Sendable (_ folder: String) throws -> Value
    ) async throws -> Value {
        try await work { workspace in
            let attachment = try workspace.attach(id)
            let stay = try attachment.stay(until: workspace.deadlineOfOpening())
            return try withExtendedLifetime(stay) { try body(attachment.paths.directory) }
        }
    }

    /// Runs blocking work of this workspace on a thread of its own, and maps its errors.
    func work<Value: Sendable>(
        _ body: @escaping @Sendable (Workspace) throws -> Value
    ) async throws -> Value {
        try await blocking("lk-workspace") { [self] in
            try ErrorMapping.mapped("workspace \(root)") {
                try beginOperation()
                defer { endOperation() }
                guard !state.withLock({ $0.isClosed }) else {
                    throw LockkeeperError.closed("workspace \(root)")
                }
                return try body(self)
            }
        }
    }

    /// The present database files of an account, as far as there are any.
    func databasePaths(of id: AccountID) throws -> [String] {
        let record = try registry.record(of: id)
        let paths = paths.account(directory: record.directory)
        return [(StoreKind.messages, record.messagesFile), (.settings, record.settingsFile)]
            .filter { $0.1 > 0 }
            .map { paths.file(of: $0.0, number: $0.1) }
    }

    /// This process's place at an account, shared by everything in it that uses the account.
    func attach(_ id: AccountID, until deadline: Deadline? = nil) throws -> AccountAttachment {
        if let attachment = state.withLock({ $0.attachments[id]?.value }), !attachment.isRemoved {
            return attachment
        }
        let record = try registry.record(of: id)
        let attachment = try AccountAttachment(
            record,
            paths: paths,
            registry: registry,
            process: process,
            clock: clock,
            timer: timer,
            deadline: deadline ?? deadlineOfOpening()
        )
        // While it stood at the door the account may have been removed, and the id given to another.
        guard try registry.record(of: id).birth == record.birth else {
            throw LockkeeperError.accountRemoved(id)
        }
        let (first, isFirst) = state.withLock { state in
            // Two threads may have come here at once; the first one's stands.
            if let first = state.attachments[id]?.value, !first.isRemoved { return (first, false) }
            state.attachments[id] = Weak(attachment)
            return (attachment, true)
        }
        if isFirst { first.watchLeaveWord(with: timer) }
        return first
    }
}

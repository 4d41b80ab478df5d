public import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
package import LockkeeperStorage

extension Workspace {
    /// The packets of an account that are kept, files before rows, in the order in which they are
    /// applied; then those that are parked.
    ///
    /// - Throws: ``LockkeeperError`` — `unknownAccount`, and whatever keeps the database from being
    ///   read: ``inboxFiles(of:)`` needs none.
    public func inbox(of id: AccountID) async throws -> [KeptPacket] {
        let files = try await inboxFiles(of: id)
        let rows = try await reading(id) { try PacketTable($0).entries().map(KeptPacket.init) }
        let all = files + (rows ?? [])
        return all.filter { $0.parked == nil } + all.filter { $0.parked != nil }
    }

    /// The packets of an account that are kept as files: what waits, oldest first, then what is parked.
    ///
    /// - Throws: ``LockkeeperError`` with the code `unknownAccount`.
    public func inboxFiles(of id: AccountID) async throws -> [KeptPacket] {
        try await work { workspace in
            let folder = try workspace.inboxFolder(of: id)
            return try folder.entries().map { entry in
                let limit = workspace.limits.packetByteCountMax
                return KeptPacket(entry, try? folder.read(entry, byteCountMax: limit))
            }
        }
    }

    /// The bytes of a kept packet; `nil` where there is none of that name.
    ///
    /// - Throws: ``LockkeeperError`` — `unknownAccount`; `damaged` for a file that is not whole.
    public func packet(_ name: String, of id: AccountID) async throws -> [UInt8]? {
        guard let name = PacketName(name) else { return nil }
        let bytes = try await work { workspace -> [UInt8]? in
            let folder = try workspace.inboxFolder(of: id)
            guard let entry = try folder.entries().first(where: { $0.name == name }) else {
                return nil
            }
            let limit = workspace.limits.packetByteCountMax
            return try folder.read(entry, byteCountMax: limit)?.packet.bytes
        }
        if let bytes { return bytes }
        return try await reading(id) { try PacketTable($0).packet(name)?.bytes } ?? nil
    }

    /// Applies the packets of an account that wait. Whoever opens or writes the account does so by
    /// itself; this tells what became of them.
    ///
    /// - Throws: ``LockkeeperError`` as for ``session(_:)``, and `invalidInput` where the workspace was
    ///   opened without a schema that takes packets.
    public func drainInbox(of id: AccountID) async throws -> InboxReport {
        try await work { workspace in
            let session = try workspace.openSession(id, drainsInbox: false)
            guard let inbox = session.database.inbox, let packets = session.database.packets else {
                throw LockkeeperError(
                    .invalidInput,
                    subject: "account \(id)",
                    explanation: "the workspace was opened without a schema that takes packets",
                    answer: .fixProgram,
                    remedy: "Open it with the schemas that it holds."
                )
            }
            let deadline = workspace.deadlineOfOpening()
            var report = try inbox.report(until: deadline).adding(packets.report(until: deadline))
            report.obstacle = report.obstacle.map {
                ErrorMapping.map($0, subject: "account \(id)")
            }
            return report
        }
    }

    /// Lets a parked packet wait again, and has it applied where the account is active.
    ///
    /// - Returns: whether there was one of that name.
    /// - Throws: ``LockkeeperError`` — `unknownAccount`; `accountInactive` for a row of an account that
    ///   is not active.
    public func retryPacket(_ name: String, of id: AccountID) async throws -> Bool {
        guard let name = PacketName(name) else { return false }
        let isFile = try await work { workspace in
            guard try workspace.inboxFolder(of: id).retry(name) else { return false }
            workspace.drainInboxIfActive(of: id)
            return true
        }
        if isFile { return true }
        return try await changeRow(name, of: id) { try $0.retry(name) }
    }

    /// Throws a kept packet away, whether it waits or is parked. Where it is a page, the server can
    /// be asked for it again from the cursor before it.
    ///
    /// - Returns: whether there was one of that name.
    /// - Throws: ``LockkeeperError`` — `unknownAccount`; `accountInactive` for a row of an account that
    ///   is not active.
    public func dropPacket(_ name: String, of id: AccountID) async throws -> Bool {
        guard let name = PacketName(name) else { return false }
        let isFile = try await work { try $0.inboxFolder(of: id).remove([name]) > 0 }
        if isFile { return true }
        return try await changeRow(name, of: id) { try $0.remove(name) }
    }

    /// Changes the row of a packet, where there is one.
    private func changeRow(
        _ name: PacketName,
        of id: AccountID,
        _ change: @escaping @Sendable (PacketTable) throws -> Bool
    ) async throws -> Bool {
        let isThere = try await reading(id) { try PacketTable($0).packet(name) != nil }
        guard isThere == true else { return false }
        let session = try await session(id)
        let (isChanged, _) = try await session.database.submit(
            durability: .durable,
            waitMax: nil
        ) { connection, _ in try change(PacketTable(connection)) }
        if isChanged {
            try await work { try $0.inboxFolder(of: id).noteRows() }
            session.database.packets?.lookAgain()
        }
        return isChanged
    }

    /// Reads an account's database, whether the account is active or not; `nil` where it has none yet.
    func reading<Value: Sendable>(
        _ id: AccountID,
        _ body: @escaping @Sendable (Connection) throws -> Value
    ) async throws -> Value? {
        _ = try await account(id)
        let session: Session
        do {
            session = try await inspectionSession(id)
        } catch let error as LockkeeperError where error.code == .accountInactive {
            // It was never activated.
            return nil
        }
        let value: Value
        do {
            value = try await session.database.readConnection(body)
        } catch {
            await session.close()
            throw error
        }
        await session.close()
        return value
    }

    /// Keeps a packet as a file until the account's database can take it. Durable when it returns. The
    /// caller then looks once more whether the database can take it now, by opening a session.
    ///
    /// - Parameter reason: why the database cannot take it.
    /// - Throws: ``LockkeeperError`` — `unknownAccount`; `accountRemoved` where the account was removed
    ///   meanwhile; `fileMissing` where its folder is not there; `inboxFull`, `diskFull`, `ioFailed`, `permissionDenied`, `suspended`. Nothing was
    ///   kept then.
    package func keep(
        _ packet: Packet,
        for id: AccountID,
        because reason: LockkeeperError.Code
    ) async throws -> KeptPacket {
        try await work { workspace in
            let record = try workspace.registry.record(of: id)
            let folder = workspace.inboxFolder(of: record)
            try workspace.requireFolder(of: record)
            let file = PacketFile(
                account: id,
                birth: record.birth,
                processName: workspace.name,
                reason: reason.rawValue,
                keptAt: workspace.wallClock.milliseconds(),
                packet: packet
            )
            var generator = SystemRandomNumberGenerator()
            let kept = Result {
                try folder.keep(file, limits: workspace.limits, using: &generator)
            }
            // What is kept for an account that was removed meanwhile is taken back: its text must not
            // stay, nor come to another account that was added under the id.
            let present = try workspace.registry.use { try $0.account(id) }
            guard present?.birth == record.birth else {
                if let entry = try? kept.get() { try folder.removeWithFolders(entry.name) }
                throw LockkeeperError.accountRemoved(id)
            }
            Failpoint.packetKept.reach()
            return KeptPacket(try kept.get(), file)
        }
    }

    /// Makes sure that an account's folder is there, before anything is done that would make a half of one.
    ///
    /// - Throws: ``LockkeeperError`` — `unknownAccount`; `fileMissing` where it is not.
    package func requireFolder(of id: AccountID) async throws {
        try await work { try $0.requireFolder(of: $0.registry.record(of: id)) }
    }

    private func requireFolder(of record: AccountRecord) throws {
        let folder = paths.account(directory: record.directory).directory
        guard try FileSystem.status(folder) == nil else { return }
        throw LockkeeperError.folderMissing(folder, of: record.id)
    }

    /// Applies what waits for an account, if anything does and the account is active. Blocks. What
    /// cannot be applied is left for whoever comes next.
    func drainInboxIfActive(of id: AccountID) {
        guard takesPackets, let folder = try? inboxFolder(of: id),
            (try? folder.waitingStamp()) ?? nil != nil || (try? folder.rowsStamp()) ?? nil != nil
        else { return }
        _ = try? openSession(id)
    }

    /// What makes work of packets; `nil` where none of the schemas does.
    package var packetIntake: PacketIntake? { schemas.lazy.compactMap(\.intake).first }

    private var takesPackets: Bool { packetIntake != nil }

    func inboxFolder(of id: AccountID) throws -> InboxFolder {
        inboxFolder(of: try registry.record(of: id))
    }

    func inboxFolder(of record: AccountRecord) -> InboxFolder {
        InboxFolder(
            account: paths.account(directory: record.directory).directory,
            keys: environment.keys
        )
    }
}

extension LockkeeperError {
    /// The folder of an account is gone. A packet makes none: what is in it besides would be missing
    /// without a word.
    fileprivate static func folderMissing(_ path: String, of id: AccountID) -> LockkeeperError {
        LockkeeperError(
            .fileMissing,
            subject: "account \(id)",
            explanation: "its folder \(path) is not there; the packet was not kept",
            answer: .fixEnvironment,
            remedy: "Put the folder back, or restore a backup, then deliver again."
        )
    }
}

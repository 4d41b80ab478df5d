public import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperStorage

extension Workspace {
    /// The packets of an account that are kept as files: what waits, oldest first, then what is parked.
    ///
    /// - Throws: ``LockkeeperError`` with the code `unknownAccount`.
    public func inbox(of id: AccountID) async throws -> [KeptPacket] {
        try await work { workspace in
            let folder = try workspace.inboxFolder(of: id)
            return try folder.entries().map { entry in
                let limit = workspace.limits.packetByteCountMax
                return KeptPacket(entry, try? folder.read(entry, byteCountMax: limit))
            }
        }
    }

    /// Applies the packets of an account that are kept as files. Whoever opens or writes the account
    /// does so by itself; this tells what became of them.
    ///
    /// - Throws: ``LockkeeperError`` as for ``session(_:)``, and `invalidInput` where the workspace was
    ///   opened without a schema that takes packets.
    public func drainInbox(of id: AccountID) async throws -> InboxReport {
        try await work { workspace in
            let session = try workspace.openSession(id, drainsInbox: false)
            guard let inbox = session.database.inbox else {
                throw LockkeeperError(
                    .invalidInput,
                    subject: "account \(id)",
                    explanation: "the workspace was opened without a schema that takes packets",
                    answer: .fixProgram,
                    remedy: "Open it with the schemas that it holds."
                )
            }
            var report = try inbox.report(until: workspace.deadlineOfOpening())
            report.obstacle = report.obstacle.map {
                ErrorMapping.map($0, subject: "account \(id)")
            }
            return report
        }
    }

    /// Lets a parked packet wait again, and has it applied where the account is active.
    ///
    /// - Returns: whether there was one of that name.
    /// - Throws: ``LockkeeperError`` with the code `unknownAccount`.
    public func retryPacket(_ name: String, of id: AccountID) async throws -> Bool {
        try await work { workspace in
            guard let name = PacketName(name),
                try workspace.inboxFolder(of: id).retry(name)
            else { return false }
            workspace.drainInboxIfActive(of: id)
            return true
        }
    }

    /// Throws a kept packet away, whether it waits or is parked.
    ///
    /// - Returns: whether there was one of that name.
    /// - Throws: ``LockkeeperError`` with the code `unknownAccount`.
    public func dropPacket(_ name: String, of id: AccountID) async throws -> Bool {
        try await work { workspace in
            guard let name = PacketName(name) else { return false }
            return try workspace.inboxFolder(of: id).remove([name]) > 0
        }
    }

    /// Keeps a packet as a file until the account's database can take it. Durable when it returns. The
    /// caller then looks once more whether the database can take it now, by opening a session.
    ///
    /// - Parameter reason: why the database cannot take it.
    /// - Throws: ``LockkeeperError`` — `unknownAccount`; `accountRemoved` where the account was removed
    ///   meanwhile; `inboxFull`, `diskFull`, `ioFailed`, `permissionDenied`, `suspended`. Nothing was
    ///   kept then.
    package func keep(
        _ packet: [UInt8],
        for id: AccountID,
        because reason: LockkeeperError.Code
    ) async throws -> KeptPacket {
        try await work { workspace in
            let record = try workspace.registry.record(of: id)
            let folder = workspace.inboxFolder(of: record)
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
            return KeptPacket(try kept.get(), file)
        }
    }

    /// Applies what waits for an account, if anything does and the account is active. Blocks. What
    /// cannot be applied is left for whoever comes next.
    func drainInboxIfActive(of id: AccountID) {
        guard takesPackets, let folder = try? inboxFolder(of: id),
            (try? folder.waitingStamp()) ?? nil != nil
        else { return }
        _ = try? openSession(id)
    }

    /// What makes work of packets; `nil` where none of the schemas does.
    var packetIntake: PacketIntake? { schemas.lazy.compactMap(\.intake).first }

    private var takesPackets: Bool { packetIntake != nil }

    func inboxFolder(of id: AccountID) throws -> InboxFolder {
        inboxFolder(of: try registry.record(of: id))
    }

    func inboxFolder(of record: AccountRecord) -> InboxFolder {
        InboxFolder(account: paths.account(directory: record.directory).directory)
    }
}

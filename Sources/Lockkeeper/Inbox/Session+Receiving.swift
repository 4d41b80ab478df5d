import LockkeeperPlatform
package import LockkeeperStorage

extension Session {
    /// Stores a packet as a row of the inbox, durably, and has it applied on a thread of its own.
    ///
    /// - Throws: ``LockkeeperError`` as for ``AccountDatabase/write(durability:waitMax:usesReserve:_:)``, and
    ///   `inboxFull`. Nothing was received then.
    package func receive(
        _ packet: Packet,
        waitMax: Duration? = nil
    ) async throws -> KeptPacket {
        let folder = InboxFolder(
            account: attachment.paths.directory,
            keys: workspace.environment.keys
        )
        let (name, limits) = (workspace.name, workspace.limits)
        let now = wallClock.milliseconds()
        let (entry, _) = try await database.submit(
            durability: .durable,
            waitMax: waitMax
        ) { connection, _ in
            var generator = SystemRandomNumberGenerator()
            return try PacketTable(connection).insert(
                packet,
                processName: name,
                receivedAt: now,
                limits: limits,
                using: &generator
            )
        }
        // The usual case is one system call: where packets come one after the other the mark stands.
        if try folder.rowsStamp() == nil {
            try await workspace.work { _ in try folder.noteRows() }
        }
        database.packets?.lookAgain()
        return KeptPacket(entry)
    }

    /// The packets that are kept as files, with what they hold, whether they wait or are parked. Those
    /// that cannot be read are left out.
    package func packetFiles() async throws -> [Packet] {
        let folder = InboxFolder(
            account: attachment.paths.directory,
            keys: workspace.environment.keys
        )
        return try await workspace.work { workspace in
            let limit = workspace.limits.packetByteCountMax
            return try folder.entries().compactMap { entry in
                // A torn one holds nothing that could be told.
                (try? folder.read(entry, byteCountMax: limit))?.packet
            }
        }
    }
}

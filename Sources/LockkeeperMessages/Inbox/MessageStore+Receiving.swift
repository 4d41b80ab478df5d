public import Lockkeeper
public import LockkeeperDomain
import LockkeeperSQLite
import LockkeeperStorage

/// A packet that was received: durable, and not processed yet.
public struct ReceivedPacket: Sendable, Hashable {
    /// Where it is kept.
    public let packet: KeptPacket
    /// Up to where its stream is received now: what may be acknowledged. Where the packet's page does
    /// not begin there, an earlier one is missing. `nil` where the packet named no page, and for a
    /// stream that has none from its beginning.
    public let received: Cursor?
}

/// How far a stream has come: what is received may wait in the inbox, what is processed is
/// among the messages.
public struct StreamProgress: Sendable, Hashable {
    /// The stream.
    public let stream: StreamID
    /// Behind which page the messages stand; `nil`: the stream needs a full sync.
    public let processed: Cursor?
    /// Up to where everything is durable here, processed or not: where the server is asked from, and
    /// what it may be told. At least as far as ``processed``; `nil`: from the beginning.
    public let received: Cursor?
    /// How many pages wait for an earlier one.
    public let waitingPageCount: Int
    /// What the server promises of the stream.
    public let contract: StreamContract
}

extension MessageStore {
    /// Stores a packet as it came, to be decoded later: the fastest way to have it durable. It is
    /// applied by a program that reads it (``Schema/messages(packets:)``), in the order of arrival
    /// and behind live writes.
    ///
    /// - Parameters:
    ///   - packet: the bytes, at most ``Limits/packetByteCountMax``.
    ///   - page: the page that the packet is, where that is known without decoding it: then its
    ///     stream counts as received up to the page's end.
    ///   - waitMax: how long to stand in line.
    /// - Returns: where it is kept, durably, and what may be acknowledged.
    /// - Throws: ``LockkeeperError`` — `inboxFull`, `invalidInput`, and what ``AccountDatabase/write(durability:waitMax:usesReserve:_:)``
    ///   throws. Nothing was received then; `Workspace.deliver` keeps it
    ///   elsewhere where the database cannot take it.
    public func receive(
        _ packet: [UInt8],
        closing page: SyncPage? = nil,
        waitMax: Duration? = nil
    ) async throws -> ReceivedPacket {
        let workspace = session.workspace
        try workspace.check(packet, for: session.token.account)
        let kept = try await session.receive(
            Packet(packet, format: workspace.packetIntake?.format ?? .eventLines, page: page),
            waitMax: waitMax
        )
        guard let page else { return ReceivedPacket(packet: kept, received: nil) }
        let progress = try await progress()
        return ReceivedPacket(
            packet: kept,
            received: progress.first { $0.stream == page.stream }?.received
        )
    }

    /// How far each stream has come, by name: those with a cursor, with a page that waits or lies in
    /// the inbox, and those that the contract names.
    ///
    /// What is answered is durable (5.2).
    public func progress() async throws -> [StreamProgress] {
        // Before the snapshot: what is applied in between is in one of the two.
        let files = try await session.packetFiles()
        let (contract, limits) = (session.account.contract, session.database.limits)
        return try await session.database.readConnection { connection in
            var walk = StreamWalk(limits: limits)
            for file in files { walk.add(file) }
            try walk.read(connection)
            try connection.syncLog()
            return walk.progress(contract)
        }
    }
}

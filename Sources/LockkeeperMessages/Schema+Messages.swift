public import Lockkeeper
import LockkeeperStorage

extension Schema {
    /// The tables of messages. A workspace that holds messages opens with it. The packets that its
    /// programs deliver and receive are event lines.
    public static let messages = messages(packets: .eventLines)

    /// The tables of messages, for programs whose packets are the app's own.
    ///
    /// - Parameter packets: how this program reads the packets that it is handed. All programs of
    ///   an app say the same but for who decodes.
    public static func messages(packets: PacketReading) -> Schema {
        Schema(
            owner: "messages",
            migrations: EmbeddedMigrations.all.map {
                Migration(owner: "messages", name: $0.name, sql: $0.sql)
            },
            intake: packets.intake,
            probes: { MessageInspection.probes(for: $0) + [SearchInspection.probe] },
            bookkeeping: SearchLibrary.tables,
            upkeep: [MessageStore.expiryUpkeep, MessageStore.searchUpkeep],
            restored: RestoredActs.settle,
            notes: { try SearchStatus(reading: $0).notes },
            backlogs: { try Backlog.all($0) },
            warnings: { try QuarantineTable.warnings($0, limits: $1) },
            salvage: MessageSalvage.plan
        )
    }
}

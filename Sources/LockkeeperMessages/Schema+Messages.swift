public import Lockkeeper
import LockkeeperStorage

extension Schema {
    /// The tables of messages. A workspace that holds messages opens with it.
    public static let messages = Schema(
        owner: "messages",
        migrations: EmbeddedMigrations.all.map {
            Migration(owner: "messages", name: $0.name, sql: $0.sql)
        },
        intake: MessageStore.intake,
        probes: { MessageInspection.probes(for: $0) + [SearchInspection.probe] },
        bookkeeping: SearchLibrary.tables,
        upkeep: [MessageStore.expiryUpkeep, MessageStore.searchUpkeep],
        notes: { try SearchStatus(reading: $0).notes }
    )
}

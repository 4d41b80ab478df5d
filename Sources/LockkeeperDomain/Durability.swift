/// What an acknowledgement promises.
public enum Durability: String, Sendable, Hashable, CaseIterable {
    /// The commit survives the death of every process, not a power loss.
    case committed
    /// The commit survives a power loss (I-6).
    case durable
}

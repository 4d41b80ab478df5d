/// Which of an account's database files a store is.
public enum StoreKind: String, Sendable, Hashable, CaseIterable {
    /// Messages and what is derived from them.
    case messages
    /// Settings and whatever else a rebuild of the messages leaves alone.
    case settings
}

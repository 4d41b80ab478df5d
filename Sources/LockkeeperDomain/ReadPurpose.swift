/// What a store is read for. A reader that keeps the log from being copied is named with it.
///
/// The raw values stand in lock files: they are never given to another purpose.
public enum ReadPurpose: UInt8, Sendable, Hashable, CaseIterable {
    /// Written by a program that this one does not know.
    case unknown = 0
    /// A query of the app's.
    case query = 1
    /// A change feed that reads the commit log.
    case feed = 2
    /// The hub, which reads the commit log for its subscribers.
    case hub = 3
    /// An export of everything.
    case export = 4
    /// An inspection.
    case inspection = 5
    /// A backup.
    case backup = 6

    /// The noun for people.
    public var name: String {
        switch self {
        case .unknown: "read"
        case .query: "query"
        case .feed: "feed"
        case .hub: "hub"
        case .export: "export"
        case .inspection: "inspection"
        case .backup: "backup"
        }
    }
}

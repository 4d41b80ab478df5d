import LockkeeperDomain
import LockkeeperSQLite

// Pages and the cursors of streams (M-12, I-4).
extension BatchMerge {
    mutating func apply(_ page: SyncPage, _ event: Event) throws -> EventOutcome {
        result.streams.insert(page.stream)
        switch try edges.add(page) {
        case .moved(let contradictions):
            for contradiction in contradictions {
                try putAside(.page(contradiction), .pageContradicts)
            }
            return .updated
        case .waits(let isNew):
            waitingPages.append(page)
            return isNew ? .updated : .duplicate
        case .known: return .duplicate
        case .contradicts:
            try putAside(event, .pageContradicts)
            return .quarantined
        case .hasNoRoom:
            try putAside(event, .tooManyWaitingPages)
            return .quarantined
        }
    }

    /// The server no longer knows the cursor: cursor and edges go, and with them the answer to where
    /// the stream stands. No cursor means full sync (R-57, B59).
    mutating func apply(_ reset: ResetEvent) throws -> EventOutcome {
        result.streams.insert(reset.stream)
        guard let cursor = try edges.cursor(of: reset.stream.bytes) else { return .duplicate }
        guard cursor == reset.expected.bytes else { return .stale }
        try edges.reset(reset.stream.bytes)
        return .updated
    }
}

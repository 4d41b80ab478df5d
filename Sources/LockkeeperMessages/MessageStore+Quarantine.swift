import Lockkeeper
import LockkeeperDomain
import LockkeeperSQLite

extension MessageStore {
    /// Merges again what was put aside, under the same rules: for what had no room, or was in the way
    /// of something that is not there any more.
    ///
    /// - Parameter number: the item's number, as ``quarantine()`` lists it.
    /// - Returns: what became of it; `quarantined` where it is put aside again. `nil` where there is no
    ///   such item.
    /// - Throws: ``LockkeeperError`` with the code `invalidInput` for what is no event, and what
    ///   ``AccountDatabase/write(durability:waitMax:usesReserve:_:)`` throws.
    public func retryQuarantined(_ number: Int64) async throws -> EventOutcome? {
        try await settle(number) { merge, item in try merge.retry(item) }
    }

    /// Merges what was put aside although the rules refuse it: a person decided so.
    ///
    /// A message on a taken seq is shown beside the other. An edit or recall of somebody else is done. A
    /// value that lost a conflict takes the place of the one that stands, which is put aside for it, until
    /// a newer version comes. What was accepted stays so whatever comes again. It is an act on this device:
    /// others are not told.
    ///
    /// - Returns: what became of it; `nil` where there is no such item.
    /// - Throws: ``LockkeeperError`` with the code `invalidInput` for what cannot be accepted: lines that
    ///   are no event or of a type that is not known, and pages that contradict others.
    public func acceptQuarantined(_ number: Int64) async throws -> EventOutcome? {
        try await settle(number) { merge, item in try merge.accept(item) }
    }

    /// Forgets what was put aside.
    ///
    /// - Returns: whether there was such an item.
    @discardableResult
    public func dropQuarantined(_ number: Int64) async throws -> Bool {
        try await settle(number) { _, _ in .updated } != nil
    }

    /// Takes an item out and does something with it, in one transaction.
    private func settle(
        _ number: Int64,
        _ act: @escaping @Sendable (inout BatchMerge, QuarantineTable.Kept) throws -> EventOutcome
    ) async throws -> EventOutcome? {
        try await session.database.submit(durability: .durable, waitMax: nil) {
            [self] connection, topics in
            var outcome: EventOutcome?
            _ = try merge(closing: nil, onGap: .wait, on: connection, topics: &topics) { merge in
                guard let item = try merge.quarantine.take(number) else { return }
                outcome = try act(&merge, item)
            }
            return outcome
        }.value
    }
}

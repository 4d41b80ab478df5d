import Lockkeeper
package import LockkeeperDomain

extension MessageStore {
    /// Stores lines in one transaction, and moves a stream's cursor over the page that they make up.
    ///
    /// It is ``ingest(_:closing:onGap:durability:admission:waitMax:)`` for input that was read as lines: what
    /// could not be read goes to quarantine in the same transaction. The caller bounds the lines.
    ///
    /// - Throws: what the other one throws; nothing was stored then.
    package func ingest(
        _ lines: [DecodedLine],
        closing page: SyncPage?,
        onGap: GapPolicy,
        durability: Durability,
        effects: EffectPolicy? = nil
    ) async throws -> Receipt {
        try check(durability, lines.lazy.compactMap(\.event), closing: page)
        return try await store(
            lines,
            closing: page,
            onGap: onGap,
            durability: durability,
            effects: effects
        )
    }

    /// The same without a look at the server's contract: for who keeps what cannot be stored.
    func store(
        _ lines: [DecodedLine],
        closing page: SyncPage?,
        onGap: GapPolicy,
        durability: Durability,
        effects: EffectPolicy? = nil,
        admission: AdmissionClass? = nil
    ) async throws -> Receipt {
        let (result, commit) = try await session.database.submit(
            durability: durability,
            class: admission ?? (page == nil ? .live : .backfill),
            waitMax: nil
        ) { [self] connection, topics in
            try merge(
                closing: page,
                onGap: onGap,
                effects: effects,
                of: page?.stream ?? lines.stream,
                on: connection,
                topics: &topics
            ) { merge in
                for line in lines { try merge.take(line.item) }
            }
        }
        return Receipt(result, commit)
    }
}

extension [DecodedLine] {
    /// The stream of the page that the lines make up; `nil` where they hold none.
    var stream: StreamID? {
        for case .page(let page)? in lazy.map(\.event) { return page.stream }
        return nil
    }
}

import Lockkeeper
import LockkeeperDomain
import LockkeeperSQLite

@testable import LockkeeperMessages

/// Tries deliveries on a fresh store, each of them on the same one: every delivery happens inside
/// a savepoint of one transaction, and is rolled back.
struct Rehearsal {
    let store: MessageStore
    /// A defect to plant; none by default.
    var defect: PlantedDefect?

    private struct RolledBack: Error {}

    /// What each delivery leads to.
    func observations(of deliveries: [Delivery]) async throws -> [Observation] {
        let collector = Collector<Observation>()
        do {
            _ = try await store.session.database.submit(durability: .committed, waitMax: nil) {
                connection,
                _ in
                // What is found may not depend on when texts were indexed either.
                for (number, delivery) in deliveries.enumerated() {
                    let isIndexed = number % 32 == 1
                    collector.append(try observe(delivery, connection, isIndexed: isIndexed))
                }
                throw RolledBack()
            }
        } catch is RolledBack {}
        return collector.values
    }

    private func observe(
        _ delivery: Delivery,
        _ connection: Connection,
        isIndexed: Bool
    ) throws -> Observation {
        try connection.withPolicy(.open) { try $0.execute("SAVEPOINT delivery") }
        var earlier: [Event] = []
        var waiting: [PoolStep] = []
        for batch in delivery.batches {
            var merge: BatchMerge?
            for step in batch {
                guard let event = step.event else {
                    // What the account itself does is a transaction of its own.
                    _ = try merge?.finish()
                    merge = nil
                    if try !step.perform(connection, store.rules) { waiting.append(step) }
                    continue
                }
                let merged = defect.map { $0.distort(event, after: earlier) } ?? event
                var open =
                    merge ?? BatchMerge(connection: connection, rules: store.rules, now: 0)
                if let merged { try open.take(merged) }
                merge = open
                earlier.append(event)
            }
            _ = try merge?.finish()
            if isIndexed {
                while try SearchIndexer(connection: connection, now: 0).step() == .more {}
            }
        }
        for step in waiting { _ = try step.perform(connection, store.rules) }
        let observation = try Observation(connection, store.rules)
        try connection.withPolicy(.open) {
            try $0.execute("ROLLBACK TO delivery")
            try $0.execute("RELEASE delivery")
        }
        return observation
    }

    /// What a pool makes the store put aside that a person may accept.
    ///
    /// Sender, place and direction outlive a message's end, and their losers do not: what is
    /// accepted of them before it stays, and after it nothing can be. Whether somebody did is no
    /// matter of order.
    func acceptable(in pool: EventPool) async throws -> [PoolStep] {
        let collector = Collector<PoolStep>()
        do {
            _ = try await store.session.database.submit(durability: .committed, waitMax: nil) {
                connection,
                _ in
                var merge = BatchMerge(connection: connection, rules: store.rules, now: 0)
                for event in pool.events { try merge.take(event) }
                _ = try merge.finish()
                let select = try connection.prepare(
                    """
                    SELECT reason, content FROM lk_quarantine
                    WHERE reason IN ('conflict', 'unauthorised') ORDER BY reason, content
                    """
                )
                while try select.step() {
                    collector.append(
                        .acceptance(reason: select.string(0), content: select.bytes(1))
                    )
                }
                throw RolledBack()
            }
        } catch is RolledBack {}
        let endsMessages = pool.endsMessages
        return collector.values.filter { step in
            guard endsMessages, case .acceptance("conflict", let content) = step else {
                return true
            }
            let line = String(decoding: content, as: UTF8.self)
            return !["sender", "seq", "incoming"].contains { line.contains("\"\($0)\":") }
        }
    }

    /// Two deliveries of a pool that lead to different stores; `nil` where all agree.
    func disagreement(
        about pool: EventPool,
        deliveries: [Delivery]
    ) async throws -> Disagreement? {
        let seen = try await observations(of: deliveries)
        // A store that every order leaves equally wrong is wrong as well.
        guard let first = seen.first,
            let other = seen.firstIndex(where: { $0 != first || !$0.findings.isEmpty })
        else { return nil }
        return Disagreement(
            pool: pool,
            deliveries: (deliveries[0], deliveries[other]),
            observations: (first, seen[other])
        )
    }
}

extension Rehearsal {
    /// The smallest part of a pool that still fails: events are taken out one after the other as
    /// long as the rest disagrees. Greedy, which is enough for pools of a few events.
    func shrunk(
        _ disagreement: Disagreement,
        _ generator: inout SeededGenerator
    ) async throws -> Disagreement {
        var smallest = disagreement
        var index = 0
        while index < smallest.pool.steps.count {
            var pool = smallest.pool
            pool.steps.remove(at: index)
            let deliveries = Delivery.all(
                of: pool,
                exhaustiveCountMax: 4,
                randomCount: 20,
                &generator
            )
            if let smaller = try await self.disagreement(about: pool, deliveries: deliveries) {
                smallest = smaller
            } else {
                index += 1
            }
        }
        return smallest
    }
}

/// Proof that the order of arrival can be seen.
struct Disagreement: CustomStringConvertible {
    let pool: EventPool
    let deliveries: (Delivery, Delivery)
    let observations: (Observation, Observation)

    var description: String {
        """
        The deliveries
        \(deliveries.0)
        and
        \(deliveries.1)
        lead to
        \(observations.0)
        and
        \(observations.1)
        """
    }
}

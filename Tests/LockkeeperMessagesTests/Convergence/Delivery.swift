import LockkeeperDomain
import LockkeeperMessages

/// One way in which the events of a pool arrive: batches, in order.
struct Delivery: CustomStringConvertible {
    let batches: [[Event]]

    /// Each event in a batch of its own.
    init(oneByOne events: [Event]) { batches = events.map { [$0] } }

    /// All events in one batch.
    init(together events: [Event]) { batches = [events] }

    /// Events in a random order, some of them twice, cut into batches at random.
    init(random events: [Event], _ generator: inout SeededGenerator) {
        let repeated = events.filter { _ in Bool.random(using: &generator) }
        var batches: [[Event]] = []
        for event in (events + repeated).shuffled(using: &generator) {
            if batches.isEmpty || Bool.random(using: &generator) { batches.append([]) }
            batches[batches.count - 1].append(event)
        }
        self.batches = batches
    }

    var description: String {
        batches.map { EventPool(events: $0).description }.joined(separator: "\n--\n")
    }

    /// Deliveries that between them show what order, repetition and splitting can do: every order
    /// where there are few events, random ones where there are many.
    static func all(
        of pool: EventPool,
        exhaustiveCountMax: Int,
        randomCount: Int,
        _ generator: inout SeededGenerator
    ) -> [Delivery] {
        var deliveries = [Delivery(together: pool.events)]
        if pool.events.count <= exhaustiveCountMax {
            deliveries += permutations(of: pool.events).map(Delivery.init(oneByOne:))
        }
        for _ in 0..<randomCount {
            deliveries.append(Delivery(random: pool.events, &generator))
        }
        return deliveries
    }
}

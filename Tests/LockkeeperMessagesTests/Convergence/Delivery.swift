import LockkeeperDomain
import LockkeeperMessages

/// One way in which the events of a pool arrive: batches, in order.
struct Delivery: CustomStringConvertible {
    let batches: [[PoolStep]]

    /// Each event in a batch of its own.
    init(oneByOne steps: [PoolStep]) { batches = steps.map { [$0] } }

    /// All events in one batch.
    init(together steps: [PoolStep]) { batches = [steps] }

    /// Events in a random order, some of them twice, cut into batches at random.
    init(random steps: [PoolStep], _ generator: inout SeededGenerator) {
        let repeated = steps.filter { _ in Bool.random(using: &generator) }
        var batches: [[PoolStep]] = []
        for step in (steps + repeated).shuffled(using: &generator) {
            if batches.isEmpty || Bool.random(using: &generator) { batches.append([]) }
            batches[batches.count - 1].append(step)
        }
        self.batches = batches
    }

    var description: String {
        batches.map { EventPool(steps: $0).description }.joined(separator: "\n--\n")
    }

    /// Deliveries that between them show what order, repetition and splitting can do: every order
    /// where there are few events, random ones where there are many.
    static func all(
        of pool: EventPool,
        exhaustiveCountMax: Int,
        randomCount: Int,
        _ generator: inout SeededGenerator
    ) -> [Delivery] {
        var deliveries = [Delivery(together: pool.steps)]
        if pool.steps.count <= exhaustiveCountMax {
            deliveries += permutations(of: pool.steps).map(Delivery.init(oneByOne:))
        }
        for _ in 0..<randomCount {
            deliveries.append(Delivery(random: pool.steps, &generator))
        }
        return deliveries
    }
}

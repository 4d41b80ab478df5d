import LockkeeperDomain
import Testing

@testable import Lockkeeper

@Suite("What makes one list of another") struct ListDifferenceTests {
    struct Item: Identifiable, Equatable {
        let id: Int
        var content = 0
    }

    @Test("done in the order that is described, the difference gives the new list")
    func applied() {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<2000 {
            let old = list(using: &generator)
            let new = list(using: &generator)
            let difference = ListDifference(from: old, to: new)
            #expect(apply(difference, to: old, new) == new, "seed \(seed)")
            #expect(difference.isEmpty == (old == new), "seed \(seed)")
        }
    }

    @Test("no more items move than must: one that goes to the top is one move")
    func fewMoves() {
        let old = (1...6).map { Item(id: $0) }
        var new = old
        new.insert(new.remove(at: 4), at: 0)
        new[0].content = 1
        let difference = ListDifference(from: old, to: new)
        #expect(difference.moved == [ListDifference.Move(from: 4, to: 0)])
        #expect(difference.changed == [0])
        #expect(difference.inserted.isEmpty && difference.removed.isEmpty)
    }

    private func list(using generator: inout SeededGenerator) -> [Item] {
        let ids = Array(1...8).shuffled(using: &generator).prefix(
            Int.random(in: 0...8, using: &generator)
        )
        return ids.map { Item(id: $0, content: Int.random(in: 0...1, using: &generator)) }
    }

    private func apply(_ difference: ListDifference, to old: [Item], _ new: [Item]) -> [Item] {
        let leaving = Set(difference.removed + difference.moved.map(\.from))
        var list = old.enumerated().filter { !leaving.contains($0.offset) }.map(\.element)
        let moves = Dictionary(uniqueKeysWithValues: difference.moved.map { ($0.to, $0.from) })
        for index in (difference.inserted + difference.moved.map(\.to)).sorted() {
            list.insert(moves[index].map { old[$0] } ?? new[index], at: index)
        }
        for index in difference.changed { list[index] = new[index] }
        return list
    }
}

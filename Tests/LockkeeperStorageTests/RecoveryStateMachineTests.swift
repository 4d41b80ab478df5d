import LockkeeperDomain
import LockkeeperStorage
import Testing

@testable import LockkeeperStorage

@Suite("The steps of a recovery, from wherever they are found (5.8, I-12)")
struct RecoveryStateMachineTests {
    private typealias Outcome = RecoveryStateMachine.Outcome

    private func intent(_ kinds: [StoreKind], _ phase: RecoveryPhase) -> RecoveryIntent {
        RecoveryIntent(
            account: "alice",
            folder: "recovery-1",
            damaged: Dictionary(uniqueKeysWithValues: kinds.map { ($0, 1) }),
            phase: phase,
            beganAt: 0
        )
    }

    /// Every way through the machine: the actions, and whether it came to its end.
    private func ways(
        _ machine: RecoveryStateMachine
    ) -> [(actions: [RecoveryStateMachine.Action], ends: Bool)] {
        guard let action = machine.action else { return [([], true)] }
        return [Outcome.done, .insufficient].flatMap { outcome in
            var next = machine
            guard next.take(outcome) else { return [([action], false)] }
            return ways(next).map { ([action] + $0.actions, $0.ends) }
        }
    }

    @Test(
        "whatever comes of each step, a file is inspected after it was made, and published after all were"
    )
    func everyWay() {
        for kinds in [[StoreKind.messages], [.settings], [.settings, .messages]] {
            for phase in RecoveryPhase.allCases {
                for way in ways(RecoveryStateMachine(intent(kinds, phase))) {
                    let actions = way.actions
                    #expect(actions.contains(.moveAside) == (phase == .confirmed))
                    let isMade = phase != .published
                    for kind in kinds where way.ends && isMade {
                        let made = actions.lastIndex {
                            [.reindex(kind), .salvage(kind)].contains($0)
                        }
                        let seen = actions.lastIndex(of: .inspect(kind))
                        let published = actions.firstIndex(of: .publish)
                        #expect((made ?? 99) < (seen ?? -1) && (seen ?? 99) < (published ?? -1))
                    }
                    if way.ends { #expect(actions.last == .complete) }
                    if !way.ends, case .inspect(let kind)? = actions.last {
                        // Only what was salvaged cannot be made better.
                        #expect(actions.contains(.salvage(kind)))
                    }
                }
            }
        }
    }

    @Test("an intent that is found in the making begins after the move again, settings first")
    func resumed() {
        for phase in [RecoveryPhase.aside, .reindexing, .salvaging, .inspecting] {
            let machine = RecoveryStateMachine(intent([.messages, .settings], phase))
            #expect(machine.action == .reindex(.settings))
        }
    }
}

@Suite("The search for rows beside pages that cannot be read")
struct RowIDGapsTests {
    /// Searches a table whose rows stand on leaves, some of which are damaged: a way ends where it comes
    /// to the row ids of a damaged leaf.
    private func search(
        _ leaves: [(rows: ClosedRange<Int64>, isDamaged: Bool)],
        triesMax: Int = RowIDGaps.triesMax
    ) -> (found: Set<Int64>, lost: Int64, tries: Int) {
        func isDamaged(_ row: Int64) -> Bool {
            leaves.contains { $0.isDamaged && $0.rows.contains(row) }
        }
        let last = leaves.map(\.rows.upperBound).max() ?? 0
        var gaps = RowIDGaps(leaves[0].rows.lowerBound...last, triesMax: triesMax)
        var found: Set<Int64> = []
        var tries = 0
        while let (gap, middle) = gaps.next() {
            tries += 1
            var row = middle
            while row <= gap.upperBound, !isDamaged(row) {
                #expect(found.insert(row).inserted)
                row += 1
            }
            if row <= gap.upperBound { gaps.add(row...gap.upperBound) }
            row = middle - 1
            while row >= gap.lowerBound, !isDamaged(row) {
                #expect(found.insert(row).inserted)
                row -= 1
            }
            if row >= gap.lowerBound { gaps.add(gap.lowerBound...row) }
        }
        return (found, gaps.lost.reduce(0) { $0 + Int64($1.count) }, tries)
    }

    @Test("every row of every leaf that can be read is found once, whichever leaves are damaged")
    func random() {
        let seed = UInt64.random(in: 0...UInt64(UInt32.max))
        print("seed=\(seed)")
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            var leaves: [(rows: ClosedRange<Int64>, isDamaged: Bool)] = []
            var next: Int64 = 1
            for index in 0..<Int.random(in: 2...12, using: &generator) {
                let width = Int64.random(in: 1...40, using: &generator)
                leaves.append(
                    (next...(next + width - 1), index == 0 || Bool.random(using: &generator))
                )
                next += width
            }
            // A gap has a damaged leaf at each end.
            leaves[leaves.count - 1].isDamaged = true
            let sound = leaves.filter { !$0.isDamaged }.flatMap { Array($0.rows) }
            let result = search(leaves)
            #expect(result.found == Set(sound), "seed=\(seed)")
            #expect(result.lost == next - 1 - Int64(sound.count), "seed=\(seed)")
        }
    }

    @Test("the widest gap has a middle, and a bound on the tries gives up what is left")
    func bounds() {
        var widest = RowIDGaps(.min ... .max)
        #expect(widest.next()?.middle == 0)
        let result = search(
            [(1...1000, true), (1001...1001, false), (1002...2000, true)],
            triesMax: 4
        )
        #expect(result.lost + Int64(result.found.count) == 2000)
        #expect(result.tries == 4)
    }
}

import LockkeeperDomain
import LockkeeperPlatform
import Testing

@testable import LockkeeperStorage

/// Everything that two and three processes can do to each other around a switch, step by step, with
/// processes that die anywhere, power cuts behind which each unsynced fence is there or not, and
/// fences that cannot be written. Standing still is one of the orders: the others go on meanwhile.
@Suite("Every order of the steps of a switch keeps the promises (I-1, I-2, I-12)")
struct SwitchEnumerationTests {
    private static let isLong = Environment.variable("LOCKKEEPER_TEST_ALL") != nil

    private static let two = SwitchModel(
        processCount: 2,
        budget: SwitchModel.Budget(
            switches: 2,
            crashes: isLong ? 2 : 1,
            powerCuts: 1,
            failures: 2,
            losses: 0,
            writes: isLong ? 2 : 1
        )
    )
    /// The same with one failure less, and a registry that is lost.
    private static let lost = SwitchModel(
        processCount: 2,
        budget: SwitchModel.Budget(
            switches: 2,
            crashes: 1,
            powerCuts: 1,
            failures: 1,
            losses: 1,
            writes: isLong ? 2 : 1
        )
    )
    private static let three = SwitchModel(
        processCount: 3,
        budget: SwitchModel.Budget(
            switches: 2,
            crashes: isLong ? 2 : 1,
            powerCuts: isLong ? 1 : 0,
            failures: 1,
            losses: 0,
            writes: 2
        )
    )

    @Test("two processes, two switches, deaths, a power cut, failures: no promise is broken")
    func two() {
        let result = explore(Self.two, nil)
        #expect(result.problem == nil)
        #expect(result.stateCount > 10_000)
    }

    @Test("two processes, and the registry is lost at any moment: no promise is broken")
    func lost() {
        let result = explore(Self.lost, nil)
        #expect(result.problem == nil)
        #expect(result.stateCount > 10_000)
    }

    @Test("three processes: no promise is broken")
    func three() {
        let result = explore(Self.three, nil)
        #expect(result.problem == nil)
        #expect(result.stateCount > 10_000)
    }

    @Test(
        "a planted mistake is found: the model can fail",
        arguments: [
            (SwitchModel.Defect.checkOutside, "a commit of"),
            (.targetStaysActive, "and its fence says"), (.noSyncOfFoundFence, "and its fence says"),
            (.intentNotDurable, "and its fence says"), (.noCopy, "and its fence says"),
            (.noSyncOfSurvey, "and its fence says"),
            (.noCounterpart, "0 accounts are active at rest"),
        ]
    )
    func defect(_ defect: SwitchModel.Defect, _ expected: String) {
        let isOfLoss = [.noSyncOfSurvey, .noCounterpart].contains(defect)
        let result = explore(isOfLoss ? Self.lost : Self.two, defect)
        #expect(result.problem?.contains(expected) == true, "\(result.problem ?? "nothing found")")
    }

    /// Visits every world, nearest first, until one has a problem.
    private func explore(
        _ start: SwitchModel,
        _ defect: SwitchModel.Defect?
    ) -> (problem: String?, stateCount: Int) {
        var seen: Set<SwitchModel> = [start]
        var layer = [start]
        var depth = 0
        while !layer.isEmpty {
            var next: [SwitchModel] = []
            for world in layer {
                if let problem = world.problem(defect) {
                    print("\(problem), after \(depth) steps: \(world)")
                    return (problem, seen.count)
                }
                for successor in world.successors(defect) where seen.insert(successor).inserted {
                    next.append(successor)
                }
            }
            layer = next
            depth += 1
        }
        print("\(start.processes.count) processes: \(seen.count) states, \(depth) steps deep")
        return (nil, seen.count)
    }
}

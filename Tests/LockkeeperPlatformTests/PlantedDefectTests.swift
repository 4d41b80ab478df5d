import LockkeeperDomain
import LockkeeperPlatform
import Testing

@Suite("Planted defects are off unless a test's own process switches one on")
struct PlantedDefectTests {
    @Test("none is planted here, and asking for one costs what a call costs and no more")
    func off() {
        #expect(PlantedDefect.allCases.allSatisfy { !$0.isPlanted })
        let clock = SystemClock()
        let rounds = 100_000
        // The least of a few, because others use the processor as well.
        func least(_ body: () -> Int) -> Duration {
            (0..<20).map { _ in
                let start = clock.now()
                let sum = body()
                #expect(sum >= 0)
                return clock.now().duration(since: start)
            }.min() ?? .zero
        }
        let asking = least {
            (0..<rounds).count { _ in PlantedDefect.reuseCommitNumber.isPlanted }
        }
        let looking = least { (0..<rounds).count { _ in clock.now().nanoseconds < 0 } }
        // Without optimisation, where it is three calls or so; with it the one is a load and the other
        // still a call. A lock or a call of the system would be a hundred times as much.
        #expect(asking < looking * 20, "\(asking) \(looking)")
    }

    @Test("one that is planted is planted alone")
    func on() async {
        await #expect(processExitsWith: .exitCode(17)) {
            PlantedDefect.countDuplicates.plant()
            let planted = PlantedDefect.allCases.filter(\.isPlanted)
            CurrentProcess.exit(planted == [.countDuplicates] ? 17 : 0)
        }
    }
}

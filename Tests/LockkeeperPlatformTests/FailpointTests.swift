import Glibc
import LockkeeperDomain
import LockkeeperPlatform
import Testing

@Suite("Named places do nothing until a test's own process arms one")
struct FailpointTests {
    @Test("coming to one that is not armed costs what a call costs and no more")
    func off() {
        let clock = SystemClock()
        let rounds = 100_000
        // The least of a few, because others use the processor as well.
        func least(_ body: () -> Void) -> Duration {
            (0..<20).map { _ in
                let start = clock.now()
                for _ in 0..<rounds { body() }
                return clock.now().duration(since: start)
            }.min() ?? .zero
        }
        let reaching = least { Failpoint.afterCommit.reach() }
        var sum: Int64 = 0
        let looking = least { sum &+= clock.now().nanoseconds }
        #expect(sum != 0)
        print("a place that is off: \(reaching / rounds)")
        // Without optimisation, where it is a call or two. A lock or a call of the system would be a
        // hundred times as much.
        #expect(reaching < looking * 20, "\(reaching) \(looking)")
    }

    @Test("one that is armed kills at the coming to it that was asked for, and no other does")
    func kills() async {
        await #expect(processExitsWith: .signal(SIGKILL)) {
            Failpoint.afterCommit.arm(.kill, at: 3)
            for place in Failpoint.allCases where place != .afterCommit { place.reach() }
            Failpoint.afterCommit.reach()
            Failpoint.afterCommit.reach()
            Failpoint.afterCommit.reach()
            CurrentProcess.exit(17)
        }
        await #expect(processExitsWith: .exitCode(17)) {
            Failpoint.afterCommit.arm(.kill, at: 3)
            for place in Failpoint.allCases where place != .afterCommit { place.reach() }
            Failpoint.afterCommit.reach()
            Failpoint.afterCommit.reach()
            CurrentProcess.exit(17)
        }
    }

    @Test("the names are apart, each one word for a command line")
    func names() {
        for place in Failpoint.allCases {
            #expect(place.rawValue.allSatisfy { $0 == "-" || ("a"..."z").contains($0) })
        }
        #expect(Failpoint.allCases.count < 256)
    }
}

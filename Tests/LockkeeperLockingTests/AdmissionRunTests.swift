import Testing

@testable import LockkeeperLocking

@Suite("When a process that is admitted again steps back (I-1)")
struct AdmissionRunTests {
    /// At which admissions of a process that has just met another one it steps back.
    private func steps(_ numbers: [UInt64]) -> [UInt64] {
        var run = AdmissionRun()
        return numbers.filter { number in
            defer { run.note(number) }
            return run.shouldStepBack
        }
    }

    @Test("a process that is alone never steps back")
    func alone() {
        #expect(steps(Array(1...10_000)).isEmpty)
    }

    @Test("beside others it steps back before every admission")
    func beside() {
        #expect(steps(Array(2...8) + Array(10...18)) == Array(3...8) + Array(10...18))
    }

    @Test("another process's admission shows that it is not alone any more")
    func metAgain() {
        let longAlone = Array(2...200 as ClosedRange<UInt64>)
        #expect(steps(longAlone + [202, 203]).last == 203)
    }

    @Test("who has met nobody for long counts as alone")
    func longAlone() {
        let last = steps(Array(2...1000)).last ?? 0
        #expect(last == 2 + UInt64(AdmissionRun.aloneCountMax))
    }
}

import LockkeeperDomain
import LockkeeperPlatform
import Testing

@testable import LockkeeperMessages

@Suite("How far an attempt has come (M-10, M-11)")
struct AttemptStateTests {
    private let rules = AttemptState.Rules(Limits())
    private var generator = SeededGenerator(seed: 1)

    private func moment(_ seconds: Int64, boot: UInt64 = 1) -> Moment {
        Moment(
            boot: BootID(high: 0, low: boot),
            instant: MonotonicInstant(nanoseconds: seconds * 1_000_000_000)
        )
    }

    /// Claims and says what came of it; `#expect` cannot change what it looks at.
    private func claim(
        _ state: inout AttemptState,
        at now: Moment,
        repeats: Bool = false
    ) -> AttemptState.ClaimAnswer {
        state.claim(at: now, repeats: repeats, rules: rules)
    }

    private mutating func fail(_ state: inout AttemptState, at now: Moment) -> Bool {
        state.fail(
            state.attempt,
            because: "no route",
            retryAfter: nil,
            at: now,
            rules: rules,
            using: &generator
        )
    }

    // The wait before attempt n + 1 is between half and the whole of its ceiling, which stops growing.
    @Test("attempts that fail wait longer and longer, up to a bound, and are parked in the end")
    mutating func backoff() {
        var state = AttemptState()
        var seconds: Int64 = 0
        for failure in 1..<rules.failureCountMax {
            let answer1 = claim(&state, at: moment(seconds))
            #expect(answer1 == .begun)
            let isCurrent = fail(&state, at: moment(seconds))
            #expect(isCurrent)
            let wait = state.retry?.wait(at: moment(seconds), max: rules.waitMax) ?? .zero
            let ceiling = rules.backoff.ceiling(attempt: failure - 1)
            #expect(wait >= ceiling / 2 && wait <= ceiling && wait <= .seconds(300))
            let answer2 = claim(&state, at: moment(seconds))
            #expect(answer2 == .waits(wait))
            seconds += wait.components.seconds + 1
        }
        let answer3 = claim(&state, at: moment(seconds))
        #expect(answer3 == .begun)
        let isLast = fail(&state, at: moment(seconds))
        #expect(isLast)
        #expect(state.phase == .parked && state.reason == "no route")
        let answer4 = claim(&state, at: moment(seconds + 9_999), repeats: true)
        #expect(answer4 == .settled)
        let isRetried = state.retry(isClaimed: false)
        #expect(isRetried && state.failureCount == 0)
        let answer5 = claim(&state, at: moment(seconds))
        #expect(answer5 == .begun)
        #expect(state.attempt == Int64(rules.failureCountMax) + 1)
    }

    @Test("a server that asks for patience gets it, but not for ever")
    mutating func retryAfter() {
        for (asked, least, most) in [(60, 60, 61), (1_000_000, 3_600, 3_601)] {
            var state = AttemptState()
            _ = state.claim(at: moment(0), repeats: false, rules: rules)
            let isCurrent = state.fail(
                1,
                because: "slow down",
                retryAfter: .seconds(asked),
                at: moment(0),
                rules: rules,
                using: &generator
            )
            #expect(isCurrent)
            let wait = state.retry?.wait(at: moment(0), max: rules.waitMax) ?? .zero
            #expect(wait >= .seconds(least) && wait <= .seconds(most))
        }
    }

    // B109: another boot's clock says nothing, and rubbish waits no longer than anything may.
    @Test("a time of another boot, or out of all bounds, is due at once")
    func clocks() {
        let retry = RetryTime(after: .seconds(100), from: moment(50))
        #expect(retry.wait(at: moment(50), max: rules.waitMax) == .seconds(100))
        #expect(retry.wait(at: moment(149), max: rules.waitMax) == .seconds(1))
        #expect(retry.wait(at: moment(150), max: rules.waitMax) == nil)
        #expect(retry.wait(at: moment(3, boot: 2), max: rules.waitMax) == nil)
        let rubbish = RetryTime(
            boot: moment(0).boot,
            instant: MonotonicInstant(nanoseconds: .max)
        )
        #expect(rubbish.wait(at: moment(0), max: rules.waitMax) == nil)
    }

    @Test("the next one finds an attempt whose claimer died: repeated, or unknown, or parked")
    func died() {
        var state = AttemptState()
        let answer6 = claim(&state, at: moment(0))
        #expect(answer6 == .begun)
        let answer7 = claim(&state, at: moment(0))
        #expect(answer7 == .settled)
        #expect(state.phase == .unknown && state.attempt == 1)
        var repeating = AttemptState()
        for attempt in 1...rules.unansweredCountMax {
            let answer8 = claim(&repeating, at: moment(0), repeats: true)
            #expect(answer8 == .begun)
            #expect(repeating.attempt == Int64(attempt))
        }
        let answer9 = claim(&repeating, at: moment(0), repeats: true)
        #expect(answer9 == .settled)
        #expect(repeating.phase == .parked)
    }

    // The fence: a claimer whose claim was lost must not speak for the one who came after him.
    @Test("an answer to an older attempt, or a second one, changes nothing")
    mutating func fence() {
        var state = AttemptState()
        _ = state.claim(at: moment(0), repeats: true, rules: rules)
        _ = state.claim(at: moment(0), repeats: true, rules: rules)
        let before = state
        let late = [state.park(1, because: "late"), state.giveBack(1)]
        #expect(late == [false, false])
        let isCurrent = state.unanswered(
            1,
            at: moment(0),
            repeats: true,
            rules: rules,
            using: &generator
        )
        #expect(!isCurrent && state == before)
        let answers = [state.park(2, because: "no such room"), state.giveBack(2)]
        #expect(answers == [true, false] && state.phase == .parked)
    }

    @Test("nothing is counted of an attempt that was not made")
    func givenBack() {
        var state = AttemptState()
        for _ in 0..<100 {
            let answer10 = claim(&state, at: moment(0))
            #expect(answer10 == .begun)
            let isBack = state.giveBack(state.attempt)
            #expect(isBack)
        }
        #expect(state.failureCount == 0 && state.unansweredCount == 0 && state.phase == .waiting)
        // Whoever is told next is not told of a repetition.
        #expect(state.attempt == 0)
    }

    @Test("by hand nothing happens to what somebody is at, and everything to what nobody is")
    func byHand() {
        var state = AttemptState()
        _ = state.claim(at: moment(0), repeats: false, rules: rules)
        let isRetried = state.retry(isClaimed: true)
        #expect(!state.mayCancel(isClaimed: true) && !isRetried)
        let isRetriedLater = state.retry(isClaimed: false)
        #expect(state.mayCancel(isClaimed: false) && isRetriedLater)
        #expect(state.phase == .waiting && state.mayCancel(isClaimed: true))
    }
}

import LockkeeperDomain
import LockkeeperPlatform
import Testing

@testable import LockkeeperMessages

/// Every order of what two claimers, their deaths and a person can do to one item, to a depth: the
/// shipped state machine between a model of the lock byte and a model of the server.
@Suite(
    "No order of events gives an item two attempts at once, or sends a message twice unasked (M-10)"
)
struct AttemptEnumerationTests {
    /// What is known of a claimer.
    private enum Claimer: Hashable {
        case idle
        /// Holds the byte and acts; `hasActed` says whether the server has it from him.
        case acting(attempt: Int64, hasActed: Bool)
        /// Was suspended meanwhile, without his lock, and comes back.
        case suspended(attempt: Int64, hasActed: Bool)
    }

    private enum Answer: CaseIterable, Hashable {
        case confirm, contradict, fail, park, unanswered, giveBack
    }

    private enum Step: Hashable {
        case claim(Int)
        case act(Int)
        case answer(Int, Answer)
        case die(Int)
        case suspend(Int)
        case retryByHand
        case cancelByHand
        case timePasses
    }

    private struct World: Hashable {
        var state = AttemptState()
        var claimers: [Claimer] = [.idle, .idle]
        var holder: Int?
        var now: Int64 = 0
        var hasEnded = false
        /// What the server has, and whether a person has allowed for one more.
        var sentCount = 0
        var allowedCount = 1
        var unansweredSinceRetry = 0
    }

    private struct Broken: Error, CustomStringConvertible {
        let description: String
    }

    private static let rules: AttemptState.Rules = {
        var limits = Limits()
        limits.attemptFailureCountMax = 3
        limits.attemptUnansweredCountMax = 2
        limits.attemptRetry = Backoff(least: .seconds(1), largest: .seconds(2))
        return AttemptState.Rules(limits)
    }()

    private static func moment(_ world: World) -> Moment {
        Moment(
            boot: BootID(high: 0, low: 1),
            instant: MonotonicInstant(nanoseconds: world.now * 1_000_000_000)
        )
    }

    private static func steps(of world: World) -> [Step] {
        if world.hasEnded { return [] }
        var steps: [Step] = [.retryByHand, .cancelByHand, .timePasses]
        for index in world.claimers.indices {
            switch world.claimers[index] {
            case .idle: if world.holder == nil { steps.append(.claim(index)) }
            case .acting(_, let hasActed):
                if !hasActed { steps.append(.act(index)) }
                steps += Answer.allCases.map { .answer(index, $0) }
                steps += [.die(index), .suspend(index)]
            case .suspended: steps += Answer.allCases.map { .answer(index, $0) }
            }
        }
        return steps
    }

    /// Does a step; `nil` where a claimer would have to lie for it.
    private static func apply(_ step: Step, to world: World, repeats: Bool) throws -> World? {
        var next = world
        switch step {
        case .timePasses: next.now += 2
        case .retryByHand:
            let wasSettled = next.state.phase == .unknown || next.state.phase == .parked
            let wasLeft = next.state.phase == .attempting && next.holder == nil
            guard next.state.retry(isClaimed: next.holder != nil) else { return next }
            next.unansweredSinceRetry = 0
            // Whoever asks again for what may have been sent allows for a second one.
            if wasSettled || wasLeft { next.allowedCount = next.sentCount + 1 }
        case .cancelByHand:
            if next.state.mayCancel(isClaimed: next.holder != nil) { next.hasEnded = true }
        case .claim(let index): try claim(index, in: &next, repeats: repeats)
        case .act(let index):
            guard case .acting(let attempt, _) = next.claimers[index] else { return nil }
            next.claimers[index] = .acting(attempt: attempt, hasActed: true)
            next.sentCount += 1
            if !repeats, next.sentCount > next.allowedCount {
                throw Broken(description: "sent \(next.sentCount) times")
            }
        case .die(let index):
            next.claimers[index] = .idle
            next.holder = nil
        case .suspend(let index):
            guard case .acting(let attempt, let hasActed) = next.claimers[index] else { return nil }
            next.claimers[index] = .suspended(attempt: attempt, hasActed: hasActed)
            next.holder = nil
        case .answer(let index, let answer):
            return try Self.answer(answer, of: index, in: next, repeats: repeats)
        }
        return next
    }

    private static func claim(_ index: Int, in world: inout World, repeats: Bool) throws {
        let before = world.state
        switch world.state.claim(at: moment(world), repeats: repeats, rules: rules) {
        case .begun:
            guard before.phase == .waiting || (before.phase == .attempting && repeats) else {
                throw Broken(description: "an attempt began in \(before.phase)")
            }
            if before.phase == .attempting { world.unansweredSinceRetry += 1 }
            guard world.unansweredSinceRetry < rules.unansweredCountMax else {
                throw Broken(description: "another attempt after \(world.unansweredSinceRetry)")
            }
            world.holder = index
            world.claimers[index] = .acting(attempt: world.state.attempt, hasActed: false)
        case .waits(let wait):
            guard wait <= rules.waitMax, world.state == before else {
                throw Broken(description: "it waits for \(wait)")
            }
        case .settled:
            guard world.state.phase == .unknown || world.state.phase == .parked else {
                throw Broken(description: "settled in \(world.state.phase)")
            }
        }
    }

    private static func answer(
        _ answer: Answer,
        of index: Int,
        in world: World,
        repeats: Bool
    ) throws -> World? {
        var next = world
        let (attempt, hasActed): (Int64, Bool)
        switch next.claimers[index] {
        case .idle: return nil
        case .acting(let number, let acted), .suspended(let number, let acted):
            (attempt, hasActed) = (number, acted)
        }
        var generator = SeededGenerator(seed: 1)
        switch answer {
        // Who has not acted cannot confirm, and who has does not say that he has not.
        case .confirm:
            guard hasActed else { return nil }
            next.hasEnded = true
        case .contradict: next.state.contradict(attempt, because: "")
        case .fail:
            guard !hasActed else { return nil }
            _ = next.state.fail(
                attempt,
                because: "",
                retryAfter: nil,
                at: moment(next),
                rules: rules,
                using: &generator
            )
        case .park:
            guard !hasActed else { return nil }
            _ = next.state.park(attempt, because: "")
        case .giveBack:
            guard !hasActed else { return nil }
            _ = next.state.giveBack(attempt)
        case .unanswered:
            let isCurrent = next.state.unanswered(
                attempt,
                at: moment(next),
                repeats: repeats,
                rules: rules,
                using: &generator
            )
            if isCurrent { next.unansweredSinceRetry += 1 }
        }
        if !world.state.isCurrent(attempt), next.state != world.state {
            throw Broken(description: "an answer to attempt \(attempt) changed \(world.state)")
        }
        // A suspended claimer's answer counts while nobody came after him, but not for who acts now.
        if next.holder == index { next.holder = nil }
        next.claimers[index] = .idle
        return next
    }

    private static func explore(depth: Int, repeats: Bool) throws -> Int {
        var seen: Set<World> = [World()]
        var frontier = [World()]
        for _ in 0..<depth {
            var following: [World] = []
            for world in frontier {
                for step in steps(of: world) {
                    guard let next = try apply(step, to: world, repeats: repeats) else { continue }
                    try check(next)
                    if seen.insert(next).inserted { following.append(next) }
                }
            }
            frontier = following
        }
        return seen.count
    }

    private static func check(_ world: World) throws {
        // Only who holds the byte may be at the newest attempt, unless he was suspended.
        let current = world.claimers.indices.filter { index in
            if case .acting(let attempt, _) = world.claimers[index] {
                return world.state.isCurrent(attempt)
            }
            return false
        }
        guard current.count <= 1, current.allSatisfy({ world.holder == $0 }) else {
            throw Broken(description: "two are at it: \(world)")
        }
        guard !world.hasEnded else { return }
        // No dead end: once everybody has died and time has passed it is claimed or settled.
        var left = world
        left.now += 10
        var state = left.state
        switch state.claim(at: moment(left), repeats: true, rules: rules) {
        case .begun, .settled: return
        case .waits(let wait): throw Broken(description: "stuck for \(wait): \(world)")
        }
    }

    @Test(
        "a server that does not refuse doubles gets no message twice unless a person asked for it"
    )
    func single() throws {
        #expect(try Self.explore(depth: 9, repeats: false) > 1_000)
    }

    @Test("a server that refuses doubles is asked again, a bounded number of times")
    func repeating() throws {
        #expect(try Self.explore(depth: 9, repeats: true) > 1_000)
    }
}

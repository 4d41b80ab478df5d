package import LockkeeperDomain

/// What a simulation of the switch does, decided before it begins: the seed repeats the schedule.
/// When each process is given the processor is the kernel's affair, and no seed repeats that.
package struct SwitchPlan: Sendable {
    /// The seed of the schedule.
    package let seed: UInt64
    /// How many accounts there are; one of them is active.
    package let accountCount: Int
    /// How many helpers ingest.
    package let helperCount: Int
    /// A defect that the helpers have, which the judgement must find.
    package let defect: SwitchDefect?
    /// What happens, in order.
    package let steps: [Step]

    /// One thing that happens.
    package struct Step: Sendable, Hashable {
        /// How long nothing is done before it.
        package let pause: Duration
        /// What is done.
        package let action: Action
    }

    /// What can happen. A worker is named by its number: 0 is the host, helpers follow.
    package enum Action: Sendable, Hashable {
        /// A worker switches to the account that is so many behind the active one. The outcome is
        /// waited for.
        case makeSwitch(worker: Int, offset: Int)
        /// The host and a helper are told to switch at the same moment.
        case race(helper: Int, offset: Int)
        /// A helper stops itself between taking its token and its transaction; the host switches;
        /// then the helper goes on.
        case stopBefore(helper: Int, offset: Int)
        /// A helper stops itself inside its transaction, behind the check of its token; the host
        /// switches meanwhile, and the helper goes on after a while.
        case stopInside(helper: Int, offset: Int, for: Duration)
        /// A worker is stopped wherever it is, for a while.
        case stop(worker: Int, for: Duration)
        /// A helper is killed wherever it is, and started again.
        case kill(helper: Int)
        /// The host is told to switch and killed a moment later, in the middle of it perhaps; it is
        /// started again.
        case killSwitching(offset: Int, after: Duration)
        /// A worker's time of day steps.
        case stepClock(worker: Int, by: Duration)
    }

    /// Draws a schedule.
    ///
    /// - Parameter duration: how long its pauses are together; what it waits for comes on top.
    package init(
        seed: UInt64,
        duration: Duration,
        accountCount: Int = 3,
        helperCount: Int = 3,
        defect: SwitchDefect? = nil
    ) {
        precondition(
            accountCount >= 2 && helperCount >= 1,
            "a switch needs two accounts, and users"
        )
        self.seed = seed
        self.accountCount = accountCount
        self.helperCount = helperCount
        self.defect = defect
        var draw = Draw(
            generator: SeededGenerator(seed: seed),
            accountCount: accountCount,
            helperCount: helperCount
        )
        var steps: [Step] = []
        var planned = Duration.zero
        while planned < duration {
            let step = draw.step()
            planned += step.pause
            steps.append(step)
        }
        self.steps = steps
    }

    /// The id of an account by its number.
    package static func account(_ number: Int) -> AccountID {
        AccountID(unchecked: Array("account-\(number)".utf8))
    }

    /// Draws steps. The shares favour switches, since they are what everything else meets.
    private struct Draw {
        var generator: SeededGenerator
        let accountCount: Int
        let helperCount: Int

        mutating func step() -> Step {
            Step(pause: milliseconds(2...60), action: action())
        }

        private mutating func action() -> Action {
            switch Int.random(in: 0..<100, using: &generator) {
            case ..<30: .makeSwitch(worker: worker(), offset: offset())
            case ..<38: .race(helper: helper(), offset: offset())
            case ..<58: .stopBefore(helper: helper(), offset: offset())
            case ..<68: .stopInside(helper: helper(), offset: offset(), for: milliseconds(5...200))
            case ..<76: .stop(worker: worker(), for: milliseconds(5...200))
            case ..<84: .kill(helper: helper())
            case ..<92: .killSwitching(offset: offset(), after: .microseconds(Int64(micros())))
            default: .stepClock(worker: worker(), by: .seconds(Int64(step(of: 400 * 86_400))))
            }
        }

        private mutating func worker() -> Int { .random(in: 0...helperCount, using: &generator) }
        private mutating func helper() -> Int { .random(in: 1...helperCount, using: &generator) }
        private mutating func offset() -> Int {
            .random(in: 1..<accountCount, using: &generator)
        }
        private mutating func micros() -> Int { .random(in: 0...6000, using: &generator) }
        private mutating func step(of seconds: Int) -> Int {
            .random(in: -seconds...seconds, using: &generator)
        }
        private mutating func milliseconds(_ range: ClosedRange<Int>) -> Duration {
            .milliseconds(Int.random(in: range, using: &generator))
        }
    }
}

/// A defect that a simulation plants in its helpers. A judgement that does not find it is worth
/// nothing.
package enum SwitchDefect: String, Sendable, Hashable, CaseIterable {
    /// The fence is never compared with the token.
    case skipFenceCheck = "skip-fence-check"
    /// The fence is compared before the transaction, and not in it.
    case checkFenceOutsideTransaction = "check-fence-outside-transaction"
}

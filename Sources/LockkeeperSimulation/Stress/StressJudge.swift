import LockkeeperDomain
import LockkeeperPlatform

/// Something that must not happen and did.
package struct StressViolation: Sendable, Hashable {
    /// Which promise it breaks: the number of an invariant, or "liveness".
    package let invariant: String
    /// What happened, as a sentence without its end.
    package let sentence: String
    /// The lines that prove it, of histories and databases.
    package let lines: [String]

    init(_ invariant: String, _ sentence: String, _ lines: [String] = []) {
        self.invariant = invariant
        self.sentence = sentence
        self.lines = lines
    }
}

/// Judges a stress run: what the processes were told against what the databases hold. A pure function.
///
/// - Acknowledged ⊆ durable ⊆ submitted, and nothing twice (I-3, I-6): ``pages(of:)``,
///   ``packets(of:)``, ``settings(of:)``, ``sends(of:)``.
/// - No write of a stale generation (I-2): ``pages(of:)``, ``commits(of:)``.
/// - Cursors, positions and commit numbers only rise (I-4, I-8): ``pages(of:)``, ``snapshots()``,
///   ``commits(of:)``.
/// - Every subscriber heard of every commit, and of none that is not there (I-7): ``subscribers()``.
/// - Effects come at least once, under one key, and not once they were confirmed (M-11):
///   ``effects(of:)``.
/// - Who was alive was told what became of what he asked, in words that the trouble explains
///   (I-12): ``processes()``.
/// - Stored counters are what a recount gives (I-16), and nothing is left behind: ``atRest()``.
/// - When the trouble has ended everything comes to rest (liveness).
package struct StressJudge: Sendable {
    let outcome: StressOutcome
    let exchanges: [Exchange]

    /// A question and its answer.
    struct Exchange: Sendable {
        let process: StressProcess
        let asked: StressEntry
        var answer: StressEntry?

        var isDone: Bool { answer?.word == .answered }

        /// The lines of it, for a verdict.
        var lines: [String] {
            [asked, answer].compactMap { $0 }.map { StressJudge.line(process, $0) }
        }

        /// Whether it may have come about: there was no answer, or one that does not say.
        var isUncertain: Bool {
            guard let answer else { return true }
            return answer.word == .refused && answer.code == "ioFailed"
        }
    }

    /// A judge of an outcome.
    package init(_ outcome: StressOutcome) {
        self.outcome = outcome
        exchanges = outcome.histories.flatMap(Self.exchanges)
    }

    /// Everything that is wrong, what weighs most first.
    package func violations() -> [StressViolation] {
        var found: [StressViolation] = []
        for account in outcome.evidence.accounts {
            found += pages(of: account) + commits(of: account)
            found += packets(of: account) + places(of: account) + settings(of: account)
            found += sends(of: account) + effects(of: account)
        }
        found += subscribers() + snapshots() + atRest() + processes()
        return found + outcome.stragglers.map { StressViolation("liveness", $0) }
    }

    // MARK: - Means

    /// Pairs questions with their answers. A process asks the same again only when it has an answer.
    private static func exchanges(of history: StressHistory) -> [Exchange] {
        var exchanges: [Exchange] = []
        var open: [String: Int] = [:]
        for entry in history.entries {
            guard let act = entry.act else { continue }
            let name = "\(act.rawValue) \(entry.id)"
            switch entry.word {
            // A feed has no answer.
            case .asks where act != .follow:
                open[name] = exchanges.count
                exchanges.append(Exchange(process: history.process, asked: entry))
            case .answered, .refused:
                if let index = open.removeValue(forKey: name) { exchanges[index].answer = entry }
            default: break
            }
        }
        return exchanges
    }

    /// The exchanges of an act in an account.
    func exchanges(_ act: StressAct, of account: String) -> [Exchange] {
        exchanges.filter { $0.asked.act == act && $0.asked.account == account }
    }

    /// A line of a history, as a verdict shows it.
    static func line(_ process: StressProcess, _ entry: StressEntry) -> String {
        "\(process): \(String(decoding: entry.line.dropLast(), as: UTF8.self))"
    }

    // MARK: - Processes

    /// What a refusal may be: the right to write was lost, or somebody stood in the door for long; on a
    /// full disk also that.
    private var expectedCodes: Set<String> {
        var codes: Set<String> = ["superseded", "busy", "accountInactive"]
        if outcome.plan.faults.contains(.fillDisk) {
            codes.formUnion(["diskFull", "ioFailed", "inboxFull"])
        }
        return codes
    }

    /// Who was alive was told what became of what he asked; nobody ended who was not ended.
    func processes() -> [StressViolation] {
        var found: [StressViolation] = []
        var killed: Set<StressProcess> = []
        for mark in outcome.marks where mark.what == "killed" {
            if let process = mark.process { killed.insert(process) }
        }
        let stuck = outcome.stragglers.joined()
        let asked = Dictionary(grouping: exchanges, by: \.process)
        for history in outcome.histories {
            let process = history.process
            if let line = history.unreadable {
                found.append(
                    StressViolation("I-12", "\(process) wrote no line of a history", [line])
                )
            }
            for entry in history.entries {
                if entry.word == .failed {
                    let lines = [Self.line(process, entry)]
                    found.append(StressViolation("I-12", "\(process) failed", lines))
                } else if entry.word == .refused, let code = entry.code,
                    !expectedCodes.contains(code)
                {
                    let lines = [Self.line(process, entry)]
                    let sentence = "\(process) was refused as \(code), which nothing explains"
                    found.append(
                        StressViolation(code == "resync" ? "I-7" : "I-12", sentence, lines)
                    )
                }
            }
            let isKilled = killed.contains(process) || stuck.contains("\(process) ")
            if !isKilled, history.ending != .exited(0) {
                let ending = history.ending?.sentence ?? "nobody knows how"
                let last = history.entries.suffix(2).map { Self.line(process, $0) }
                found.append(StressViolation("I-12", "\(process) ended: \(ending)", last))
            }
            guard !isKilled else { continue }
            for exchange in asked[process] ?? [] where exchange.answer == nil {
                let sentence = "\(process) was alive and was never told what became of it"
                found.append(StressViolation("I-6", sentence, exchange.lines))
            }
        }
        return found
    }

    // MARK: - At rest

    /// What the databases themselves say, whatever went on before.
    func atRest() -> [StressViolation] {
        let evidence = outcome.evidence
        var found = evidence.problems.map { problem in
            let isCounter = problem.contains("counter") || problem.contains("recount")
            return StressViolation(isCounter ? "I-16" : "I-12", "at rest \(problem)")
        }
        if evidence.active.count != 1 {
            found.append(
                StressViolation("I-2", "active at rest: \(evidence.active), and not one account")
            )
        }
        for account in evidence.accounts where account.keptPackets > 0 {
            found.append(
                StressViolation(
                    "liveness",
                    "\(account.keptPackets) packets of \(account.id) are still kept"
                )
            )
        }
        return found + evidence.leftBehind.map { StressViolation("I-12", "left behind: \($0)") }
    }
}

extension StressEntry {
    /// The code of a refusal: its first word.
    var code: String? { text?.split(separator: " ").first.map(String.init) }
}

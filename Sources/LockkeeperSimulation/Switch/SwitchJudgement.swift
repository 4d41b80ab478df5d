import LockkeeperDomain
import LockkeeperPlatform

/// Judges a simulation of the switch: what the processes said against what the databases hold.
///
/// - No page is committed whose generation was not current in its own transaction (I-2). The row
///   that its transaction wrote says so; and by the clock, none ends after a switch away from its
///   account had ended.
/// - A page stands in the account that it was sent for, whole, once, and in no other (I-13).
/// - What was acknowledged is there; what was refused is not, and moved no cursor (I-3, I-4).
/// - Who was alive was told of every page what became of it.
/// - Generations only rise, in each account's file and over all switches; at rest one account is
///   active, and the registry says what the fences say.
struct SwitchJudgement: Sendable {
    let history: SwitchHistory.State
    let evidence: SwitchEvidence

    /// What happened to one attempt, as its helper said it.
    private struct Fate {
        var token: FencingToken?
        var page = 0
        var commit: Int64?
        var refusal: String?
    }

    /// What a refusal may be: the right to write was lost, or somebody stood in the door for long.
    private static let expectedRefusals: Set<String> = ["superseded", "busy"]
    private static let expectedFailuresOfSwitches: Set<String> = ["accountInactive", "busy"]

    /// Everything that is wrong, the earliest first as far as it has a time.
    func violations() -> [SwitchViolation] {
        let fates = fates()
        var found = evidence.accounts.flatMap(staleCommits)
        found.sort { ($0.time?.nanoseconds ?? .max) < ($1.time?.nanoseconds ?? .max) }
        found += unreadable() + switches() + atRest()
        for account in evidence.accounts {
            found += pages(of: account) + contents(of: account) + log(of: account, fates)
        }
        found += outcomes(fates)
        return found
    }

    // MARK: - I-2

    private func staleCommits(in account: SwitchEvidence.Account) -> [SwitchViolation] {
        var found: [SwitchViolation] = []
        var newest = Generation(0)
        // Rows come with rising generations, so that each end is looked at once; where they do not,
        // the fence tells.
        var ends = endsOfSwitches(awayFrom: account.id)[...]
        for row in account.witnesses {
            ends = ends.drop { $0.generation <= row.held }
            if row.held != row.fence || row.state != "active" {
                found.append(
                    violation(
                        "I-2",
                        "helper \(row.attempt.helper) committed page \(row.page) into \(account.id)"
                            + " under generation \(row.held); in that transaction the fence said"
                            + " \(row.fence), \(row.state)",
                        row
                    )
                )
            } else if let end = ends.first, end.time < row.time {
                found.append(
                    violation(
                        "I-2",
                        "helper \(row.attempt.helper) committed page \(row.page) into \(account.id)"
                            + " under generation \(row.held) after a switch away from it had ended",
                        row
                    )
                )
            }
            if row.fence < newest {
                found.append(violation("I-2", "the fence of \(account.id) went back", row))
            }
            newest = max(newest, row.fence)
        }
        return found
    }

    /// The ends of the switches away from an account, in their order.
    private func endsOfSwitches(
        awayFrom account: AccountID
    ) -> [(generation: Generation, time: MonotonicInstant)] {
        history.entries.compactMap { entry in
            guard case .switched(account, let to) = entry.line.statement else { return nil }
            return (to.generation, entry.line.time)
        }.sorted { $0.generation < $1.generation }
    }

    // MARK: - Pages

    private func pages(of account: SwitchEvidence.Account) -> [SwitchViolation] {
        var found: [SwitchViolation] = []
        for (helper, last) in account.lastPages {
            let rows = account.witnesses.filter { $0.attempt.helper == helper }
            if rows.map(\.page) != Array(0..<last).map({ $0 + 1 }) {
                found.append(
                    SwitchViolation(
                        "I-4",
                        "the cursor of helper \(helper) in \(account.id) stands at page \(last), but"
                            + " the pages that were committed are \(Self.ranges(rows.map(\.page)))"
                    )
                )
            }
        }
        for row in account.witnesses where row.sentFor != account.id {
            found.append(
                violation("I-13", "a page for \(row.sentFor) stands in \(account.id)", row)
            )
        }
        return found
    }

    private func contents(of account: SwitchEvidence.Account) -> [SwitchViolation] {
        var found: [SwitchViolation] = []
        var expectedCount = 0
        for row in account.witnesses {
            let count = SwitchPages.messageCount(of: row.page)
            expectedCount += count
            let body = SwitchPages.body(for: account.id, row.attempt)
            for number in 1...count {
                let id = "\(row.attempt.helper)-\(row.page)-\(number)"
                guard account.bodies[id] != body else { continue }
                let present = account.bodies[id].map { "says “\($0)”" } ?? "is missing"
                found.append(
                    violation("I-3", "message \(id) of a committed page \(present)", row)
                )
            }
        }
        if account.bodies.count != expectedCount {
            found.append(
                SwitchViolation(
                    "I-3",
                    "\(account.id) has \(account.bodies.count) messages, its pages \(expectedCount)"
                )
            )
        }
        return found
    }

    private func log(
        of account: SwitchEvidence.Account,
        _ fates: [SwitchAttempt: Fate]
    ) -> [SwitchViolation] {
        var found: [SwitchViolation] = []
        for (attempt, fate) in fates {
            guard let token = fate.token, token.account == account.id, let commit = fate.commit,
                account.log[commit] != token.generation
            else { continue }
            found.append(
                SwitchViolation(
                    "I-2",
                    "attempt \(attempt) has a receipt for commit \(commit) under generation"
                        + " \(token.generation), whose row in the log says"
                        + " \(account.log[commit].map { "\($0)" } ?? "nothing")"
                )
            )
        }
        return found
    }

    // MARK: - Outcomes

    private func fates() -> [SwitchAttempt: Fate] {
        var fates: [SwitchAttempt: Fate] = [:]
        for entry in history.entries {
            switch entry.line.statement {
            case .sends(let attempt, let token, let page):
                fates[attempt] = Fate(token: token, page: page)
            case .stored(let attempt, let commit): fates[attempt]?.commit = commit
            case .refused(let attempt, let code): fates[attempt]?.refusal = code
            default: break
            }
        }
        return fates
    }

    private func outcomes(_ fates: [SwitchAttempt: Fate]) -> [SwitchViolation] {
        var rows: [SwitchAttempt: Int] = [:]
        for row in evidence.accounts.flatMap(\.witnesses) { rows[row.attempt, default: 0] += 1 }
        var found: [SwitchViolation] = []
        for (attempt, fate) in fates {
            let subject = "page \(fate.page) of attempt \(attempt)"
            let process = SwitchHistory.Process(worker: attempt.helper, life: attempt.life)
            let wasKilled = history.endings[process] == .signalled(Signal.kill.rawValue)
            switch (fate.commit, fate.refusal, rows[attempt] ?? 0) {
            case (_?, nil, 1), (nil, _?, 0): break
            case (nil, nil, ...1) where wasKilled: break
            case (nil, nil, _):
                found.append(SwitchViolation("I-6", "nobody was told what became of \(subject)"))
            case (_, _?, let count) where count > 0:
                found.append(SwitchViolation("I-3", "\(subject) was refused and is there"))
            case (_, _, let count):
                found.append(
                    SwitchViolation(
                        "I-6",
                        "\(subject) was acknowledged and is there \(count) times"
                    )
                )
            }
            if let refusal = fate.refusal, !Self.expectedRefusals.contains(refusal) {
                found.append(SwitchViolation("I-12", "\(subject) was refused as \(refusal)"))
            }
        }
        return found
    }

    private func unreadable() -> [SwitchViolation] {
        guard let (process, line) = history.unreadable else { return [] }
        return [SwitchViolation("output", "\(process) printed “\(line)”")]
    }

    // MARK: - The workspace

    private func switches() -> [SwitchViolation] {
        var found: [SwitchViolation] = []
        var taken: Set<Generation> = []
        for entry in history.entries {
            switch entry.line.statement {
            case .switched(_, let to) where !taken.insert(to.generation).inserted:
                found.append(
                    SwitchViolation("I-2", "generation \(to.generation) was given twice")
                )
            case .kept(let from, let to, let code)
            where !Self.expectedFailuresOfSwitches.contains(code):
                found.append(
                    SwitchViolation("I-12", "a switch from \(from) to \(to) failed as \(code)")
                )
            case .failed(let text):
                found.append(SwitchViolation("I-12", "\(entry.process) ended: \(text)"))
            default: break
            }
        }
        return found
    }

    private func atRest() -> [SwitchViolation] {
        let (active, problems) = (evidence.atRest.active, evidence.atRest.problems)
        var found = problems.map { SwitchViolation("I-12", "at rest \($0)") }
        for account in evidence.accounts {
            guard let failure = account.failure else { continue }
            found.append(SwitchViolation("I-12", "\(account.id) cannot be read: \(failure)"))
        }
        guard active.count != 1 else { return found }
        return [SwitchViolation("I-12", "active at rest: \(active), and not one account")] + found
    }

    private static func ranges(_ numbers: [Int]) -> String {
        var parts: [String] = []
        var start = 0
        for (index, number) in numbers.enumerated() {
            let isLast = index == numbers.count - 1 || numbers[index + 1] != number + 1
            guard isLast else { continue }
            let first = numbers[start]
            parts.append(first == number ? "\(number)" : "\(first) to \(number)")
            start = index + 1
        }
        return parts.isEmpty ? "none" : parts.joined(separator: ", ")
    }
}

/// Something that must not happen and did.
struct SwitchViolation: Sendable {
    /// Which promise it breaks.
    let invariant: String
    /// What happened, as a sentence without its end.
    let sentence: String
    /// When, where it is about a moment.
    var time: MonotonicInstant?
    /// How it came to that, one line for each thing that happened.
    var story: [String] = []

    init(_ invariant: String, _ sentence: String) {
        self.invariant = invariant
        self.sentence = sentence
    }
}

// MARK: - The story

extension SwitchJudgement {
    /// A violation by a page, with what led to it: when its helper took the token, what was done to
    /// the helper since, and what switches ended meanwhile.
    private func violation(
        _ invariant: String,
        _ sentence: String,
        _ row: SwitchWitness
    ) -> SwitchViolation {
        var violation = SwitchViolation(invariant, sentence)
        violation.time = row.time
        let process = SwitchHistory.Process(worker: row.attempt.helper, life: row.attempt.life)
        let taken = history.entries.last { entry in
            guard entry.process == process, entry.line.time <= row.time,
                case .took(let token) = entry.line.statement
            else { return false }
            return token.generation == row.held
        }
        // A switch may have begun before the helper took a token that was still good then.
        let switching = history.entries.last { entry in
            guard case .switches(row.sentFor, _) = entry.line.statement else { return false }
            return entry.line.time <= row.time
        }
        let taking = taken?.line.time ?? row.time
        let start = min(taking, switching?.line.time ?? taking)
        var told: [(time: MonotonicInstant, text: String)] = []
        for entry in history.entries where entry.line.time >= start {
            if let text = text(of: entry, by: process, about: row) {
                told.append((entry.line.time, text))
            }
        }
        for intervention in history.interventions
        where intervention.process == process && intervention.time >= start
            && intervention.time <= row.time
        {
            told.append((intervention.time, "\(process) was \(intervention.what)"))
        }
        told.append(
            (row.time, "its transaction ended, in which the fence said \(row.fence), \(row.state)")
        )
        violation.story = told.sorted { $0.time < $1.time }.map { time, text in
            "\(Self.milliseconds(time.duration(since: start))) ms  \(text)"
        }
        return violation
    }

    private func text(
        of entry: SwitchHistory.Entry,
        by process: SwitchHistory.Process,
        about row: SwitchWitness
    ) -> String? {
        let isBefore = entry.line.time <= row.time
        switch entry.line.statement {
        case .took(let token) where entry.process == process && isBefore:
            return "\(process) took \(token)"
        case .sends(row.attempt, _, let page): return "it handed page \(page) to the store"
        case .stops(row.attempt, let place):
            return "it was stopped \(place.rawValue) its transaction"
        case .stored(row.attempt, let commit): return "it has a receipt for commit \(commit)"
        case .refused(row.attempt, let code): return "it was refused as \(code)"
        case .switches(let from, let to)
        where isBefore && (from == row.sentFor || to == row.sentFor):
            return "\(entry.process) began to switch from \(from) to \(to)"
        case .switched(let from, let to)
        where isBefore && (from == row.sentFor || to.account == row.sentFor):
            return "\(entry.process) had switched from \(from) to \(to)"
        default: return nil
        }
    }

    private static func milliseconds(_ duration: Duration) -> String {
        let tenths = duration.wholeNanoseconds / 100_000
        let text = "\(tenths / 10).\(tenths % 10)"
        return String(repeating: " ", count: max(0, 8 - text.count)) + text
    }
}

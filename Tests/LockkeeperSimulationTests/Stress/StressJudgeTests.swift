import LockkeeperDomain
import LockkeeperPlatform
import Testing

@testable import LockkeeperSimulation

/// What the judge of a stress run is given: a run in which everything went well, and the same with one
/// thing wrong. A judge that finds nothing in those is worth nothing.
@Suite("The judge of a stress run can fail")
struct StressJudgeTests {
    private static let account = "account-0"
    private static let ingest = StressProcess(.ingest, worker: 1, life: 1)
    private static let deliver = StressProcess(.deliver, worker: 2, life: 1)
    private static let settings = StressProcess(.settings, worker: 3, life: 1)
    private static let outbox = StressProcess(.outbox, worker: 4, life: 1)
    private static let effects = StressProcess(.effects, worker: 5, life: 1)
    private static let tail = StressProcess(.tail, worker: 6, life: 1)
    private static let read = StressProcess(.read, worker: 7, life: 1)
    private static let snapshot = StressProcess(.snapshot, worker: 8, life: 1)

    /// A run, open to changes.
    struct Run {
        var histories: [StressProcess: [StressEntry]] = [:]
        var endings: [StressProcess: LockkeeperPlatform.ExitStatus] = [:]
        var account = StressEvidence.Account(id: StressJudgeTests.account)
        var evidence = StressEvidence()
        var marks: [StressMark] = []
        var stragglers: [String] = []

        /// Adds a question with its answer.
        mutating func exchange(
            _ process: StressProcess,
            _ act: StressAct,
            _ id: String,
            at time: Int64,
            _ word: StressEntry.Word = .answered,
            _ fill: (inout StressEntry) -> Void = { _ in }
        ) {
            var asked = StressEntry(time: time, .asks, act, id: id)
            asked.account = StressJudgeTests.account
            fill(&asked)
            var answer = asked
            (answer.word, answer.time) = (word, time + 5)
            asked.commit = nil
            histories[process, default: []] += [asked, answer]
        }

        /// Changes an entry of a process.
        mutating func change(
            _ process: StressProcess,
            _ word: StressEntry.Word,
            _ act: StressAct,
            _ change: (inout StressEntry) -> Void
        ) {
            let index = histories[process]?.firstIndex { $0.word == word && $0.act == act }
            guard let index, var entry = histories[process]?[index] else {
                Issue.record("\(process) says nothing of \(act)")
                return
            }
            change(&entry)
            histories[process]?[index] = entry
        }

        /// Takes away what a process was told.
        mutating func forget(
            _ process: StressProcess,
            _ word: StressEntry.Word,
            _ act: StressAct
        ) {
            let index = histories[process]?.firstIndex { $0.word == word && $0.act == act }
            if let index { histories[process]?.remove(at: index) }
        }

        var violations: [StressViolation] {
            var evidence = evidence
            evidence.accounts = [account]
            let outcome = StressOutcome(
                plan: StressPlan(seed: 1, duration: .seconds(1), faults: [.kill]),
                histories: histories.keys.sorted().map {
                    StressHistory($0, histories[$0] ?? [], ending: endings[$0] ?? .exited(0))
                },
                evidence: evidence,
                marks: marks,
                stragglers: stragglers
            )
            return StressJudge(outcome).violations()
        }
    }

    /// A run in which everything went well.
    private static let sound: Run = {
        var run = Run()
        run.evidence.active = [account]
        pages(&run)
        let packet = SwitchAttempt(helper: 2, life: 1, number: 1)
        run.exchange(deliver, .packet, "\(packet)", at: 200) {
            ($0.commit, $0.text) = (12, "stored")
        }
        for number in 1...StressContent.messageCount(of: packet) {
            let id = StressContent.messageID(packet, number)
            run.account.bodies[id] = StressContent.body(packet, for: account)
            run.exchange(effects, .show, id, at: 220 + Int64(number) * 10) {
                ($0.number, $0.text) = (1, "notify notify-\(id)")
            }
        }
        run.exchange(settings, .add, "3.1.1", at: 300)
        run.account.counter = 1
        run.exchange(outbox, .send, "c-4.1.1", at: 400)
        run.exchange(outbox, .tell, "c-4.1.1", at: 410) { $0.number = 1 }
        run.account.sent["c-4.1.1"] = ["srv-c-4.1.1"]
        run.exchange(read, .read, "7.1.1", at: 500) { ($0.number, $0.text) = (9, "everybody") }
        run.account.read["everybody"] = 9
        follow(&run)
        return run
    }()

    private static func pages(_ run: inout Run) {
        run.account.lastPages = [1: 2]
        for page in 1...2 {
            let attempt = SwitchAttempt(helper: 1, life: 1, number: page)
            run.exchange(ingest, .page, "\(attempt)", at: Int64(page) * 10) {
                ($0.number, $0.generation, $0.commit) = (Int64(page), 3, Int64(page) + 9)
            }
            run.account.witnesses.append(witness(attempt, page))
            for number in 1...SwitchPages.messageCount(of: page) {
                run.account.bodies["1-\(page)-\(number)"] = "\(account) \(attempt)"
            }
        }
        run.exchange(ingest, .again, "1.1.2", at: 40) { ($0.number, $0.other) = (2, 0) }
        run.account.log = [
            commit(10, at: 11, ingest), commit(11, at: 21, ingest), commit(12, at: 201, deliver),
        ]
    }

    private static func follow(_ run: inout Run) {
        var start = StressEntry(time: 1, .asks, .follow)
        (start.account, start.commit, start.text) = (account, 9, "s")
        var first = StressEntry(time: 2, .saw, .follow)
        first.account = account
        (first.number, first.commit, first.other, first.to) = (10, 11, 9, 11)
        var second = first
        (second.number, second.commit, second.other, second.to) = (12, 12, 11, 12)
        run.histories[tail] = [start, first, second]
        var early = StressEntry(time: 3, .saw, .snapshot)
        (early.account, early.commit, early.other) = (account, 10, 10)
        early.text = "worker-1=1"
        var late = early
        (late.time, late.commit, late.other, late.text) = (4, 12, 12, "worker-1=2")
        run.histories[snapshot] = [early, late]
    }

    private static func witness(
        _ attempt: SwitchAttempt,
        _ page: Int,
        fence: Int64 = 3,
        state: String = "active"
    ) -> SwitchWitness {
        SwitchWitness(
            place: Int64(page),
            account: AccountID(unchecked: Array(account.utf8)),
            sentFor: AccountID(unchecked: Array(account.utf8)),
            attempt: attempt,
            page: page,
            held: Generation(3),
            fence: Generation(fence),
            state: state,
            time: MonotonicInstant(nanoseconds: Int64(page) * 1000)
        )
    }

    private static func commit(
        _ number: Int64,
        at time: Int64,
        _ process: StressProcess,
        generation: Int64 = 3
    ) -> StressEvidence.Commit {
        StressEvidence.Commit(
            number: number,
            generation: generation,
            time: time,
            origin: "\(process)"
        )
    }

    @Test("a run in which everything went well breaks no promise")
    func soundRun() { #expect(Self.sound.violations == []) }

    /// One thing that is wrong, what it breaks and what is said of it.
    struct Fault: Sendable, CustomTestStringConvertible {
        let invariant: String
        let words: String
        let make: @Sendable (inout Run) -> Void

        var testDescription: String { "\(invariant): \(words)" }
    }

    @Test("one thing that is wrong is told", arguments: contents + order + others)
    func faults(_ fault: Fault) {
        var run = Self.sound
        fault.make(&run)
        let found = run.violations
        let isTold = found.contains {
            $0.invariant == fault.invariant && $0.sentence.contains(fault.words)
        }
        #expect(isTold, "\(found)")
    }

    private static let contents: [Fault] = [
        Fault(invariant: "I-2", words: "in that transaction the fence said 4, active") {
            let attempt = SwitchAttempt(helper: 1, life: 1, number: 2)
            $0.account.witnesses[1] = witness(attempt, 2, fence: 4)
        },
        Fault(invariant: "I-2", words: "the fence said 3, retired") {
            let attempt = SwitchAttempt(helper: 1, life: 1, number: 2)
            $0.account.witnesses[1] = witness(attempt, 2, state: "retired")
        },
        Fault(invariant: "I-6", words: "was acknowledged and is in account-0 0 times") {
            $0.account.witnesses.removeLast()
        },
        Fault(invariant: "I-6", words: "is in account-0 2 times") {
            $0.account.witnesses.append($0.account.witnesses[1])
        },
        Fault(invariant: "I-3", words: "was refused and is in account-0 1 times") {
            $0.change(ingest, .answered, .page) { ($0.word, $0.text) = (.refused, "busy now") }
        },
        Fault(invariant: "I-3", words: "message 1-2-1 of a committed page of account-0 is missing")
        {
            $0.account.bodies["1-2-1"] = nil
        },
        Fault(invariant: "I-3", words: "says “other”") { $0.account.bodies["1-2-1"] = "other" },
        Fault(invariant: "I-3", words: "nobody stored attempt 1.9.9") {
            let attempt = SwitchAttempt(helper: 1, life: 9, number: 9)
            $0.account.witnesses.append(witness(attempt, 3))
            $0.account.lastPages = [1: 3]
        },
        Fault(invariant: "I-4", words: "stands at page 3") { $0.account.lastPages = [1: 3] },
        Fault(invariant: "I-5", words: "was new for 1 events") {
            $0.change(ingest, .answered, .again) { $0.other = 1 }
        },
        Fault(invariant: "I-6", words: "was acknowledged for account-0 and is not there") {
            $0.account.bodies["p-2.1.1-1"] = nil
        },
        Fault(invariant: "I-3", words: "nobody delivered message p-2.1.7-1") {
            $0.account.bodies["p-2.1.7-1"] = "x"
        },
        Fault(invariant: "I-6", words: "says 0, where 1 additions") { $0.account.counter = 0 },
        Fault(invariant: "I-3", words: "says 2, where 1 additions") { $0.account.counter = 2 },
        Fault(invariant: "I-6", words: "is neither sent nor waiting") { $0.account.sent = [:] },
        Fault(invariant: "M-10", words: "is 2 messages") {
            $0.account.sent["c-4.1.1"] = ["srv-c-4.1.1", "srv-other"]
        },
        Fault(invariant: "M-10", words: "and still waits") { $0.account.pending = ["c-4.1.1"] },
        Fault(invariant: "M-10", words: "was told to the server by two processes") {
            let other = StressProcess(.outbox, worker: 4, life: 2)
            $0.exchange(other, .tell, "c-4.1.1", at: 450) { $0.number = 1 }
        },
        Fault(invariant: "I-6", words: "everybody of account-0 stands at 8") {
            $0.account.read["everybody"] = 8
        },
    ]

    private static let order: [Fault] = [
        Fault(invariant: "I-1", words: "before the one before it") {
            $0.account.log[1] = commit(11, at: 3, ingest)
        },
        Fault(invariant: "I-2", words: "is of generation 2, the one before of 3") {
            $0.account.log[2] = commit(12, at: 201, deliver, generation: 2)
        },
        Fault(invariant: "I-8", words: "commit 10 of account-0 was given to two transactions") {
            $0.histories[ingest]?[3].commit = 10
        },
        Fault(invariant: "I-8", words: "is deliver-2.1's under 3") {
            $0.account.log[1] = commit(11, at: 21, deliver)
        },
        Fault(invariant: "I-6", words: "has a receipt, is not there") {
            $0.account.log.remove(at: 1)
        },
        Fault(invariant: "I-7", words: "never heard of commit 10") {
            $0.change(tail, .saw, .follow) { $0.number = 11 }
        },
        Fault(invariant: "I-7", words: "behind 10 and stood at 9") {
            $0.change(tail, .saw, .follow) { $0.other = 10 }
        },
        Fault(invariant: "I-7", words: "heard of commit 13, which there is not") {
            $0.histories[tail]?[2].commit = 13
        },
        Fault(invariant: "I-7", words: "when the newest one was 10") {
            $0.change(tail, .saw, .follow) { $0.to = 10 }
        },
        Fault(invariant: "I-7", words: "went on after 10 and had written down 12") {
            var start = StressEntry(time: 9, .asks, .follow)
            (start.account, start.commit) = (account, 10)
            $0.histories[StressProcess(.tail, worker: 6, life: 2)] = [start]
        },
        Fault(invariant: "I-13", words: "a snapshot changed") {
            $0.change(snapshot, .saw, .snapshot) { $0.other = 11 }
        },
        Fault(invariant: "I-4", words: "worker-1 of account-0 went back to 1") {
            $0.histories[snapshot]?[0].text = "worker-1=3"
            $0.histories[snapshot]?[1].text = "worker-1=1"
        },
        Fault(invariant: "M-11", words: "nobody is told of p-2.1.1-1") {
            $0.histories[effects] = nil
        },
        Fault(invariant: "M-11", words: "again after that was confirmed") {
            $0.exchange(effects, .show, "p-2.1.1-1", at: 900) {
                ($0.number, $0.text) = (2, "notify notify-p-2.1.1-1")
            }
        },
        Fault(invariant: "M-11", words: "has the keys") {
            $0.change(effects, .asks, .show) { $0.text = "notify other" }
            $0.exchange(effects, .show, "p-2.1.1-1", at: 221) {
                ($0.number, $0.text) = (2, "notify another")
            }
        },
        Fault(invariant: "M-11", words: "which was read before it came") {
            $0.exchange(read, .read, "7.1.2", at: 100) {
                ($0.number, $0.text) = (1 << 30, "packets-2")
            }
            $0.account.read["packets-2"] = 1 << 30
        },
    ]

    private static let others: [Fault] = [
        Fault(invariant: "I-6", words: "was alive and was never told") {
            $0.forget(settings, .answered, .add)
        },
        Fault(invariant: "I-12", words: "was refused as statement, which nothing explains") {
            $0.exchange(read, .read, "7.1.3", at: 600, .refused) { $0.text = "statement x" }
        },
        Fault(invariant: "I-7", words: "was refused as resync") {
            $0.exchange(tail, .claim, "", at: 600, .refused) { $0.text = "resync x" }
        },
        Fault(invariant: "I-12", words: "ingest-1.1 ended: was ended by signal 6") {
            $0.endings[ingest] = .signalled(6)
        },
        Fault(invariant: "I-12", words: "ingest-1.1 failed") {
            $0.histories[ingest]?.append(StressEntry(time: 700, .failed))
        },
        Fault(invariant: "I-16", words: "unread counter") {
            $0.evidence.problems = ["a: the unread counter differs from its recount"]
        },
        Fault(invariant: "I-2", words: "active at rest") { $0.evidence.active = ["a", "b"] },
        Fault(invariant: "liveness", words: "packets of account-0 are still kept") {
            $0.account.keptPackets = 2
        },
        Fault(invariant: "I-12", words: "left behind: a file") {
            $0.evidence.leftBehind = ["a file"]
        },
        Fault(invariant: "liveness", words: "did not come to its end") {
            $0.stragglers = ["tail-6.1 did not come to its end"]
        },
    ]

    @Test("who was killed may have been told nothing, and what he asked may be there or not")
    func killed() {
        for isThere in [true, false] {
            var run = Self.sound
            run.forget(Self.settings, .answered, .add)
            run.endings[Self.settings] = .signalled(9)
            run.marks = [StressMark(time: 300, process: Self.settings, what: "killed")]
            run.account.counter = isThere ? 1 : 0
            #expect(run.violations == [])
        }
    }

    @Test(
        "a verdict says the promise, the lines that prove it and the command that repeats the run"
    )
    func report() {
        var run = Self.sound
        run.account.counter = 0
        var evidence = run.evidence
        evidence.accounts = [run.account]
        let outcome = StressOutcome(
            plan: StressPlan(seed: 1, duration: .seconds(1), faults: [.kill]),
            histories: run.histories.keys.sorted().map {
                StressHistory($0, run.histories[$0] ?? [], ending: .exited(0))
            },
            evidence: evidence
        )
        let report = StressReport(outcome, command: "lockkeeper stress --seed 1")
        let text = report.lines.joined(separator: "\n")
        #expect(!report.isClean)
        #expect(text.contains("broken: I-6: the setting of account-0 says 0"))
        #expect(
            text.contains(#"    settings-3.1: {"t":300,"word":"asks","act":"add","id":"3.1.1""#)
        )
        #expect(text.hasSuffix("A promise was broken. Again: lockkeeper stress --seed 1"))
    }
}

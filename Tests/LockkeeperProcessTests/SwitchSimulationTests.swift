import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation
import Testing

/// `lockkeeper simulate switch`: real processes under stops, kills, races and clock steps, judged by
/// what stands in the databases (I-2, I-3, I-4, I-12, I-13; the lock half of B109, since the time of
/// day of each process steps by up to 400 days).
@Suite("The simulation of the switch", .serialized)
struct SwitchSimulationTests {
    @Test("a run finds nothing, and switches, stops and kills have happened in it")
    func clean() async throws {
        let seed = UInt64.random(in: 0...UInt64(UInt32.max))
        print("seed=\(seed)")
        let seconds = Environment.variable("LOCKKEEPER_TEST_ALL") == nil ? 3 : 20
        let result = try await CommandRunner.run([
            "simulate", "switch", "--seed", "\(seed)", "--duration", "\(seconds)", "--json",
        ])
        #expect(result.status == .exited(0), "seed=\(seed) \(result.lines) \(result.errorText)")
        #expect(result.errors.first == "seed \(seed)")
        let report = try PrintedObject(try #require(result.lines.last))
        for count in ["switches", "pages_stored", "pages_refused", "kills", "stops"] {
            #expect(try #require(report.int(count)) > 0, "seed=\(seed) \(count)")
        }
    }

    // A judgement that finds nothing in a defective program is worth nothing. The schedule is the
    // same each time: it stops helpers between their token and their transaction.
    @Test(
        "a helper that compares no fence is caught, and the story says how",
        arguments: [
            SwitchDefect.skipFenceCheck, .checkFenceOutsideTransaction,
        ]
    )
    func defect(_ defect: SwitchDefect) async throws {
        // A schedule is repeated, what the processor makes of it is not: where no helper came into
        // the way of a switch, another schedule brings one there.
        var result = try await run(defect, seed: 2)
        for seed in 3..<8 where result.status == .exited(0) {
            result = try await run(defect, seed: seed)
        }
        #expect(result.status == .exited(1), "\(result.lines) \(result.errorText)")
        let text = result.lines.joined(separator: "\n")
        #expect(text.contains("broken: I-2: helper"), "\(text)")
        #expect(text.contains("began to switch from"), "\(text)")
        #expect(text.contains("its transaction ended, in which the fence said"), "\(text)")
    }

    private func run(_ defect: SwitchDefect, seed: Int) async throws -> CommandRunner.Result {
        try await CommandRunner.run([
            "simulate", "switch", "--seed", String(seed), "--duration", "1", "--helpers", "2",
            "--inject-bug", defect.rawValue,
        ])
    }

    @Test("a seed repeats the schedule, and another one makes another")
    func schedule() {
        let plan = SwitchPlan(seed: 7, duration: .seconds(20))
        #expect(plan.steps == SwitchPlan(seed: 7, duration: .seconds(20)).steps)
        #expect(plan.steps != SwitchPlan(seed: 8, duration: .seconds(20)).steps)
        // Every kind of step is drawn.
        let kinds = Set(plan.steps.map { "\($0.action)".prefix { $0 != "(" } })
        #expect(kinds.count == 8, "\(kinds)")
    }

    @Test("lines and orders of workers survive being written and read")
    func lines() throws {
        let attempt = SwitchAttempt(helper: 2, life: 3, number: 4)
        let token = FencingToken(account: SwitchPlan.account(1), generation: Generation(9))
        let account = SwitchPlan.account(0)
        let statements: [SwitchLine.Statement] = [
            .took(token), .sends(attempt, token, page: 5), .stops(attempt, .inside),
            .stored(attempt, commit: 1 << 40), .refused(attempt, code: "superseded"),
            .switches(from: account, to: token.account), .switched(from: account, to: token),
            .kept(from: account, to: token.account, code: "busy"), .stands(change: 3),
            .failed("it ended"),
        ]
        for statement in statements {
            let line = SwitchLine(time: MonotonicInstant(nanoseconds: 17), statement)
            #expect(SwitchLine(Array(line.text.utf8)) == line)
        }
        for line in ["", "17", "x took a 1", "17 took a", "17 sends 1.2 a 1 1", "17 danced a b"] {
            #expect(SwitchLine(Array(line.utf8)) == nil, "\(line)")
        }
        for order in [
            SwitchOrder.makeSwitch(offset: 2), .stop(.before), .stand(change: 3),
            .stepClock(milliseconds: -5),
        ] {
            #expect(SwitchOrder(String(decoding: order.line.dropLast(), as: UTF8.self)) == order)
        }
    }
}

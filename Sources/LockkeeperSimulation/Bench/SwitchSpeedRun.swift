import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform

/// Measures how long a switch to another account takes while helpers are attached to the one that is
/// left, beside one durable commit in plain C. The caller's thread may block.
package struct SwitchSpeedRun: Sendable {
    private let helperCount: Int
    private let switchCount: Int
    private let repeatCount: Int
    private let site: BenchSite
    private let clock = SystemClock()

    /// The account that is switched to and back from.
    private static let other: AccountID = "other"

    /// A run that has not begun.
    ///
    /// - Parameters:
    ///   - helperCount: helpers that have a session of the account that is left, each with a workspace
    ///     of its own, as a process has.
    ///   - switchCount: switches there, and as many back, of each measurement.
    ///   - repeatCount: how often each side is measured, in turn.
    package init(helperCount: Int, switchCount: Int, repeatCount: Int, at site: BenchSite) {
        precondition(
            helperCount > 0 && switchCount > 0 && repeatCount > 0,
            "something is measured"
        )
        self.helperCount = helperCount
        self.switchCount = switchCount
        self.repeatCount = repeatCount
        self.site = site
    }

    /// Measures.
    ///
    /// - Throws: ``SimulationError/notRefused(account:)`` where a helper's session outlives the switch; what the stores
    ///   throw.
    package func run() async throws -> BenchReport {
        let (inC, own, refused) = try await site.withFolder("switch") { folder in
            try BaselineWriter.create(BenchWorker.baselinePath(in: folder), vfs: nil)
            try await BenchWorker.makeAccount(in: folder)
            let workspace = try await BenchWorker.open(folder, name: "app")
            try await workspace.addAccount(Self.other)
            var helpers: [Workspace] = []
            for number in 0..<helperCount {
                helpers.append(try await BenchWorker.open(folder, name: "helper-\(number)"))
            }
            var rounds: (inC: [BenchDelays], own: [BenchDelays], refused: [BenchDelays])
            rounds = ([], [], [])
            for round in 0..<repeatCount {
                // The one that goes first does not always go first.
                let isFirst = round.isMultiple(of: 2)
                if isFirst { rounds.inC.append(try commitInC(folder, round)) }
                let (own, refused) = try await measure(workspace, helpers)
                rounds.own.append(own)
                rounds.refused.append(refused)
                if !isFirst { rounds.inC.append(try commitInC(folder, round)) }
                site.note("in C \(rounds.inC[round].sentence); a switch \(own.sentence)")
            }
            for helper in helpers { await helper.close() }
            await workspace.close()
            return rounds
        }
        return BenchReport(
            "switch",
            "\(2 * switchCount) switches, \(helperCount) helpers, \(repeatCount) rounds, beside one"
                + " durable commit in C",
            BenchDelays.figures("a switch", own, against: inC)
                + BenchDelays.figures("a helper's next write, refused", refused, against: inC)
        )
    }

    /// How long switches take, and the next write of helpers whose account was left.
    private func measure(
        _ workspace: Workspace,
        _ helpers: [Workspace]
    ) async throws -> (own: BenchDelays, refused: BenchDelays) {
        var (own, refused): ([Duration], [Duration]) = ([], [])
        for _ in 0..<switchCount {
            for (left, next) in [
                (BenchWorker.account, Self.other), (Self.other, BenchWorker.account),
            ] {
                var sessions: [Session] = []
                for helper in helpers { sessions.append(try await helper.session(left)) }
                let start = clock.now()
                try await workspace.replaceAccount(left, with: next)
                own.append(clock.now().duration(since: start))
                for session in sessions { refused.append(try await refusal(of: session)) }
            }
        }
        return (BenchDelays(own), BenchDelays(refused))
    }

    /// How long it takes to refuse a write of a session that a switch has ended.
    private func refusal(of session: Session) async throws -> Duration {
        let store = try MessageStore(session)
        var messages = BenchMessages(number: 0)
        let start = clock.now()
        do {
            try await store.ingest(messages.next(1))
        } catch is LockkeeperError {
            return clock.now().duration(since: start)
        }
        throw SimulationError.notRefused(account: "\(session.account.id)")
    }

    /// How long durable commits of one message take in plain C.
    private func commitInC(_ folder: String, _ round: Int) throws -> BenchDelays {
        let writer = try BaselineWriter(
            BenchWorker.baselinePath(in: folder),
            vfs: nil,
            number: round,
            busyTimeout: .seconds(5)
        )
        var times: [Duration] = []
        for _ in 0..<2 * switchCount {
            let start = clock.now()
            _ = try writer.write(count: 1, holding: .zero)
            times.append(clock.now().duration(since: start))
        }
        return BenchDelays(times)
    }
}

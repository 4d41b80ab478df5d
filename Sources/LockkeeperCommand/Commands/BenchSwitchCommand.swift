import LockkeeperDomain
import LockkeeperSimulation

/// `bench switch`: a switch to another account while helpers are attached.
struct BenchSwitchCommand: BenchCommand {
    static let name = "bench switch"
    static let summary = "measure a switch to another account while helpers are attached"
    static let details = """
        Switches between two accounts, there and back, while helpers have sessions of the one that is
        left, and lets each helper write once more, which is refused. Beside it, in turn, a durable
        commit of one message in plain C: how many of those a switch costs. A switch makes its steps
        durable one after the other, in the registry and in both accounts.

          lockkeeper bench switch --helpers 4 --json
        """
    static let scenarioOptions: [OptionSpecification] = [
        .value("helpers", "N", "helpers that are attached [4]"),
        .value("switches", "N", "switches there, and as many back, in each measurement [50]"),
        .value("repeat", "N", "how often each side is measured [5]"),
    ]

    private let helperCount: Int
    private let switchCount: Int
    private let repeatCount: Int
    let reportPath: String?

    init(_ arguments: inout Arguments) throws(UsageError) {
        reportPath = arguments.value("report")
        helperCount = try arguments.integer("helpers", in: 1...64) ?? 4
        switchCount = try arguments.integer("switches", in: 1...10_000) ?? 50
        repeatCount = try arguments.integer("repeat", in: 1...100) ?? 5
    }

    func measure(at site: BenchSite) async throws -> BenchReport {
        try await SwitchSpeedRun(
            helperCount: helperCount,
            switchCount: switchCount,
            repeatCount: repeatCount,
            at: site
        ).run()
    }
}

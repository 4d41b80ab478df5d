import LockkeeperMessages

/// `quarantine accept`: merges what was put aside although the rules refuse it.
struct QuarantineAcceptCommand: Command {
    static let name = "quarantine accept"
    static let usage = "NUMBER [options]"
    static let summary = "merge what was put aside although the rules refuse it"
    static let details = """
        Merges an item although the rules refuse it, because a person decided so: a message on a taken
        seq is shown beside the other one, an edit or recall by somebody else is done, a value that
        lost a conflict takes the other one's place, which is put aside for it. It stays so whatever the
        server repeats, until a newer version comes. It is an act on this device; others are not told.
        Prints what became of it. Lines that are no event, events of unknown types and pages that
        contradict others cannot be accepted: exit 64, and they stay where they are.

          lockkeeper quarantine accept 3 --account alice
        """

    private let number: Int64

    init(_ arguments: inout Arguments) throws(UsageError) {
        number = try arguments.positionalInteger("NUMBER", in: 1...Int64.max)
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        let outcome = try await context.settling(number) { try await $0.acceptQuarantined(number) }
        return outcome == .quarantined ? .found : .success
    }
}

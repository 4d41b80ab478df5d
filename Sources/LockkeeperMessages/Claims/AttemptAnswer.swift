/// What became of an attempt, as far as it is not done: the same for items of the outbox and effects.
enum AttemptAnswer: Sendable {
    /// It was not done, and is tried again after a while that grows, or that the server asked for.
    case failed(String, retryAfter: Duration?)
    /// It can never be done.
    case refused(String)
    /// Nobody knows; why, where somebody can say. Whether it is tried again is the claim's to say.
    case unanswered(String?, repeats: Bool)
    /// It was not made, and does not count.
    case notMade

    /// Writes it down.
    ///
    /// - Returns: whether anything changed: an answer to an attempt that was overtaken says nothing.
    func settle(
        _ state: inout AttemptState,
        _ attempt: Int64,
        at now: Moment,
        rules: AttemptState.Rules
    ) -> Bool {
        var generator = SystemRandomNumberGenerator()
        return switch self {
        case .failed(let reason, let retryAfter):
            state.fail(
                attempt,
                because: reason,
                retryAfter: retryAfter,
                at: now,
                rules: rules,
                using: &generator
            )
        case .refused(let reason): state.park(attempt, because: reason)
        case .unanswered(let reason, let repeats):
            state.unanswered(
                attempt,
                because: reason,
                at: now,
                repeats: repeats,
                rules: rules,
                using: &generator
            )
        case .notMade: state.giveBack(attempt)
        }
    }
}

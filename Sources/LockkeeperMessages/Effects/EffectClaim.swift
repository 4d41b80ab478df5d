package import Lockkeeper

/// An effect that this process, and no other, acts on now.
///
/// As with an ``OutboxClaim``, one that goes away without an answer leaves the effect to be handed out
/// again: at least once, with the same ``Effect/key``.
public struct EffectClaim: ~Copyable, Sendable {
    /// What is to be done.
    public let effect: Effect
    private let store: MessageStore
    /// The lock, for a program that acts in this process's place.
    package let hold: HeldClaim

    init(_ effect: Effect, store: MessageStore, hold: HeldClaim) {
        self.effect = effect
        self.store = store
        self.hold = hold
    }

    deinit { hold.release() }

    /// Whether it was handed out before, so that it may have been done already.
    public var isRepeated: Bool { effect.attempt > 1 }

    /// It was done. A notify whose message was read or recalled meanwhile is followed by its withdraw.
    public consuming func confirm() async throws {
        try await store.finish(effect)
    }

    /// It could not be done; it is handed out again after a while that grows, and parked when it has
    /// failed too often.
    public consuming func fail(because reason: String, retryAfter: Duration? = nil) async throws {
        try await store.settle(effect, .failed(reason, retryAfter: retryAfter))
    }

    /// It can never be done; it is parked.
    public consuming func park(because reason: String) async throws {
        try await store.settle(effect, .refused(reason))
    }

    /// Nobody knows whether it was done; it is handed out again after a while.
    ///
    /// - Parameter reason: why, for people.
    public consuming func leaveUnanswered(because reason: String? = nil) async throws {
        try await store.settle(effect, .unanswered(reason, repeats: true))
    }

    /// Nothing was done, and nothing is counted.
    public consuming func giveBack() async throws {
        try await store.settle(effect, .notMade)
    }
}

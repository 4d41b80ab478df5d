import Synchronization

/// Something that is said once, whichever thread says it.
final class Flag: Sendable {
    private let value = Atomic(false)

    /// Whether it was said.
    var isRaised: Bool { value.load(ordering: .acquiring) }

    /// Says it.
    ///
    /// - Returns: whether it was raised before.
    func raise() -> Bool { value.exchange(true, ordering: .acquiringAndReleasing) }
}

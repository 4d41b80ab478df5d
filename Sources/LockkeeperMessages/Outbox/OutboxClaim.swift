package import Lockkeeper
import LockkeeperDomain

/// An item of the outbox that this process, and no other, tells the server now.
///
/// It lives as long as the attempt: as long as it does nobody else claims the item or one behind it in
/// its conversation, and it ends with the process. It says what became of the attempt exactly once;
/// one that goes away without an answer leaves an attempt of unknown outcome behind, as a process that
/// died does.
public struct OutboxClaim: ~Copyable, Sendable {
    /// What is to be told.
    public let item: OutboxItem
    private let store: MessageStore
    /// The lock, for a program that acts in this process's place.
    package let hold: HeldClaim

    init(_ item: OutboxItem, store: MessageStore, hold: HeldClaim) {
        self.item = item
        self.store = store
        self.hold = hold
    }

    deinit { hold.release() }

    /// Whether an attempt was made before, so that the server may know it already.
    public var isRepeated: Bool { item.attempt > 1 }

    /// The server has it.
    ///
    /// A message is written at version 0 under the id that the server gave it, so that the next full
    /// version replaces it (M-4), and its item ends. Where an echo was first, this adds nothing. Where
    /// the database cannot take it, the confirmation is kept as a packet, as `Workspace.deliver` does.
    ///
    /// A confirmation that cannot be true, because its id or place is another message's, changes no
    /// message: the item stays, of unknown outcome, and its reason names the contradiction. So does one
    /// of a change that names another message or place than the change is about, or a version behind which
    /// there would be no room for later ones.
    ///
    /// - Parameters:
    ///   - id: the message's id on the server; of an item that is no message it is not needed, and is that
    ///     of the message which the item is about.
    ///   - sequence: its place, where the server says it.
    ///   - serverAt: when the server took it, where it says so.
    ///   - version: of an edit or a reaction, at which version the server has it, where it says so. Else
    ///     it stands at the version at which it was handed out, and gives way to whatever the server says
    ///     at that version or a newer one.
    /// - Throws: ``LockkeeperError`` — `invalidInput` where a message has no id or an impossible place,
    ///   or an edit an impossible version; otherwise as for writing. The attempt then has no answer.
    @discardableResult
    public consuming func confirm(
        as id: MessageID? = nil,
        sequence: Int64? = nil,
        serverAt: Timestamp? = nil,
        version: Int64? = nil
    ) async throws -> Confirmation {
        guard case .message(var message) = item.event else {
            if let version, version < item.act.versionMin {
                throw LockkeeperError.unusable(
                    "the confirmation of item \(item.id)",
                    "names version \(version), which it cannot have",
                    remedy: "Say at which version the server has it, or nothing."
                )
            }
            return try await store.finish(item, as: id, sequence: sequence, version: version)
        }
        guard let id else {
            throw LockkeeperError.unusable(
                "the confirmation of a message",
                "names no id",
                remedy: "Say under which id the server has the message."
            )
        }
        message.id = id
        message.sequence = sequence
        message.serverAt = serverAt
        return try await store.confirm(message, attempt: item.attempt)
    }

    /// What a confirmation came to.
    public enum Confirmation: Sendable, Hashable {
        /// The item has ended.
        case taken
        /// It cannot be true, for the reason that is given. The item stays.
        case contradicted(String)
        /// The item has ended, and people see something else than it says, for the reason that is given:
        /// the server has told of it, and it is as new or newer.
        case overtaken(String)
    }

    /// The attempt failed and the server does not have it. It is tried again after a while that grows,
    /// and parked when it has failed too often. What stands behind it in its conversation waits.
    ///
    /// - Parameters:
    ///   - reason: why, for people.
    ///   - retryAfter: for how long the server asked to be left alone.
    public consuming func fail(because reason: String, retryAfter: Duration? = nil) async throws {
        try await store.settle(item, .failed(reason, retryAfter: retryAfter))
    }

    /// The server refuses it for good. It is parked until a person decides, and what stands behind it
    /// goes on.
    public consuming func park(because reason: String) async throws {
        try await store.settle(item, .refused(reason))
    }

    /// Nobody knows whether the server has it. It is repeated only where that does no harm.
    ///
    /// - Parameter reason: why, for people.
    public consuming func leaveUnanswered(because reason: String? = nil) async throws {
        try await store.settle(item, .unanswered(reason, repeats: store.repeats(item.act)))
    }

    /// Whoever was to tell the server says that it could not be started. Nobody can check that: the attempt
    /// counts for nothing where a repetition does no harm, else its outcome is unknown.
    ///
    /// - Parameter reason: why, for people.
    package consuming func leaveUnstarted(because reason: String) async throws {
        let answer: AttemptAnswer =
            store.repeats(item.act) ? .notMade : .unanswered(reason, repeats: false)
        try await store.settle(item, answer)
    }

    /// The attempt was not made: there is no network, or the process is about to end. Nothing is
    /// counted.
    public consuming func giveBack() async throws {
        try await store.settle(item, .notMade)
    }
}

extension LockkeeperError {
    /// An argument that cannot be used.
    static func unusable(
        _ subject: String,
        _ explanation: String,
        remedy: String
    ) -> LockkeeperError {
        LockkeeperError(
            .invalidInput,
            subject: subject,
            explanation: explanation,
            answer: .fixProgram,
            remedy: remedy
        )
    }
}

import LockkeeperDomain
package import LockkeeperMessages
import LockkeeperPlatform

/// What processes that run `effects run --json` have told people.
///
/// Lock rule: the monitor guards the list; nothing else is taken inside it.
package final class EffectLog: Sendable {
    private let state = Monitor<[Told]>([])

    /// One thing that was told and confirmed.
    package struct Told: Sendable, Hashable {
        /// Whether a message was shown or withdrawn.
        package let kind: Effect.Kind
        /// The message.
        package let message: ChatModel.Key

        /// Joins a kind and a message.
        package init(_ kind: Effect.Kind, _ message: ChatModel.Key) {
            self.kind = kind
            self.message = message
        }
    }

    /// A log of nothing yet.
    package init() {}

    /// What was told so far.
    package var told: [Told] { state.withLock { $0 } }

    /// Takes what happened to a process.
    package func observe(_ occurrence: ManagedProcess.Occurrence) {
        guard case .line(let line) = occurrence, let told = try? Self.read(line) else { return }
        state.withLock { $0.append(told) }
        state.broadcast()
    }

    /// Waits until so much was told. Blocks the thread.
    ///
    /// - Returns: `false` at the deadline.
    package func wait(for count: Int, until deadline: Deadline) -> Bool {
        state.wait(until: deadline) { $0.count >= count ? true : nil } == true
    }

    private static func read(_ line: [UInt8]) throws -> Told? {
        var (kind, conversation, message, outcome) = ("", [UInt8](), [UInt8](), "")
        try line.withUnsafeBytes { bytes in
            var scanner = JSONScanner(bytes)
            try scanner.beginObject()
            while let key = try scanner.nextKey() {
                switch true {
                case scanner.matches(key, "effect"): kind = try scanner.readString()
                case scanner.matches(key, "conversation"):
                    conversation = try scanner.readStringBytes()
                case scanner.matches(key, "id"): message = try scanner.readStringBytes()
                case scanner.matches(key, "outcome"): outcome = try scanner.readString()
                default: _ = try scanner.nextValue()
                }
            }
            try scanner.finish()
        }
        guard let kind = Effect.Kind(rawValue: kind), outcome == "confirmed" else { return nil }
        let key = ChatModel.Key(
            ConversationID(unchecked: conversation),
            MessageID(unchecked: message)
        )
        return Told(kind, key)
    }
}

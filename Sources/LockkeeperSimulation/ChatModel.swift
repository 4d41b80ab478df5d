import LockkeeperDomain
package import LockkeeperMessages

/// What events say, in the simplest way that can be right: dictionaries and the larger of two
/// values. It is the truth that a store is compared with.
///
/// It knows registers (M-2), recalls (M-6), read positions (M-9) and pages (M-12), and neither
/// tables nor order: the same events give the same model in any order.
package struct ChatModel: Sendable {
    /// The messages.
    package private(set) var messages: [Key: Message] = [:]
    /// How far the account has read.
    package private(set) var readSequences: [ConversationID: Int64] = [:]
    private var edges: [StreamID: [Cursor?: Cursor]] = [:]

    /// Names a message.
    package struct Key: Sendable, Hashable, CustomStringConvertible {
        /// The conversation.
        package let conversation: ConversationID
        /// The message.
        package let id: MessageID

        /// Joins a conversation and a message.
        package init(_ conversation: ConversationID, _ id: MessageID) {
            self.conversation = conversation
            self.id = id
        }

        /// Both ids.
        package var description: String { "\(conversation)/\(id)" }
    }

    /// A message as the events left it.
    package struct Message: Sendable, Hashable {
        /// The text with its version; `nil` where none came, or where it was recalled.
        package var body: Register?
        /// The seqs that events gave it: one, unless they contradict each other.
        package var sequences: Set<Int64> = []
        /// Whether it was recalled.
        package var isRecalled = false
    }

    /// A value that a larger version replaces, and at an equal version the larger bytes.
    package struct Register: Sendable, Hashable {
        /// The version.
        package var version: Int64
        /// The bytes: Swift's `String` would call different texts equal.
        package var bytes: [UInt8]

        fileprivate func isOvertaken(by other: Register) -> Bool {
            version != other.version
                ? version < other.version : bytes.lexicographicallyPrecedes(other.bytes)
        }
    }

    /// A model of some events.
    package init(_ events: some Sequence<Event> = []) {
        for event in events { apply(event) }
    }

    /// Adds what an event says.
    package mutating func apply(_ event: Event) {
        switch event {
        case .message(let message):
            change(Key(message.conversation, message.id)) { stored in
                if let sequence = message.sequence { stored.sequences.insert(sequence) }
                stored.write(message.body, at: message.version)
            }
        case .edit(let edit):
            change(Key(edit.conversation, edit.id)) { stored in
                if let body = edit.body { stored.write(body, at: edit.version) }
            }
        case .recall(let recall):
            change(Key(recall.conversation, recall.id)) { stored in
                if let sequence = recall.sequence { stored.sequences.insert(sequence) }
                stored.isRecalled = true
                stored.body = nil
            }
        case .read(let read):
            guard read.reader == nil, read.kind == .read, let sequence = read.sequence else {
                return
            }
            let known = readSequences[read.conversation] ?? 0
            readSequences[read.conversation] = max(known, sequence)
        case .page(let page): edges[page.stream, default: [:]][page.after] = page.next
        // `Traffic` makes none of the others.
        case .delete, .reaction, .conversation, .member, .clear, .history, .reset, .later: break
        }
    }

    /// Where the cursors stand when every page was followed from its stream's beginning.
    package var cursors: [StreamID: Cursor] { edges.compactMapValues { Self.follow($0).cursor } }

    /// The streams with pages that no chain of pages leads to.
    package var waitingStreams: Set<StreamID> {
        Set(edges.filter { Self.follow($0.value).stepCount < $0.value.count }.keys)
    }

    private static func follow(_ edges: [Cursor?: Cursor]) -> (cursor: Cursor?, stepCount: Int) {
        var cursor: Cursor?
        // A circle of pages breaks the contract; it must not keep this from ending.
        for stepCount in 0..<edges.count {
            guard let next = edges[cursor] else { return (cursor, stepCount) }
            cursor = next
        }
        return (cursor, edges.count)
    }

    private mutating func change(_ key: Key, _ body: (inout Message) -> Void) {
        body(&messages[key, default: Message()])
    }
}

extension ChatModel.Message {
    fileprivate mutating func write(_ body: String, at version: Int64) {
        guard !isRecalled else { return }
        let register = ChatModel.Register(version: version, bytes: Array(body.utf8))
        if self.body.map({ $0.isOvertaken(by: register) }) ?? true { self.body = register }
    }
}

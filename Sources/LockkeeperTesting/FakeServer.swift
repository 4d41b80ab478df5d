public import LockkeeperDomain
public import LockkeeperMessages
import Synchronization

/// A server of one account, in memory: pages of a stream, and a place to send to.
///
/// It does what real ones do and apps forget: it sends events again and in another order, refuses
/// cursors that it no longer knows, and takes a message without its sender's hearing of it. The same seed
/// makes the same trouble.
///
/// Lock rule: the mutex is held for single steps, and calls nobody.
public final class FakeServer: Sendable {
    /// What it does beside its duty.
    public struct Trouble: Sendable, Hashable {
        /// Of a thousand events of a page, how many older ones come again with them.
        public var redeliveriesPerThousand = 0
        /// Whether the events of a page come in any order.
        public var shufflesPages = false
        /// Of a thousand messages that are sent, how many it takes without an answer.
        public var lostAnswersPerThousand = 0
        /// Whether it refuses a message that it has, rather than acknowledge it once more.
        public var refusesDoubles = false

        /// No trouble.
        public init() {}
    }

    /// One page of the stream, as it goes over the wire.
    public struct Page: Sendable {
        /// What is in it, with what is sent again.
        public let events: [Event]
        /// The cursors between which it lies.
        public let page: SyncPage
    }

    /// The server's word that it has something.
    public struct Acknowledgement: Sendable, Hashable {
        /// The message's id, of a message.
        public let id: MessageID?
        /// The message's place, of a message.
        public let sequence: Int64?
    }

    /// What it answers where it does not do what it was asked for.
    public enum Refusal: Error, Sendable, Hashable {
        /// It does not know the cursor. The stream needs a full sync: store the event, begin anew.
        case cursorExpired(ResetEvent)
        /// It has the message already, as this.
        case alreadySent(Acknowledgement)
        /// The connection broke. Nobody knows whether it has it.
        case noAnswer
    }

    /// The stream.
    public let stream: StreamID
    /// How many events one page holds at most, before what is sent again.
    public let pageEventCount: Int

    private struct State {
        var events: [Event] = []
        var epoch = 0
        var trouble: Trouble
        var generator: SeededGenerator
        var acknowledged: [String: Acknowledgement] = [:]
        var sequences: [ConversationID: Int64] = [:]
    }

    private let state: Mutex<State>

    /// A server without events.
    ///
    /// - Parameters:
    ///   - stream: the stream that its pages belong to.
    ///   - pageEventCount: how many events one page holds at most.
    ///   - trouble: what it does beside its duty.
    ///   - seed: what the trouble is drawn from.
    public init(
        stream: StreamID = "inbox",
        pageEventCount: Int = 50,
        trouble: Trouble = Trouble(),
        seed: UInt64 = 1
    ) {
        precondition(pageEventCount > 0, "a page holds something")
        self.stream = stream
        self.pageEventCount = pageEventCount
        state = Mutex(State(trouble: trouble, generator: SeededGenerator(seed: seed)))
    }

    /// What it does beside its duty, from now on.
    public var trouble: Trouble {
        get { state.withLock { $0.trouble } }
        set { state.withLock { $0.trouble = newValue } }
    }

    /// Everything that it knows, in its order, each once.
    public var events: [Event] { state.withLock { $0.events } }

    /// Adds events, as from other devices and people. Those that are about a stream and not about
    /// messages, as pages of ``Traffic`` are, are left out: it makes its own.
    public func publish(_ events: [Event]) {
        state.withLock { state in
            for event in events {
                switch event {
                case .page, .reset: continue
                case .message(let message):
                    state.sequences[message.conversation] = max(
                        state.sequences[message.conversation] ?? 0,
                        message.sequence ?? 0
                    )
                default: break
                }
                state.events.append(event)
            }
        }
    }

    /// Forgets every cursor that it has given until now.
    public func expireCursors() { state.withLock { $0.epoch += 1 } }

    /// The page behind a cursor; `nil` asks for the first.
    ///
    /// - Throws: ``Refusal/cursorExpired(_:)``.
    public func page(after cursor: Cursor?) throws(Refusal) -> Page {
        try state.withLock { state throws(Refusal) in
            let start = try Self.place(of: cursor, stream, state)
            let end = min(start + pageEventCount, state.events.count)
            var events = Array(state.events[start..<end])
            for _ in events.indices
            where Int.random(in: 0..<1000, using: &state.generator)
                < state.trouble.redeliveriesPerThousand
            {
                events.append(state.events[Int.random(in: 0..<end, using: &state.generator)])
            }
            if state.trouble.shufflesPages { events.shuffle(using: &state.generator) }
            let next = Cursor(unchecked: Array("\(state.epoch):\(end)".utf8))
            let isDone = end == state.events.count
            return Page(
                events: events,
                page: SyncPage(stream: stream, after: cursor, next: next, done: isDone)
            )
        }
    }

    private static func place(
        of cursor: Cursor?,
        _ stream: StreamID,
        _ state: State
    ) throws(Refusal) -> Int {
        guard let cursor else { return 0 }
        let parts = String(decoding: cursor.bytes, as: UTF8.self).split(separator: ":")
        guard parts.count == 2, Int(parts[0]) == state.epoch, let place = Int(parts[1]),
            (0...state.events.count).contains(place)
        else { throw .cursorExpired(ResetEvent(stream: stream, expected: cursor)) }
        return place
    }

    /// Takes an item of the outbox. What it has taken comes back in the stream.
    ///
    /// - Parameter item: the item; its ``LockkeeperMessages/OutboxItem/key`` tells a repetition.
    /// - Throws: ``Refusal/alreadySent(_:)`` and ``Refusal/noAnswer``.
    public func send(_ item: OutboxItem) throws(Refusal) -> Acknowledgement {
        try state.withLock { state throws(Refusal) in
            if let known = state.acknowledged[item.key] {
                if state.trouble.refusesDoubles { throw .alreadySent(known) }
                return known
            }
            var answer = Acknowledgement(id: nil, sequence: nil)
            var event = item.event
            if case .message(var message) = event {
                let sequence = (state.sequences[message.conversation] ?? 0) + 1
                state.sequences[message.conversation] = sequence
                message.id = MessageID(unchecked: Array("s-\(state.events.count)".utf8))
                message.sequence = sequence
                message.version = MessageEvent.versionDefault
                event = .message(message)
                answer = Acknowledgement(id: message.id, sequence: sequence)
            }
            state.events.append(event)
            state.acknowledged[item.key] = answer
            let draw = Int.random(in: 0..<1000, using: &state.generator)
            if draw < state.trouble.lostAnswersPerThousand { throw .noAnswer }
            return answer
        }
    }
}

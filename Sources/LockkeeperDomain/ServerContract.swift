/// What an account's server promises, declared once when the account is added and stored
/// with it, so that every process decides alike.
public struct ServerContract: Sendable, Hashable {
    /// Whether the order of a conversation gives each place to one message.
    public enum Order: String, Sendable, Hashable, CaseIterable {
        /// Another id on a taken `seq` breaks the contract.
        case unique
        /// Several messages may share a `seq`; the id decides between them.
        case ties
    }

    /// Who may edit and recall.
    public enum Authority: String, Sendable, Hashable, CaseIterable {
        /// What the server delivers is right.
        case server
        /// Only a message's sender; the store checks it.
        case author
        /// Only a message's sender may edit it; who may recall it, moderators for example, is the server's
        /// to say.
        case authorOfEdits = "author-of-edits"
    }

    /// What holds for live events, and for every stream that has no contract of its own.
    public var delivery: StreamContract
    /// The streams that are delivered otherwise: a push channel beside the history, for example.
    public var streams: [StreamID: StreamContract]
    /// Whether the server refuses a second message with the same client id.
    public var refusesDoubles: Bool
    /// Whether `seq` is unique in a conversation.
    public var order: Order
    /// Who may edit and recall.
    public var authority: Authority

    /// A contract; the defaults describe a server that redelivers, keeps its copy and can be asked
    /// again.
    public init(
        delivery: StreamContract = StreamContract(),
        streams: [StreamID: StreamContract] = [:],
        refusesDoubles: Bool = false,
        order: Order = .unique,
        authority: Authority = .server
    ) {
        self.delivery = delivery
        self.streams = streams
        self.refusesDoubles = refusesDoubles
        self.order = order
        self.authority = authority
    }

    /// What holds for a stream, and for live events where there is none.
    public func delivery(of stream: StreamID?) -> StreamContract {
        stream.flatMap { streams[$0] } ?? delivery
    }

    /// Why no server can be like this, as a sentence; `nil` where one can.
    public var contradiction: String? {
        for contract in [delivery] + streams.values {
            if let keepsFor = contract.keepsFor, keepsFor <= .zero {
                return "A server that keeps something keeps it for a while."
            }
        }
        return nil
    }
}

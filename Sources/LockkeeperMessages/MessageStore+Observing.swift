public import Lockkeeper
import LockkeeperDomain

extension MessageStore {
    /// The newest messages of a conversation, newest first, kept live: what list views draw from. Any
    /// process's commit is followed, and those that concern other conversations cost no reading.
    ///
    /// - Parameters:
    ///   - conversation: the conversation; of an unknown one the window is empty until it is known.
    ///   - limit: the largest number of messages.
    public func observeTimeline(
        _ conversation: ConversationID,
        limit: Int
    ) -> LiveList<StoredMessage> {
        LiveList(
            session.database.observeConnection(
                topics: [conversation.bytes],
                page(of: conversation, before: nil, limit: limit)
            )
        )
    }

    /// The conversations by the time of their last message, newest first, kept live.
    ///
    /// - Parameter limit: the largest number of conversations; `nil` for all of them.
    public func observeConversations(limit: Int? = nil) -> LiveList<ConversationInfo> {
        LiveList(session.database.observeConnection(conversationList(limit: limit)))
    }
}

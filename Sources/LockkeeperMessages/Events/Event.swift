public import LockkeeperDomain

/// A fact about messages: what one line of the event format says.
///
/// Events are merged as they come; no order, duplication or split changes the result. Fields that
/// a line leaves out are `nil` here: a default is what a reader sees, not what a sender said, and
/// absent never beats present (M-2).
///
/// Two events are equal when their bytes are, as for identifiers: `é` in one and in two scalars
/// are two bodies, although Swift's `String` calls them equal.
public enum Event: Sendable, Hashable {
    /// A message, whole.
    case message(MessageEvent)
    /// A newer version of some fields of a message.
    case edit(EditEvent)
    /// The end of a message's content (M-6).
    case recall(RecallEvent)
    /// The end of a message for the account's own self (M-7).
    case delete(DeleteEvent)
    /// What somebody has put on a message (M-8).
    case reaction(ReactionEvent)
    /// How far somebody has read or been delivered to (M-9).
    case read(ReadEvent)
    /// What is known about a conversation itself.
    case conversation(ConversationEvent)
    /// Somebody's part in a conversation.
    case member(MemberEvent)
    /// Everything up to a place is gone for the account's own self (M-7).
    case clear(ClearEvent)
    /// A range of a conversation that is known to be complete (M-13).
    case history(HistoryEvent)
    /// The end of one page of a stream (M-12).
    case page(SyncPage)
    /// The server no longer knows a stream's cursor (M-12).
    case reset(ResetEvent)
    /// A fact that these merge rules do not know yet; kept, and offered again to newer ones.
    case later(LaterEvent)
}

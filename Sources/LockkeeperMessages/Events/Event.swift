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
    /// How far somebody has read or been delivered to (M-9).
    case read(ReadEvent)
    /// The end of one page of a stream (M-12).
    case page(SyncPage)
    /// A fact that these merge rules do not know yet; kept, and offered again to newer ones.
    case later(LaterEvent)
}

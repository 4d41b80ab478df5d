import LockkeeperMessages

/// A message of "bob" in the conversation "c".
func message(_ id: MessageID, seq: Int64) -> Event {
    .message(
        MessageEvent(
            conversation: "c",
            id: id,
            sequence: seq,
            sender: "bob",
            sentAt: aSecondAfter1970,
            body: "text",
            version: 1
        )
    )
}

private let aSecondAfter1970: Timestamp = {
    do {
        return try Timestamp(millisecondsSince1970: 1_000)
    } catch {
        preconditionFailure("a second after 1970 lies within the format: \(error)")
    }
}()

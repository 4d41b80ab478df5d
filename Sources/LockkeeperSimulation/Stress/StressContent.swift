import LockkeeperDomain
import LockkeeperMessages
import LockkeeperState

/// What a stress run stores beside pages (``SwitchPages``): every name and place follows from who did it
/// as which attempt, so that the judge knows what must be there without being told.
enum StressContent {
    /// The account's own id on its server.
    static let ownID: PersonID = "me"
    private static let sender: PersonID = "u2"
    /// The setting that is counted up.
    static let counter: SettingKey<Int> = "stress.count"
    /// Places of one life; no life has so many attempts.
    private static let placesPerLife: Int64 = 1 << 20

    /// The conversation of the packets of a worker.
    static func packets(of worker: Int) -> ConversationID {
        ConversationID(unchecked: Array("packets-\(worker)".utf8))
    }

    /// Whether a conversation is one of packets.
    static func isOfPackets(_ conversation: ConversationID) -> Bool {
        conversation.bytes.starts(with: Array("packets-".utf8))
    }

    /// How many messages a packet has.
    static func messageCount(of attempt: SwitchAttempt) -> Int { 1 + attempt.number % 3 }

    /// The place of a message of a packet, or of a message that was sent.
    static func place(_ attempt: SwitchAttempt, _ number: Int = 0) -> Int64 {
        Int64(attempt.life) * placesPerLife + Int64(attempt.number) * 4 + Int64(number)
    }

    /// The id of a message of a packet.
    static func messageID(_ attempt: SwitchAttempt, _ number: Int) -> String {
        "p-\(attempt)-\(number)"
    }

    /// What a message of a packet says.
    static func body(_ attempt: SwitchAttempt, for account: String) -> String {
        "\(account) \(attempt)"
    }

    /// A packet.
    static func packet(_ attempt: SwitchAttempt, for account: AccountID) -> [Event] {
        (1...messageCount(of: attempt)).map { number in
            .message(
                MessageEvent(
                    conversation: packets(of: attempt.helper),
                    id: MessageID(unchecked: Array(messageID(attempt, number).utf8)),
                    sequence: place(attempt, number),
                    sender: sender,
                    sentAt: .earliest,
                    body: body(attempt, for: account.description)
                )
            )
        }
    }

    /// The conversation into which a worker sends.
    static func sent(by worker: Int) -> ConversationID {
        ConversationID(unchecked: Array("sent-\(worker)".utf8))
    }

    /// The client id of a message that is sent.
    static func clientID(_ attempt: SwitchAttempt) -> String { "c-\(attempt)" }

    /// The attempt that a client id names; `nil` where it is none.
    static func attempt(ofClientID name: String) -> SwitchAttempt? {
        name.hasPrefix("c-") ? SwitchAttempt(name.dropFirst(2)) : nil
    }

    /// The id that the server gives to a message.
    static func serverID(ofClientID name: String) -> String { "srv-\(name)" }
}

import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages

/// `send`: puts a message into the outbox.
struct SendCommand: Command {
    static let name = "send"
    static let usage = "CONVERSATION TEXT [options]"
    static let summary = "put a message into the outbox"
    static let details = """
        Puts a message of the account's own into the outbox. It stands behind all others of its
        conversation until the server has it: 'outbox run' tells the server. Prints its client id. Sent
        again under a client id that is known, nothing happens, so that a script which is not sure
        whether it has sent a message may send it again; another message under it is refused with code
        73. Known are the last 10 000 messages of the account's own, from other devices too, and after
        'restore' those sent before it, where the replaced database could be read. One that was taken out
        with 'outbox cancel' stays so: "cancelled" says that it is not sent, and another client id sends
        it.

          lockkeeper send room-7 'see you at six' --client-id note-4711
        """
    static let options: [OptionSpecification] = [
        .value("client-id", "ID", "what names the message until the server does [random]"),
        .value("reply-to", "ID", "the message that it answers"),
    ]

    private let draft: OutgoingMessage

    init(_ arguments: inout Arguments) throws(UsageError) {
        let conversation = try ConversationID(argument: &arguments)
        let text = try arguments.positional("TEXT")
        draft = OutgoingMessage(
            conversation: conversation,
            body: text,
            clientID: try ClientID(option: "client-id", of: arguments),
            replyTo: try MessageID(option: "reply-to", of: arguments)
        )
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.changing { workspace in
            let session = try await workspace.session(context.account(in: workspace))
            let receipt = try await MessageStore(session).send(draft)
            try context.console.print { writer in
                writer.beginVersionedObject()
                writer.member("client_id", receipt.clientID)
                writer.member("item", receipt.item)
                writer.member("new", receipt.isNew)
                if receipt.isCancelled { writer.member("cancelled", true) }
                if let message = receipt.message { writer.member("message", message) }
                writer.endObject()
            }
        }
        return .success
    }
}

extension ByteIdentifier {
    /// An identifier that an option names; `nil` where it was not given.
    ///
    /// - Throws: ``UsageError`` when it is empty or too long.
    init?(option: String, of arguments: Arguments) throws(UsageError) {
        guard let text = arguments.value(option) else { return nil }
        try self.init(shown: text, called: "--\(option)")
    }

    /// An identifier that a command line names next.
    ///
    /// - Throws: ``UsageError`` when it is missing, empty or too long.
    init(positional name: String, of arguments: inout Arguments) throws(UsageError) {
        try self.init(shown: try arguments.positional(name), called: name)
    }
}

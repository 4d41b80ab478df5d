import Chat
import Lockkeeper
import LockkeeperMessages

/// Takes a text from another app and leaves: the message is in the outbox, durable, and whichever
/// process tells the server finds it there.
@main
struct ShareHelper {
    static func main() async throws {
        let arguments = Chat.arguments("ShareHelper ROOT CONVERSATION TEXT", count: 3)
        let workspace = try await Chat.open(at: arguments[0], as: "share-helper")
        do {
            let messages = try MessageStore(await workspace.session(Chat.account))
            let draft = OutgoingMessage(
                conversation: try ConversationID(arguments[1]),
                body: arguments[2]
            )
            let receipt = try await messages.send(draft)
            print("in the outbox as \(receipt.clientID)")
        } catch let error as LockkeeperError {
            // One sentence for people, an answer for the program.
            print("\(error)")
            switch error.answer {
            case .retry: print("try again in a moment")
            case .newSession: print("the account was switched away from")
            default: print("code \(error.code.rawValue)")
            }
        }
        await workspace.close()
    }
}

import Chat
import Lockkeeper
import LockkeeperMessages

/// The app: signs in, serves, shows the conversations live, and tells the server what waits in the
/// outbox. Runs until it is ended; it may be killed at any time.
@main
struct ChatHost {
    static func main() async throws {
        let root = Chat.arguments("ChatHost ROOT", count: 1)[0]
        let workspace = try await Chat.open(at: root, as: "app", role: .host)
        if try await workspace.accounts().isEmpty {
            try await workspace.addAccount(Chat.account, ownID: Array("u1".utf8))
            try await workspace.activate(Chat.account)
        }
        let host = try await workspace.serve()  // a second host: throws, with this one's pid
        let messages = try MessageStore(await workspace.session(Chat.account))
        print("ready")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await show(messages) }
            group.addTask { try await tellServer(messages) }
            try await group.waitForAll()
        }
        await host.close()
        await workspace.close()
    }

    /// Draws what any process's commit has changed; ends with the error `superseded` after a switch.
    static func show(_ messages: MessageStore) async throws {
        for try await list in messages.observeConversations(limit: 50) {
            for conversation in list.items {
                let newest = try await messages.timeline(conversation.id, limit: 1).first
                guard let newest, let sender = newest.sender else { continue }
                print(Chat.line("\(conversation.id)", "\(sender)", newest.body))
            }
        }
    }

    /// Claims one item after the other, whoever put it there, and says what the server answered.
    static func tellServer(_ messages: MessageStore) async throws {
        for try await _ in messages.observeOutbox() {
            while let claim = try await messages.claimNextOutboxItem() {
                let item = claim.item
                // A real client calls its server here, with `item.key`, which is the same at every
                // attempt, and reports a failure with `fail`, no answer with `leaveUnanswered`.
                print("server: \(item.act.rawValue) in \(item.conversation)")
                // A message gets an id and a place; what changes one has them already.
                guard item.act == .send else {
                    try await claim.confirm()
                    continue
                }
                let id = try MessageID("server-\(item.id)")
                try await claim.confirm(as: id, sequence: 1_000 + item.id)
            }
        }
    }
}

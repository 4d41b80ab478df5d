import Chat
import Lockkeeper
import LockkeeperMessages

/// Woken by a push for a few seconds: stores what came, shows what people must be told of, and leaves.
/// The host may be dead, the account signed out of, the database locked.
@main
struct NotificationHelper {
    static func main() async throws {
        let arguments = Chat.arguments("NotificationHelper ROOT SENDER BODY", count: 3)
        let workspace = try await Chat.open(at: arguments[0], as: "push-helper")
        let pushed = MessageEvent(
            conversation: "c1",
            id: try MessageID("push-\(arguments[2].utf8.count)"),
            sequence: Int64(arguments[2].utf8.count),
            sender: try PersonID(arguments[1]),
            sentAt: try Timestamp("2026-11-30T09:00:00Z"),
            body: arguments[2]
        )
        let events: [Event] = [
            .read(ReadEvent(conversation: "c1", target: .sequence(0))), .message(pushed),
        ]
        switch try await workspace.deliver(events, to: Chat.account) {
        case .stored(let receipt): print("stored, durable: \(receipt.durability == .durable)")
        case .kept(let packet): print("kept as \(packet.name)")  // durable as well
        }
        try await notify(workspace)
        await workspace.close()
    }

    /// Shows what no process has shown yet. A claim is this process's alone, and ends with it.
    static func notify(_ workspace: Workspace) async throws {
        let session: Session
        do {
            session = try await workspace.session(Chat.account)
        } catch let error as LockkeeperError where error.code == .accountInactive {
            return  // what was kept notifies when the account is active again
        }
        let messages = try MessageStore(session)
        while let claim = try await messages.claimNextEffect() {
            // The tag names the notification: a withdraw takes away what its notify has shown.
            switch claim.effect.kind {
            case .notify: print("notify: \(claim.effect.content?.body ?? "")")
            case .withdraw: print("withdraw \(claim.effect.tag)")
            }
            try await claim.confirm()
        }
    }
}

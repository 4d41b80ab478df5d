import Lockkeeper
import LockkeeperMessages

/// What all programs of the client must agree on.
public enum Chat {
    /// The account; a real client has it from its sign-in.
    public static let account: AccountID = "alice"

    /// Opens the workspace that the programs share, once in each of them.
    public static func open(
        at root: String,
        as name: String,
        role: Workspace.Role = .helper
    ) async throws -> Workspace {
        try await Workspace.open(at: root, name: name, role: role, schemas: [.messages])
    }

    /// The arguments behind the program's name.
    public static func arguments(_ usage: String, count: Int) -> [String] {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count == count else { fatalError("usage: \(usage)") }
        return arguments
    }

    /// A message that did not come over the wire, for a server that is made up.
    public static func line(_ conversation: String, _ sender: String, _ body: String?) -> String {
        "\(conversation): \(sender): \(body ?? "no text")"
    }
}

import Lockkeeper
import LockkeeperDomain
import LockkeeperState

/// Which store the commands of secrets use.
enum SecretStoreChoice: String, CaseIterable {
    /// Files in the account's own folder.
    case file
    /// What the service manager gave this process.
    case systemd
    /// The user's session.
    case secretService = "secret-service"

    static let option = OptionSpecification.value(
        "store",
        "STORE",
        "file, systemd or secret-service [file]"
    )

    func store(of workspace: Workspace) -> any SecretStore {
        switch self {
        case .file: FileSecretStore(workspace)
        case .systemd: SystemdCredentialStore()
        case .secretService: SecretServiceStore()
        }
    }
}

extension CommandContext {
    /// Runs something with a store and the account that the command is about.
    func withSecrets<Value: Sendable>(
        in choice: SecretStoreChoice,
        _ body: (any SecretStore, AccountID) async throws -> Value
    ) async throws -> Value {
        try await changing { workspace in
            let account = try await workspace.account(account(in: workspace)).id
            return try await body(choice.store(of: workspace), account)
        }
    }
}

extension SecretService {
    /// Takes a secret's service.
    init(argument arguments: inout Arguments) throws(UsageError) {
        let text = try arguments.positional("SERVICE")
        do {
            try self.init(text)
        } catch {
            throw UsageError("SERVICE: \(error).")
        }
    }
}

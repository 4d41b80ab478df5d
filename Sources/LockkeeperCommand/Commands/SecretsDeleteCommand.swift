import LockkeeperState

/// `secrets delete`: removes a secret, or all of an account's.
struct SecretsDeleteCommand: Command {
    static let name = "secrets delete"
    static let usage = "SERVICE | --all [--store STORE]"
    static let summary = "remove a secret of the account, or all of them; no other account's"
    static let details = """
        Removes the account's secret of a service; ends with code 1 where there is none. --all removes
        all of the account's. Signing out removes none by itself.

          lockkeeper secrets delete token --yes
        """
    static let destroys: String? = "The secret is gone then, and nobody can give it back."
    static let options: [OptionSpecification] = [
        .flag("all", "remove all secrets of the account"), SecretStoreChoice.option,
    ]

    private let service: SecretService?
    private let choice: SecretStoreChoice

    init(_ arguments: inout Arguments) throws(UsageError) {
        service = arguments.flag("all") ? nil : try SecretService(argument: &arguments)
        choice = try arguments.choice("store", of: SecretStoreChoice.self) ?? .file
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.withSecrets(in: choice) { store, account in
            if let service {
                try await store.delete(service, of: account)
            } else {
                try await store.deleteAll(of: account)
            }
            return .success
        }
    }
}

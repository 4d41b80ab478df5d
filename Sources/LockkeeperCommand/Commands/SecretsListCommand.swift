import LockkeeperDomain
import LockkeeperState

/// `secrets list`: for which services there are secrets.
struct SecretsListCommand: Command {
    static let name = "secrets list"
    static let usage = "[--store STORE]"
    static let summary = "list for which services the account has secrets"
    static let details = """
        Prints the services, one per line, sorted, and nothing of the secrets. Ends with code 75 where the
        store is locked, and with an error that names the file where one of them cannot be read.

          lockkeeper secrets list
        """
    static let options: [OptionSpecification] = [SecretStoreChoice.option]

    private let choice: SecretStoreChoice

    init(_ arguments: inout Arguments) throws(UsageError) {
        choice = try arguments.choice("store", of: SecretStoreChoice.self) ?? .file
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.withSecrets(in: choice) { store, account in
            for service in try await store.services(of: account) {
                guard context.options.isJSON else {
                    try context.console.print(terminalID(service.description))
                    continue
                }
                try context.console.print { writer in
                    writer.beginVersionedObject()
                    writer.member("service", service)
                    writer.endObject()
                }
            }
            try await store.checkItems(of: account)
            return .success
        }
    }
}

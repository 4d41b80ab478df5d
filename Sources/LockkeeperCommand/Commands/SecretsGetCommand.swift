import Lockkeeper
import LockkeeperDomain
import LockkeeperState

/// `secrets get`: a secret on standard output.
struct SecretsGetCommand: Command {
    static let name = "secrets get"
    static let usage = "SERVICE [--raw] [--store STORE]"
    static let summary = "print a secret of the account; ends with 1 where there is none"
    static let details = """
        Writes the account's secret of a service and a line end, which --raw leaves out. With --json
        an object with the bytes in hexadecimal digits and the item's class. Ends with code 1 where
        there is none, 75 where the store is locked, 77 where it refuses.

          lockkeeper secrets get token --raw | curl --header @-
        """
    static let options: [OptionSpecification] = [
        .flag("raw", "no line end after it"), SecretStoreChoice.option,
    ]

    private let service: SecretService
    private let isRaw: Bool
    private let choice: SecretStoreChoice

    init(_ arguments: inout Arguments) throws(UsageError) {
        service = try SecretService(argument: &arguments)
        isRaw = arguments.flag("raw")
        choice = try arguments.choice("store", of: SecretStoreChoice.self) ?? .file
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.withSecrets(in: choice) { store, account in
            let stored = try await store.load(service, of: account)
            if context.options.isJSON {
                try context.console.print { writer in
                    writer.beginVersionedObject()
                    writer.member("service", service)
                    writer.member("access", stored.accessibility.rawValue)
                    writer.member("bytes", stored.secret.withBytes { $0.hexadecimal })
                    writer.endObject()
                }
            } else {
                let end: [UInt8] = isRaw ? [] : [UInt8(ascii: "\n")]
                try context.console.write(stored.secret.withBytes { Array($0) + end })
            }
            return .success
        }
    }
}

import Lockkeeper
import LockkeeperPlatform
import LockkeeperState

/// `secrets set`: stores a secret that comes on standard input.
struct SecretsSetCommand: Command {
    static let name = "secrets set"
    static let usage = "SERVICE [--access CLASS] [--raw] [--store STORE]"
    static let summary = "store a secret of the account, read from standard input"
    static let details = """
        Stores what comes on standard input as the account's secret of a service, in the place of an
        earlier one, durably. One line end at its end is left out, unless --raw is given. Where nothing
        comes nothing is stored, and an earlier one stays. A secret is never an argument: those of a
        process can be read by others.

        CLASS is always, whileUnlocked or thisDeviceOnly; it is kept with the item, and honoured by
        stores that can. STORE is file (0600 in the account's folder), systemd (CREDENTIALS_DIRECTORY,
        read only) or secret-service (the user's session; only in programs that were built with it).

          lockkeeper secrets set token < token.txt
        """
    static let options: [OptionSpecification] = [
        .value("access", "CLASS", "when it may be read [always]"),
        .flag("raw", "keep a line end at the end"),
        SecretStoreChoice.option,
    ]

    private let service: SecretService
    private let accessibility: SecretAccessibility
    private let isRaw: Bool
    private let choice: SecretStoreChoice

    init(_ arguments: inout Arguments) throws(UsageError) {
        service = try SecretService(argument: &arguments)
        accessibility = try arguments.choice("access", of: SecretAccessibility.self) ?? .always
        isRaw = arguments.flag("raw")
        choice = try arguments.choice("store", of: SecretStoreChoice.self) ?? .file
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        let secret = try readSecret()
        return try await context.withSecrets(in: choice) { store, account in
            do {
                try await store.save(
                    secret,
                    for: service,
                    of: account,
                    accessibility: accessibility
                )
            } catch let error as LockkeeperError where error.code == .exists {
                try await store.replace(
                    secret,
                    for: service,
                    of: account,
                    accessibility: accessibility
                )
            }
            return .success
        }
    }

    private func readSecret() throws -> Secret {
        let bytes = try StandardInput.open().readToEnd(limit: 1 << 21)
        let hasLineEnd = !isRaw && bytes.last == UInt8(ascii: "\n")
        guard bytes.count > (hasLineEnd ? 1 : 0) else {
            // What should have printed it has failed, most likely: the token that is there is better.
            throw CommandError(
                "no-input",
                .unreadableLines,
                "Nothing came on standard input, and nothing was stored. 'lockkeeper secrets delete'"
                    + " removes a secret."
            )
        }
        return Secret(bytes.dropLast(hasLineEnd ? 1 : 0))
    }
}

public import Lockkeeper
public import LockkeeperDomain
import LockkeeperSecretService

/// Secrets in the Secret Service of the user's session: GNOME Keyring, KWallet, KeePassXC. Only in
/// builds with the package trait `SecretService`.
///
/// Nobody is ever asked to unlock anything: where the collection is locked, each call that needs it
/// says `locked`: also whether an item is there is not known then. Items are the session's and not the workspace's: they stay when an account is removed,
/// until they are deleted by name, with `SecretStore.deleteAll(of:)` for example.
///
/// The service knows no "only where there is none": of two processes that save one item at the same
/// moment both may succeed, and the second one's stands.
public final class SecretServiceStore: SecretStore {
    /// A collection is locked as a whole.
    public let honoured: Set<SecretAccessibility> = [.whileUnlocked]

    /// Whether this build has the store.
    public static var isBuiltIn: Bool { LockkeeperSecretService.SecretService.isBuiltIn }

    /// The store of this process's session bus.
    public init() {}

    /// Saves an item that is not there; see ``SecretStore/save(_:for:of:accessibility:)``.
    @discardableResult
    public func save(
        _ secret: Secret,
        for service: SecretService,
        of account: AccountID,
        accessibility: SecretAccessibility = .whileUnlocked
    ) async throws -> SecretRevision {
        let names = Names(service, account)
        return try await names.run {
            do throws(LockkeeperSecretService.SecretService.Failure) {
                try LockkeeperSecretService.SecretService.find(
                    service: names.service,
                    account: names.account
                )
            } catch {
                if error == .missing { return try names.store(secret, accessibility) }
                throw error
            }
            throw SecretError.exists(names.subject)
        }
    }

    /// Replaces an item that is there; see ``SecretStore/replace(_:for:of:accessibility:)``.
    @discardableResult
    public func replace(
        _ secret: Secret,
        for service: SecretService,
        of account: AccountID,
        accessibility: SecretAccessibility = .whileUnlocked
    ) async throws -> SecretRevision {
        let names = Names(service, account)
        return try await names.run {
            try LockkeeperSecretService.SecretService.find(
                service: names.service,
                account: names.account
            )
            return try names.store(secret, accessibility)
        }
    }

    /// Reads an item; see ``SecretStore/load(_:of:)``.
    public func load(_ service: SecretService, of account: AccountID) async throws -> StoredSecret {
        let names = Names(service, account)
        return try await names.run {
            let record = try LockkeeperSecretService.SecretService.load(
                service: names.service,
                account: names.account
            ) { SecretRecord($0) }
            guard let record, record.service == service else {
                throw SecretError.damaged(names.subject)
            }
            return record.stored
        }
    }

    /// Removes an item; see ``SecretStore/delete(_:of:)``.
    public func delete(_ service: SecretService, of account: AccountID) async throws {
        let names = Names(service, account)
        try await names.run {
            try LockkeeperSecretService.SecretService.delete(
                service: names.service,
                account: names.account
            )
        }
    }

    /// The services of an account's items, sorted.
    public func services(of account: AccountID) async throws -> [SecretService] {
        let account = Names.text(account.bytes)
        return try await Names.run("the secrets of an account") {
            let texts = try LockkeeperSecretService.SecretService.services(of: account)
            return Set(texts.compactMap(Names.bytes).map { SecretService(unchecked: $0) }).sorted()
        }
    }
}

/// What the service knows an item by: attributes, which are texts without NUL.
private struct Names: Sendable {
    let id: SecretService
    let service: String
    let account: String
    let subject: String

    init(_ service: SecretService, _ account: AccountID) {
        id = service
        self.service = Self.text(service.bytes)
        self.account = Self.text(account.bytes)
        subject = SecretError.subject(service, account)
    }

    /// Bytes as they are where they are such a text, else `~` and hexadecimal digits.
    static func text(_ bytes: [UInt8]) -> String {
        let text = String(validating: bytes, as: UTF8.self)
        if let text, !bytes.contains(0), bytes.first != UInt8(ascii: "~") { return text }
        return "~" + bytes.hexadecimal
    }

    static func bytes(_ text: String) -> [UInt8]? {
        text.utf8.first == UInt8(ascii: "~")
            ? [UInt8](hexadecimal: text.dropFirst()) : Array(text.utf8)
    }

    func store(_ secret: Secret, _ accessibility: SecretAccessibility) throws -> SecretRevision {
        let stored = StoredSecret(
            secret: secret,
            accessibility: accessibility,
            revision: .random()
        )
        try SecretRecord(service: id, stored: stored).bytes.withUnsafeBytes { bytes in
            try LockkeeperSecretService.SecretService.store(
                service: service,
                account: account,
                label: "\(service) (\(account))",
                bytes
            )
        }
        return stored.revision
    }

    func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value
    {
        try await Self.run(subject, body)
    }

    static func run<Value: Sendable>(
        _ subject: String,
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        do {
            return try await blocking("lk-secrets", subject: subject, body)
        } catch let failure as LockkeeperSecretService.SecretService.Failure {
            throw error(failure, subject)
        }
    }

    private static func error(
        _ failure: LockkeeperSecretService.SecretService.Failure,
        _ subject: String
    ) -> LockkeeperError {
        switch failure {
        case .missing: SecretError.notFound(subject)
        case .locked: SecretError.locked(subject)
        case .denied: SecretError.denied(subject, "the Secret Service refuses", cause: failure)
        case .unavailable:
            SecretError.unavailable(
                subject,
                SecretServiceStore.isBuiltIn
                    ? "there is no session bus, no Secret Service on it, or it has no collection"
                    : "this program was built without the package trait SecretService"
            )
        case .failed:
            LockkeeperError(
                .ioFailed,
                subject: subject,
                explanation: "the Secret Service failed",
                answer: .retry,
                remedy: "Look at the service's own log.",
                cause: failure
            )
        }
    }
}

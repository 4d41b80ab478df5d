public import Lockkeeper
public import LockkeeperDomain

/// Names what a secret is for: a server, a kind of token.
public struct SecretService: ByteIdentifier {
    /// What the identifier names, for error sentences.
    public static let noun = "service of a secret"
    /// The identifier's bytes.
    public let bytes: [UInt8]
    /// Makes an identifier from bytes that are known to be valid.
    public init(unchecked bytes: [UInt8]) { self.bytes = bytes }
}

/// When an item may be read, and whether it may leave this device. Stores keep it with the item, and
/// honour what they can (``SecretStore/honoured``).
public enum SecretAccessibility: String, Sendable, Hashable, CaseIterable {
    /// Whenever the account's processes run, also before the user has unlocked anything.
    case always
    /// While the user's session is unlocked.
    case whileUnlocked
    /// Whenever the account's processes run, and in no backup.
    case thisDeviceOnly
}

/// Names one writing of an item: another one each time that it is saved or replaced, so that a mark of
/// a rejected credential never falls on the next one.
public struct SecretRevision: Sendable, Hashable {
    /// 16 bytes.
    public let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    static func random() -> SecretRevision {
        var generator = SystemRandomNumberGenerator()
        return SecretRevision((0..<16).map { _ in .random(in: 0...255, using: &generator) })
    }
}

/// A secret as a store gives it.
public struct StoredSecret: Sendable {
    /// The secret.
    public let secret: Secret
    /// When it may be read.
    public let accessibility: SecretAccessibility
    /// Which writing of the item this is.
    public let revision: SecretRevision
}

/// Where secrets are kept, each by service and account.
///
/// Three answers are told apart by the code of the ``LockkeeperError`` that every call throws:
/// `notFound`, there is no such item; `locked`, it cannot be read now and may be later; and
/// `permissionDenied`, the store refuses. No error says anything of a secret. Whether items survive
/// that the program is removed and installed again is not promised: expect an old one, and none.
///
/// A stored credential is not a valid one: see ``Credentials``.
public protocol SecretStore: Sendable {
    /// The classes that the store can honour; others it keeps and gives back.
    var honoured: Set<SecretAccessibility> { get }

    /// Saves an item that is not there; durable when this returns.
    ///
    /// - Throws: ``LockkeeperError`` with the code `exists` where it is.
    @discardableResult
    func save(
        _ secret: Secret,
        for service: SecretService,
        of account: AccountID,
        accessibility: SecretAccessibility
    ) async throws -> SecretRevision

    /// Replaces an item that is there; durable when this returns. Readers find the old one or the new
    /// one.
    ///
    /// - Throws: ``LockkeeperError`` with the code `notFound` where it is not.
    @discardableResult
    func replace(
        _ secret: Secret,
        for service: SecretService,
        of account: AccountID,
        accessibility: SecretAccessibility
    ) async throws -> SecretRevision

    /// Reads an item.
    func load(_ service: SecretService, of account: AccountID) async throws -> StoredSecret

    /// Removes an item; durable when this returns.
    func delete(_ service: SecretService, of account: AccountID) async throws

    /// The services of an account's items, sorted.
    ///
    /// - Throws: ``LockkeeperError`` with the code `locked` where there may be more than can be seen.
    func services(of account: AccountID) async throws -> [SecretService]

    /// Looks whether every item of an account can be read; those that cannot are in no list.
    ///
    /// - Throws: ``LockkeeperError`` that names the first one that cannot.
    func checkItems(of account: AccountID) async throws

    /// Removes all items of an account, and touches no other's: what signing out calls where it is
    /// meant. Nothing does so by itself.
    func deleteAll(of account: AccountID) async throws
}

extension SecretStore {
    /// Nothing is found where a store tells of each item when it is loaded.
    public func checkItems(of account: AccountID) async throws {}

    /// Removes the items that are listed, and leaves keys of the account's files (``SecretStoreKeys``): with
    /// them the account would be lost.
    public func deleteAll(of account: AccountID) async throws {
        for service in try await services(of: account) where !SecretStoreKeys.isKey(service.bytes) {
            do {
                try await delete(service, of: account)
            } catch let error as LockkeeperError where error.code == .notFound {
                // Another process was faster.
                continue
            }
        }
    }
}

/// The errors that stores have in common.
enum SecretError {
    static func subject(_ service: SecretService, _ account: AccountID) -> String {
        "secret '\(service)' of account \(account)"
    }

    static func notFound(_ subject: String) -> LockkeeperError {
        LockkeeperError(
            .notFound,
            subject: subject,
            explanation: "there is no such item",
            answer: .fixEnvironment,
            remedy: "Ask the person to sign in, and save what comes of it."
        )
    }

    static func exists(_ subject: String) -> LockkeeperError {
        LockkeeperError(
            .exists,
            subject: subject,
            explanation: "there is such an item already",
            answer: .fixProgram,
            remedy: "Replace it, or delete it first."
        )
    }

    static func locked(_ subject: String) -> LockkeeperError {
        LockkeeperError(
            .locked,
            subject: subject,
            explanation: "the store is locked",
            answer: .retry,
            remedy: "Try again once the person has unlocked it; do not ask for the secret anew."
        )
    }

    static func denied(
        _ subject: String,
        _ explanation: String,
        cause: (any Error)? = nil
    ) -> LockkeeperError {
        LockkeeperError(
            .permissionDenied,
            subject: subject,
            explanation: explanation,
            answer: .fixEnvironment,
            remedy: "Look at who owns the store and at its modes.",
            cause: cause
        )
    }

    static func unavailable(_ subject: String, _ explanation: String) -> LockkeeperError {
        LockkeeperError(
            .unavailable,
            subject: subject,
            explanation: explanation,
            answer: .fixEnvironment,
            remedy: "Use another store, or start the one that is meant."
        )
    }

    static func damaged(_ subject: String) -> LockkeeperError {
        LockkeeperError(
            .damaged,
            subject: subject,
            explanation: "what is stored is no item",
            answer: .recover,
            remedy: "It was left as it is. Replace it, or delete it."
        )
    }
}

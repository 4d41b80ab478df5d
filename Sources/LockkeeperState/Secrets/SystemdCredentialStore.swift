public import Lockkeeper
import LockkeeperCrypto
public import LockkeeperDomain
import LockkeeperPlatform

/// The credentials that the service manager gives a service (`LoadCredential=`, `SetCredential=`), read
/// only: files in the folder that `CREDENTIALS_DIRECTORY` names.
///
/// A credential `SERVICE@ACCOUNT` is an account's own, one that is named `SERVICE` is every account's.
/// The manager gives them anew with each start of the service, and each start has other revisions.
public final class SystemdCredentialStore: SecretStore {
    /// The service manager decides who reads them, and keeps them in memory.
    public let honoured: Set<SecretAccessibility> = [.always, .thisDeviceOnly]

    private let folder: String?

    /// The store of this process's service.
    public convenience init() {
        self.init(folder: Environment.variable("CREDENTIALS_DIRECTORY"))
    }

    /// A store in a folder; `nil` for none.
    init(folder: String?) { self.folder = folder }

    /// Refused: they are read only.
    @discardableResult
    public func save(
        _ secret: Secret,
        for service: SecretService,
        of account: AccountID,
        accessibility: SecretAccessibility
    ) async throws -> SecretRevision {
        throw readOnly(service, account)
    }

    /// Refused: they are read only.
    @discardableResult
    public func replace(
        _ secret: Secret,
        for service: SecretService,
        of account: AccountID,
        accessibility: SecretAccessibility
    ) async throws -> SecretRevision {
        throw readOnly(service, account)
    }

    /// Reads an account's own credential, else the common one.
    public func load(_ service: SecretService, of account: AccountID) async throws -> StoredSecret {
        let folder = try requireFolder()
        return try await blocking("lk-secrets", subject: SecretError.subject(service, account)) {
            for name in [service.bytes + [Self.separator] + account.bytes, service.bytes] {
                guard let name = Self.fileName(name) else { continue }
                let path = "\(folder)/\(name)"
                guard let status = try FileSystem.status(path) else { continue }
                var bytes = try FileSystem.contents(of: path)
                defer { bytes.withUnsafeMutableBytes { SecureMemory.erase($0) } }
                return StoredSecret(
                    secret: Secret(bytes),
                    accessibility: .thisDeviceOnly,
                    revision: Self.revision(of: status)
                )
            }
            throw SecretError.notFound(SecretError.subject(service, account))
        }
    }

    /// Refused: they are read only.
    public func delete(_ service: SecretService, of account: AccountID) async throws {
        throw readOnly(service, account)
    }

    /// The services of an account's own credentials and of the common ones, sorted.
    public func services(of account: AccountID) async throws -> [SecretService] {
        let folder = try requireFolder()
        return try await blocking("lk-secrets", subject: "credentials") {
            let services = try FileSystem.list(folder).compactMap { name -> SecretService? in
                let bytes = Array(name.utf8)
                guard let separator = bytes.firstIndex(of: Self.separator) else {
                    return SecretService(unchecked: bytes)
                }
                guard separator > 0, bytes[(separator + 1)...].elementsEqual(account.bytes) else {
                    return nil
                }
                return SecretService(unchecked: Array(bytes[..<separator]))
            }
            return Set(services).sorted()
        }
    }

    private static let separator = UInt8(ascii: "@")

    /// A credential's name as a file's; `nil` where it cannot be one.
    private static func fileName(_ bytes: [UInt8]) -> String? {
        guard !bytes.contains(UInt8(ascii: "/")), !bytes.contains(0),
            bytes.first != UInt8(ascii: ".")
        else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func revision(of status: FileStatus) -> SecretRevision {
        let identity = "\(status.identity.device) \(status.identity.inode) \(status.modified)"
        return SecretRevision(Array(SHA256.digest(of: identity).prefix(16)))
    }

    private func requireFolder() throws -> String {
        if let folder { return folder }
        throw SecretError.unavailable(
            "credentials",
            "CREDENTIALS_DIRECTORY is not set: the process is no service, or was given none"
        )
    }

    private func readOnly(_ service: SecretService, _ account: AccountID) -> any Error {
        SecretError.denied(
            SecretError.subject(service, account),
            "credentials are the service manager's, and read only"
        )
    }
}

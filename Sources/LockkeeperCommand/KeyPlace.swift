import Lockkeeper
import LockkeeperState

/// Where the keys of encrypted accounts are kept.
enum KeyPlace: Sendable, Hashable {
    /// Files of 0600 in a folder outside of the workspace.
    case folder(String)
    /// The user's session.
    case secretService
    /// What the service manager gave this process; read only.
    case systemd

    /// What the option says: a word, else a folder.
    init(_ text: String) {
        self =
            switch text {
            case "secret-service": .secretService
            case "systemd": .systemd
            default: .folder(text)
            }
    }

    /// The keys there.
    var source: any StoreKeySource {
        switch self {
        case .folder(let path): SecretStoreKeys(FileSecretStore(folder: path))
        case .secretService: SecretStoreKeys(SecretServiceStore())
        case .systemd: SecretStoreKeys(SystemdCredentialStore())
        }
    }
}

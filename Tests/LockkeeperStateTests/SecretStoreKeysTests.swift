import Glibc
import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperTestSupport
import Testing

@testable import LockkeeperState

@Suite(
    "Keys of accounts in a store of secrets: told apart, and never removed with the secrets (R-52)"
)
struct SecretStoreKeysTests {
    private static let key = Secret(Array(repeating: 5, count: 32))
    private static let name = "00112233445566aa"

    /// A folder of secrets with one key and one secret of "alice".
    private func withKeys(
        _ body: (_ keys: SecretStoreKeys, _ store: FileSecretStore, _ path: String) async throws ->
            Void
    ) async throws {
        let folder = try TemporaryDirectory()
        let store = FileSecretStore(folder: "\(folder.path)/keys")
        let keys = SecretStoreKeys(store)
        try await onOwnThread { try keys.add(Self.key, named: Self.name, of: "alice") }
        try await store.save(Secret("s"), for: "token", of: "alice")
        try await body(keys, store, "\(folder.path)/keys/alice/lockkeeper.key.\(Self.name)")
    }

    @Test("what is kept is given to its account alone; a secret of the account is no key")
    func kept() async throws {
        try await withKeys { keys, _, path in
            #expect(try FileSystem.status(path)?.mode == 0o600)
            try await onOwnThread {
                let (own, others) = (try keys.keys(of: "alice"), try keys.keys(of: "bob"))
                #expect(own == [Self.key] && others == [])
            }
        }
    }

    @Test("a key is removed by its name, and nothing else with it")
    func removed() async throws {
        try await withKeys { keys, store, path in
            for account in ["bob", "alice"] as [AccountID] {
                await expectState(.notFound) {
                    try await onOwnThread {
                        try keys.remove(named: "ff112233445566aa", of: account)
                    }
                }
            }
            try await onOwnThread { try keys.remove(named: Self.name, of: "alice") }
            #expect(try FileSystem.status(path) == nil)
            #expect(try await store.load("token", of: "alice").secret == Secret("s"))
        }
    }

    @Test("a key that may not be read, or is no item any more, is not one that is missing")
    func unreadable() async throws {
        try await withKeys { keys, _, path in
            #expect(chmod(path, 0o640) == 0)
            await expectState(.permissionDenied) {
                _ = try await onOwnThread { try keys.keys(of: "alice") }
            }
            try FileSystem.replaceFile(at: path, with: Array("junk".utf8))
            await expectState(.damaged) {
                _ = try await onOwnThread { try keys.keys(of: "alice") }
            }
        }
    }

    // Signing out removes secrets; without the key the account and its backups would be lost.
    @Test("removing all secrets of an account leaves its keys, one that cannot be read among them")
    func deleteAll() async throws {
        try await withKeys { keys, store, path in
            let stores: [any SecretStore] = [store, Listed(store)]
            for store in stores {
                _ = try? await store.save(
                    Secret("s"),
                    for: "token",
                    of: "alice",
                    accessibility: .always
                )
                try await store.deleteAll(of: "alice")
                let left = try await onOwnThread { try keys.keys(of: "alice") }
                #expect(left == [Self.key])
                await expectState(.notFound) { _ = try await store.load("token", of: "alice") }
            }
            let junk = Array("junk".utf8)
            try FileSystem.replaceFile(at: path, with: junk)
            try await store.deleteAll(of: "alice")
            #expect(try FileSystem.contents(of: path) == junk)
        }
    }

    /// A store that removes as ``SecretStore`` does by itself.
    private struct Listed: SecretStore {
        let store: FileSecretStore
        init(_ store: FileSecretStore) { self.store = store }

        var honoured: Set<SecretAccessibility> { store.honoured }

        func save(
            _ secret: Secret,
            for service: SecretService,
            of account: AccountID,
            accessibility: SecretAccessibility
        ) async throws -> SecretRevision {
            try await store.save(secret, for: service, of: account, accessibility: accessibility)
        }

        func replace(
            _ secret: Secret,
            for service: SecretService,
            of account: AccountID,
            accessibility: SecretAccessibility
        ) async throws -> SecretRevision {
            try await store.replace(secret, for: service, of: account, accessibility: accessibility)
        }

        func load(_ service: SecretService, of account: AccountID) async throws -> StoredSecret {
            try await store.load(service, of: account)
        }

        func delete(_ service: SecretService, of account: AccountID) async throws {
            try await store.delete(service, of: account)
        }

        func services(of account: AccountID) async throws -> [SecretService] {
            try await store.services(of: account)
        }
    }
}

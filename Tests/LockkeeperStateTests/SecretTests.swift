import Glibc
import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

@testable import LockkeeperState

@Suite("Secrets: told apart, private, per account, marked where rejected (R-49)")
struct SecretTests {
    @Test("an item is saved, read, replaced and deleted, each in another process too")
    func lifeOfAnItem() async throws {
        try await withAlice { test, app, _ in
            let store = FileSecretStore(app)
            let other = FileSecretStore(try await test.process("other"))
            let first = try await store.save(Secret("one"), for: "token", of: "alice")
            let read = try await other.load("token", of: "alice")
            #expect(read.secret == Secret("one") && read.revision == first)
            await expectState(.exists) {
                try await other.save(Secret("two"), for: "token", of: "alice")
            }
            let second = try await other.replace(
                Secret([0, 255]),
                for: "token",
                of: "alice",
                accessibility: .thisDeviceOnly
            )
            #expect(second != first)
            let replaced = try await store.load("token", of: "alice")
            #expect(replaced.secret == Secret([0, 255]))
            #expect(replaced.accessibility == .thisDeviceOnly && replaced.revision == second)
            try await store.delete("token", of: "alice")
            await expectState(.notFound) { _ = try await other.load("token", of: "alice") }
            await expectState(.notFound) { try await other.delete("token", of: "alice") }
            await expectState(.notFound) {
                try await other.replace(Secret("x"), for: "token", of: "alice")
            }
            #expect(try await other.services(of: "alice").isEmpty)
        }
    }

    @Test(
        "items are told by service and account as bytes, and one account's going touches no other"
    )
    func identity() async throws {
        try await withAlice { _, app, _ in
            try await app.addAccount("bob")
            let store = FileSecretStore(app)
            let services: [SecretService] = [
                "token", "../token", "\u{e9}", "e\u{301}", "a\0b", "Token", ".",
                SecretService(unchecked: [UInt8](repeating: 255, count: 512)),
            ]
            for account in ["alice", "bob"] as [AccountID] {
                for service in services {
                    let secret = Secret(account.bytes + service.bytes)
                    try await store.save(secret, for: service, of: account)
                }
            }
            #expect(try await store.services(of: "alice") == services.sorted())
            try await store.deleteAll(of: "alice")
            #expect(try await store.services(of: "alice").isEmpty)
            for service in services {
                let stored = try await store.load(service, of: "bob")
                #expect(stored.secret == Secret(Array("bob".utf8) + service.bytes))
            }
        }
    }

    @Test("files are 0600 in a folder of 0700, and wider ones are refused and left as they are")
    func modes() async throws {
        try await withAlice { test, app, _ in
            let store = FileSecretStore(app)
            try await store.save(Secret("s"), for: "token", of: "alice")
            let folder = "\(test.root)/accounts/alice/secrets"
            #expect(try FileSystem.status(folder)?.mode == 0o700)
            #expect(try FileSystem.status("\(folder)/token")?.mode == 0o600)
            try setMode(0o640, "\(folder)/token")
            await expectState(.permissionDenied) { _ = try await store.load("token", of: "alice") }
            #expect(try FileSystem.status("\(folder)/token")?.mode == 0o640)
            try setMode(0o600, "\(folder)/token")
            try setMode(0o750, folder)
            await expectState(.permissionDenied) { _ = try await store.load("token", of: "alice") }
            await expectState(.permissionDenied) {
                try await store.save(Secret("t"), for: "other", of: "alice")
            }
            try setMode(0o700, folder)
            #expect(try await store.load("token", of: "alice").secret == Secret("s"))
        }
    }

    @Test("a link, a folder and damaged bytes in an item's place are errors of their own, and kept")
    func damage() async throws {
        try await withAlice { test, app, _ in
            let store = FileSecretStore(app)
            try await store.save(Secret("secret"), for: "token", of: "alice")
            let path = "\(test.root)/accounts/alice/secrets/token"
            var bytes = try FileSystem.contents(of: path)
            for index in bytes.indices {
                bytes[index] ^= 1
                try FileSystem.replaceFile(at: path, with: bytes)
                await expectState(.damaged) { _ = try await store.load("token", of: "alice") }
                bytes[index] ^= 1
            }
            #expect(try FileSystem.contents(of: path).count == bytes.count)
            try FileSystem.rename(path, to: path + "2")
            try await onOwnThread {
                _ = try ChildProcess(program: "ln", arguments: ["-s", path + "2", path]).wait()
            }
            await expectState(.permissionDenied) { _ = try await store.load("token", of: "alice") }
        }
    }

    @Test(
        "an item that cannot be read hides no other, is named, and goes with all of the account's"
    )
    func damagedBesideOthers() async throws {
        try await withAlice { test, app, _ in
            let store = FileSecretStore(app)
            for service in ["one", "two"] as [SecretService] {
                try await store.save(Secret("s"), for: service, of: "alice")
            }
            let path = "\(test.root)/accounts/alice/secrets/one"
            try await store.checkItems(of: "alice")
            try FileSystem.replaceFile(at: path, with: Array("junk".utf8))
            #expect(try await store.services(of: "alice") == ["two"])
            let error = await #expect(throws: LockkeeperError.self) {
                try await store.checkItems(of: "alice")
            }
            #expect(error?.code == .damaged && error?.subject.contains("'secrets/one'") == true)
            let stores: any SecretStore = store
            try await stores.deleteAll(of: "alice")
            #expect(try FileSystem.list("\(test.root)/accounts/alice/secrets").isEmpty)
        }
    }

    @Test("an old item that a killed process left behind under a temporary name is removed")
    func leftovers() async throws {
        try await withAlice { test, app, _ in
            let store = FileSecretStore(app)
            try await store.save(Secret("s"), for: "token", of: "alice")
            let folder = "\(test.root)/accounts/alice/secrets"
            let child = try ChildProcess(program: "true", arguments: [])
            let pid = child.pid
            _ = try child.wait()
            let (abandoned, own) = (
                "\(folder)/token.\(pid)-1.tmp", "\(folder)/token.\(getpid())-99999.tmp"
            )
            for path in [abandoned, own] {
                try FileDescriptor(opening: path, [.writeOnly, .create]).write(Array("s".utf8))
            }
            #expect(try await store.services(of: "alice") == ["token"])
            try await store.replace(Secret("t"), for: "token", of: "alice")
            #expect(try FileSystem.status(abandoned) == nil)
            #expect(try FileSystem.status(own) != nil)
        }
    }

    @Test("nothing that is printed of a secret, an item or an error holds it")
    func silence() async throws {
        try await withAlice { test, app, _ in
            let store = FileSecretStore(app)
            let password = "hunter2-\(UInt64.random(in: 0...UInt64.max))"
            try await store.save(Secret(password), for: "token", of: "alice")
            let stored = try await store.load("token", of: "alice")
            var text = ""
            dump(stored, to: &text)
            text += "\(stored)\(stored.secret)\(String(reflecting: stored.secret))"
            let error = await expectState(.exists) {
                try await store.save(Secret(password), for: "token", of: "alice")
            }
            text += error?.description ?? ""
            #expect(!text.contains("hunter2") && text.contains("<secret>"))
        }
    }

    @Test("a rejected credential is rejected for every process, and what replaces it is not")
    func rejected() async throws {
        try await withAlice { test, app, alice in
            let store = FileSecretStore(app)
            let mine = try await Credentials(alice, store: store)
            let others = try await test.process("other")
            let theirs = try await Credentials(
                try await others.session("alice"),
                store: FileSecretStore(others)
            )
            let marks = theirs.observeRejection(of: "token").makeAsyncIterator()
            #expect(try await marks.next() == .some(nil))
            let first = try await store.save(Secret("old"), for: "token", of: "alice")
            #expect(try await theirs.load("token").isRejected == false)
            try await mine.reject(first, of: "token")
            #expect(try await marks.next() == .some(first))
            #expect(try await theirs.load("token").isRejected)
            #expect(try await theirs.load("token").stored.secret == Secret("old"))
            try await store.replace(Secret("new"), for: "token", of: "alice")
            #expect(try await theirs.load("token").isRejected == false)
            // The answer to a request with the old one comes late: it marks nothing of the new one.
            try await mine.reject(first, of: "token")
            #expect(try await theirs.load("token").isRejected == false)
        }
    }

    @Test(
        "signing out keeps secrets, removing the account removes them and lets none be made again"
    )
    func lifeOfTheAccount() async throws {
        try await withAlice { test, app, alice in
            let store = FileSecretStore(app)
            try await store.save(Secret("s"), for: "token", of: "alice")
            try await app.signOut("alice")
            // An old one is found at the next sign-in, which replaces it; none is as good.
            #expect(try await store.load("token", of: "alice").secret == Secret("s"))
            try await app.removeAccount("alice")
            await expectState(.unknownAccount) { _ = try await store.load("token", of: "alice") }
            await expectState(.unknownAccount) {
                try await store.save(Secret("s"), for: "token", of: "alice")
            }
            #expect(try FileSystem.list("\(test.root)/accounts/alice") == ["account.locks"])
        }
    }

    @Test("credentials of the service manager are read, the account's own before the common one")
    func systemd() async throws {
        let folder = try TemporaryDirectory()
        for (name, text) in [("token", "common"), ("token@alice", "own"), ("key@bob", "b")] {
            try FileDescriptor(opening: folder.file(name), [.writeOnly, .create])
                .write(Array(text.utf8))
        }
        let store = SystemdCredentialStore(folder: folder.path)
        #expect(try await store.load("token", of: "alice").secret == Secret("own"))
        #expect(try await store.load("token", of: "bob").secret == Secret("common"))
        #expect(try await store.services(of: "alice") == ["token"])
        #expect(try await store.services(of: "bob") == ["key", "token"])
        await expectState(.notFound) { _ = try await store.load("key", of: "alice") }
        await expectState(.notFound) { _ = try await store.load("../token", of: "alice") }
        await expectState(.permissionDenied) {
            try await store.save(Secret("s"), for: "new", of: "alice", accessibility: .always)
        }
        await expectState(.permissionDenied) { try await store.delete("token", of: "alice") }
        await expectState(.unavailable) {
            _ = try await SystemdCredentialStore(folder: nil).load("token", of: "alice")
        }
    }

    @Test(
        "a build without the Secret Service says that it has none",
        .enabled(if: !SecretServiceStore.isBuiltIn)
    )
    func notBuiltIn() async {
        let error = await expectState(.unavailable) {
            _ = try await SecretServiceStore().load("token", of: "alice")
        }
        #expect(error?.explanation.contains("trait") == true)
    }

    private func setMode(_ mode: UInt32, _ path: String) throws {
        let program = try ChildProcess(
            program: "chmod",
            arguments: [String(mode, radix: 8), path]
        )
        #expect(try program.wait() == .exited(0))
    }
}

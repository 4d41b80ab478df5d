import Glibc
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import Testing

@Suite("A store's files are opened in one way (I-11)")
struct StoreFileTests {
    private let store: TestStore

    init() throws { store = try TestStore() }

    @Test("every setting is as it was asked for, in each kind of connection")
    func settings() throws {
        for purpose in [StoreFile.Purpose.reading, .writing, .maintaining] {
            let connection = try StoreFile.open(
                store.path,
                for: purpose,
                environment: TestStore.environment(boot: 1),
                busyDeadline: .never
            )
            let settings: [(String, SQLValue)] = [
                ("journal_mode", "wal"), ("synchronous", 1), ("foreign_keys", 1),
                ("trusted_schema", 0), ("cell_size_check", 1), ("secure_delete", 1),
                ("temp_store", 2), ("page_size", 4096),
            ]
            for (name, value) in settings {
                #expect(try connection.value("PRAGMA \(name)") == value, "\(name)")
            }
            #expect(try connection.value("PRAGMA mmap_size")?.integer ?? 0 == 0)
        }
    }

    @Test("file, log and index belong to their user alone, and stay when everybody has left")
    func permissions() throws {
        try TestStore.insert(with: try store.writer())
        for suffix in ["", "-wal", "-shm"] {
            let status = try #require(try FileSystem.status(store.path + suffix))
            #expect(status.mode == 0o600)
        }
        let log = try #require(try FileSystem.status(store.path + "-wal"))
        #expect(log.size > 0, "closing did not checkpoint")
    }

    @Test("a new store takes no file's place")
    func exists() throws {
        let error = #expect(throws: StorageError.self) {
            try StoreFile.create(
                store.path,
                fence: try TestStore.fence(),
                migrations: [],
                environment: TestStore.environment(boot: 1),
                busyDeadline: .never
            )
        }
        guard case .fileExists(store.path) = error else {
            Issue.record("not there but \(String(describing: error))")
            return
        }
        try store.expectSound()
    }

    @Test("a file that is no database, or a database without a fence, is no store")
    func notAStore() throws {
        let rubbish = store.directory + "/rubbish.db"
        let file = try FileDescriptor(opening: rubbish, [.readWrite, .create])
        try file.write(Array(repeating: 0x41, count: 8192))
        let plain = store.directory + "/plain.db"
        let connection = try Connection(
            path: plain,
            mode: .create,
            clock: SystemClock(),
            busyDeadline: .never,
            jitterSeed: 1
        )
        try connection.execute("CREATE TABLE t(a)")
        for path in [rubbish, plain] {
            let error = #expect(throws: StorageError.self) {
                try StoreWriter(
                    path: path,
                    account: TestStore.alice,
                    origin: "test",
                    environment: TestStore.environment(boot: 1),
                    busyDeadline: .never
                )
            }
            switch error {
            case .notAStore(rubbish, _): #expect(path == rubbish)
            case .foreignDatabase(plain): #expect(path == plain)
            default: Issue.record("a store, or \(String(describing: error))")
            }
        }
    }

    @Test("a missing file is not made by opening it, and is told from one that may not be opened")
    func missing() throws {
        let path = store.directory + "/missing.db"
        let error = #expect(throws: StorageError.self) {
            try StoreFile.open(
                path,
                for: .writing,
                environment: TestStore.environment(boot: 1),
                busyDeadline: .never
            )
        }
        guard case .fileMissing(path) = error else {
            Issue.record("not missing but \(String(describing: error))")
            return
        }
        #expect(try FileSystem.status(path) == nil)
    }
}

import CLockkeeperSQLite
import Glibc
import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperSimulation
import LockkeeperState
import LockkeeperTesting
import Synchronization

/// A process that does one thing with a workspace, and dies or stands still in the middle of it.
///
///     open             opens the workspace
///     session ID       opens the workspace, then, in the middle of which it may die, a session
///     remove ID        opens the workspace, then, in the middle of which it may die, removes the account
///     migrate ID       the same with a program that has a schema of its own, ``polls``
///     library ID       the same with a program that knows messages and settings
///     restore ID FILE  the same with a backup
///     repair ID        the same with an account whose files are damaged
///     key ID FOLDER    opens the workspace with the keys in a folder, then, in the middle of which it may die,
///                      changes the account's key
///     media ID         opens the account, then, in the middle of which it may die, adds a large file, gives
///                      it other content, and evicts it
///
/// Where it dies or stands is counted: changes of database files by SQLite (each write, truncation,
/// sync and deletion), calls that Lockkeeper itself makes to change names and to sync folders, or
/// statements that SQLite runs.
///
///     change=N, call=N, statement=N it kills itself before the N-th, which it has not made then
///     stand-change=N, stand-call=N it says "stands" and stands still, until it is killed or a line comes
///
/// It says "done" where it came to the end, or "failed CODE: " and the error's sentences.
enum TaskTool {
    static func run(_ root: String, _ words: [String]) async {
        guard let point = Point(words.last ?? "") else { exit(64) }
        let zone = FaultZone(folder: root)
        do {
            switch (words.first, words.count) {
            case ("open", 2):
                try arm(point, zone)
                await (try open(root)).close()
            case ("session", 3):
                let workspace = try await open(root)
                try arm(point, zone)
                await (try workspace.session(AccountID(words[1]))).close()
                await workspace.close()
            case ("remove", 3):
                let workspace = try await open(root)
                try arm(point, zone)
                try await workspace.removeAccount(AccountID(words[1]))
                await workspace.close()
            case ("migrate", 3), ("library", 3):
                let schemas: [Schema] =
                    words[0] == "library" ? [.messages, .state] : [polls]
                let workspace = try await open(root, schemas)
                try arm(point, zone)
                try await workspace.migrate(AccountID(words[1]))
                await workspace.close()
            case ("restore", 4):
                let workspace = try await open(root)
                try arm(point, zone)
                _ = try await workspace.restore(AccountID(words[1]), from: words[2])
                await workspace.close()
            case ("media", 3):
                let workspace = try await open(root, [.state])
                let media = try await MediaStore(try await workspace.session(AccountID(words[1])))
                try arm(point, zone)
                for byte in [UInt8(1), 2] {
                    try await media.add("m", .bytes(Array(repeating: byte, count: 200_000)))
                }
                try await media.evict("m")
                await workspace.close()
            case ("repair", 3):
                let workspace = try await open(root)
                try arm(point, zone)
                _ = try await workspace.repair(AccountID(words[1]))
                await workspace.close()
            case ("key", 4):
                let workspace = try await open(root, [.state], keys: keys(in: words[2]))
                try arm(point, zone)
                _ = try await workspace.changeKey(of: AccountID(words[1]), waitMax: .seconds(60))
                await workspace.close()
            default: exit(64)
            }
            say("done")
        } catch let error as LockkeeperError {
            // One line, whatever statement is in it.
            say("failed \(error.code.rawValue): \(error)".replacing("\n", with: " "))
        } catch {
            say("failed otherwise: \(error)")
        }
    }

    private static func open(
        _ root: String,
        _ schemas: [Schema] = [],
        keys: (any StoreKeySource)? = nil
    ) async throws -> Workspace {
        var limits = Limits()
        // Machines that run tests have other work.
        limits.openWaitMax = .seconds(120)
        return try await Workspace.openApart(
            at: root,
            name: "task",
            schemas: schemas,
            limits: limits,
            vfs: FaultZone.vfs,
            keys: keys
        )
    }

    /// One step that makes a table of the rows of another, and one that makes that one anew.
    private static let polls = Schema(
        owner: "polls",
        migrations: [
            SchemaMigration(
                "202611010900_poll",
                sql: """
                    CREATE TABLE poll (id INTEGER PRIMARY KEY, title TEXT);
                    INSERT INTO poll SELECT id, text FROM entry;
                    CREATE INDEX poll_title ON poll (title)
                    """
            ),
            SchemaMigration("202611020900_entry", version: 1) { transaction in
                try transaction.rebuild(
                    "entry",
                    as: "(id INTEGER PRIMARY KEY, text TEXT, open INTEGER NOT NULL)",
                    filling: ["id": "id", "text": "text", "open": "1"]
                )
            },
        ]
    )

    /// Where it happens.
    private struct Point {
        let kind: Substring
        let stands: Bool
        let count: Int

        init?(_ word: String) {
            let parts = word.split(separator: "=")
            guard parts.count == 2, let count = Int(parts[1]) else { return nil }
            let names = ["change", "call", "statement", "stand-change", "stand-call"]
            guard names.contains(String(parts[0])) else { return nil }
            stands = parts[0].hasPrefix("stand-")
            kind = parts[0].split(separator: "-").last ?? ""
            self.count = count
        }
    }

    /// The calls that are counted: those after which another process sees other names, or that make
    /// names durable.
    private static let counted: [SystemCall] = [
        .unlink, .rmdir, .rename, .mkdir, .fsync, .link,
    ]

    private static func arm(_ point: Point, _ zone: FaultZone) throws {
        if point.kind == "statement" {
            countStatements(until: point.count)
        } else if point.kind == "call" {
            let made = Mutex(0)
            SystemFault.install { call, _ in
                guard counted.contains(call) else { return nil }
                let number = made.withLock { made in
                    defer { made += 1 }
                    return made
                }
                if number == point.count { arrive(point) }
                return nil
            }
        } else {
            zone.pauseAtChange(after: point.count)
            _ = try WorkerThread.start(name: "task-stand") {
                while !zone.awaitPause(within: .seconds(1)) {}
                arrive(point)
                zone.release()
            }
        }
    }

    /// Kills this process before the statement of a number, on whichever connection that is opened from
    /// now on.
    private static func countStatements(until count: Int) {
        statementsLeft.withLock { $0 = count }
        let entry: Extension = { database, _, _ in
            sqlite3_trace_v2(
                database,
                UInt32(SQLITE_TRACE_STMT),
                { _, _, _, _ in
                    let isReached = statementsLeft.withLock { left in
                        left -= 1
                        return left < 0
                    }
                    if isReached { kill(getpid(), SIGKILL) }
                    return 0
                },
                nil
            )
        }
        // SQLite's header has another type for it than it is called with.
        sqlite3_auto_extension(unsafeBitCast(entry, to: (@convention(c) () -> Void).self))
    }

    /// What SQLite calls for each connection that it opens.
    private typealias Extension =
        @convention(c) (
            OpaquePointer?, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, OpaquePointer?
        ) -> Int32

    private static func arrive(_ point: Point) {
        guard point.stands else {
            kill(getpid(), SIGKILL)
            // Until the signal has come.
            while true { pause() }
        }
        say("stands")
        _ = hear()
    }
}

/// Statements that still run before the process kills itself.
private let statementsLeft = Mutex(0)

/// The keys that files in a folder hold.
func keys(in folder: String) -> any StoreKeySource {
    SecretStoreKeys(FileSecretStore(folder: folder))
}

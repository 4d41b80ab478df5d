import Glibc
import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation
import Synchronization

/// A process that does one thing with a workspace, and dies or stands still in the middle of it.
///
///     open             opens the workspace
///     session ID       opens the workspace, then, in the middle of which it may die, a session
///     remove ID        opens the workspace, then, in the middle of which it may die, removes the account
///
/// Where it dies or stands is counted: changes of database files by SQLite (each write, truncation,
/// sync and deletion), or calls that Lockkeeper itself makes to change names and to sync folders.
///
///     change=N, call=N            it kills itself before the N-th, which it has not made then
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

    private static func open(_ root: String) async throws -> Workspace {
        try await Workspace.openApart(at: root, name: "task", vfs: FaultZone.vfs)
    }

    /// Where it happens.
    private struct Point {
        let isCall: Bool
        let stands: Bool
        let count: Int

        init?(_ word: String) {
            let parts = word.split(separator: "=")
            guard parts.count == 2, let count = Int(parts[1]) else { return nil }
            let names = ["change", "call", "stand-change", "stand-call"]
            guard names.contains(String(parts[0])) else { return nil }
            stands = parts[0].hasPrefix("stand-")
            isCall = parts[0].hasSuffix("call")
            self.count = count
        }
    }

    /// The calls that are counted: those after which another process sees other names, or that make
    /// names durable.
    private static let counted: [SystemCall] = [.unlink, .rmdir, .rename, .mkdir, .fsync]

    private static func arm(_ point: Point, _ zone: FaultZone) throws {
        if point.isCall {
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

import Glibc
import LockkeeperPlatform
import LockkeeperTestSupport
import Testing

/// A point at which a process kills itself or stands still; see `TaskTool`.
enum KillPoint {
    /// Changes that SQLite makes to database files.
    case change
    /// Calls by which Lockkeeper itself changes names and syncs folders.
    case call
    /// Statements that SQLite runs.
    case statement
}

/// Kills a task before each point of some kinds, as many as there are, and looks each time.
///
/// - Parameters:
///   - stride: how many points lie between two that are tried; the first one is drawn.
///   - wholeStride: the same where all tests are run in full.
///   - prepare: makes what the task will do necessary.
///   - judge: looks at what the killed process left behind.
/// - Returns: how many points of each kind were tried.
func killAtEachPoint(
    _ root: String,
    _ task: [String],
    of kinds: [KillPoint] = [.change, .call],
    stride: Int = 1,
    wholeStride: Int = 1,
    prepare: () async throws -> Void,
    judge: (_ comment: Comment) async throws -> Void
) async throws -> [Int] {
    let seed = UInt64.random(in: 0...UInt64(UInt32.max))
    let isWholeRun = Environment.variable("LOCKKEEPER_TEST_ALL") != nil
    print("seed=\(seed)")
    var counts: [Int] = []
    for point in kinds {
        let stride = isWholeRun ? wholeStride : stride
        var number = Int(seed % UInt64(stride))
        var count = 0
        while number < 5000 {
            try await prepare()
            let words = task + ["\(point)=\(number)"]
            let (status, said) = try await onOwnThread {
                let process = try LineProcess.task(root, words)
                return (process.end(), try? process.hear())
            }
            let comment: Comment =
                "seed=\(seed), \(words): \(status.map { "\($0)" } ?? "still there"), \(said ?? "")"
            try await judge(comment)
            guard status == .signalled(SIGKILL) else {
                #expect(status == .exited(0) && said == "done", comment)
                break
            }
            count += 1
            number += stride
        }
        print("\(task): killed at \(count) of \(number) points of kind \(point)")
        counts.append(count)
    }
    return counts
}

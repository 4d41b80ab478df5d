import LockkeeperDomain
import LockkeeperPlatform

/// When an account's log is looked at because its file has moved: a writer may die between its commit
/// and its announcement (5.6).
///
/// ```
/// resting ──file moves──▶ 1 ms ──▶ 10 ms ──▶ 100 ms: watch again, look ──▶ 101 ms ──▶ 110 ms ──▶ resting
///    watched                  (not looked at, where commits were heard of)              looked at
/// ```
///
/// The file moves before the commit can be seen, hence more than one look. Most commits are announced
/// a moment later, and then the early looks are left out. While it waits the file is not watched, so
/// that a busy log costs one event and three readings each tenth of a second; the looks after it is
/// watched again find what moved in between.
struct LookCycle: Sendable, Equatable {
    /// What is to be done.
    enum Step: Sendable, Equatable {
        case nothing
        case look
        case watchAndLook
    }

    private var began: MonotonicInstant
    private var step: Int
    private let head: CommitNumber?

    private static let offsets: [Duration] = [1, 10, 100, 101, 110].map { .milliseconds($0) }
    private static let watchedAt = 2

    /// Begins because the file has moved.
    ///
    /// - Parameter head: the newest commit that the hub knows.
    init(movedAt now: MonotonicInstant, head: CommitNumber?) {
        began = now
        step = 0
        self.head = head
    }

    /// Begins because a file is watched for the first time: it may have moved just before.
    init(watchedAt now: MonotonicInstant) {
        began = now.advanced(by: .zero - Self.offsets[Self.watchedAt])
        step = Self.watchedAt + 1
        head = nil
    }

    /// When the next step is due; `nil` at the end.
    var deadline: Deadline? {
        step < Self.offsets.count ? Deadline(after: Self.offsets[step], from: began) : nil
    }

    /// Takes the step that is due.
    mutating func advance(at now: MonotonicInstant, head: CommitNumber?) -> Step {
        guard let deadline, deadline.hasPassed(at: now) else { return .nothing }
        defer { step += 1 }
        if step == Self.watchedAt { return .watchAndLook }
        return step < Self.watchedAt && head != self.head ? .nothing : .look
    }
}

/// The log files of the accounts that somebody listens to. Used by the hub's thread alone. Where the
/// kernel gives no watch, the slow poll finds what this would have found.
final class LogWatches {
    private struct Log {
        var path: String
        var cycle: LookCycle?
    }

    private let kernel = try? FileModificationWatch()
    private var logs: [StreamName: Log] = [:]
    private var streams: [FileModificationWatch.Token: StreamName] = [:]

    /// The descriptor to wait for, where there is one.
    var raw: Int32? { kernel?.raw }

    /// When the next look is due.
    var nextDeadline: Deadline? { logs.values.lazy.compactMap { $0.cycle?.deadline }.min() }

    /// Watches the file in which a reading found a stream's log.
    func follow(_ stream: StreamName, at path: String, now: MonotonicInstant) {
        guard logs[stream]?.path != path else { return }
        logs[stream] = Log(path: path, cycle: LookCycle(watchedAt: now))
        watch(stream)
    }

    /// Takes what has moved, and gives the streams that are to be looked at.
    ///
    /// - Parameter head: the newest commit that the hub knows of a stream; `nil` where nobody
    ///   listens to it any more.
    func takeDue(at now: MonotonicInstant, head: (StreamName) -> CommitNumber?) -> [StreamName] {
        for token in kernel?.take() ?? [] {
            guard let stream = streams.removeValue(forKey: token) else { continue }
            if logs[stream]?.cycle == nil {
                logs[stream]?.cycle = LookCycle(movedAt: now, head: head(stream))
            }
        }
        var due: [StreamName] = []
        for stream in logs.keys where logs[stream]?.cycle?.deadline?.hasPassed(at: now) == true {
            guard let known = head(stream) else {
                logs[stream] = nil
                continue
            }
            switch logs[stream]?.cycle?.advance(at: now, head: known) ?? .nothing {
            case .nothing: break
            case .look: due.append(stream)
            case .watchAndLook:
                watch(stream)
                due.append(stream)
            }
            if logs[stream]?.cycle?.deadline == nil { rest(stream, now) }
        }
        return due
    }

    /// A file that moved during the last looks begins anew.
    private func rest(_ stream: StreamName, _ now: MonotonicInstant) {
        let isWatched = streams.values.contains(stream)
        logs[stream]?.cycle = isWatched ? nil : LookCycle(movedAt: now, head: nil)
    }

    private func watch(_ stream: StreamName) {
        guard let path = logs[stream]?.path, let token = try? kernel?.watch(path) else { return }
        streams[token] = stream
    }
}

package import LockkeeperDomain
package import LockkeeperPlatform
import Synchronization

/// The workspace's hub: writers announce their commits to it, subscribers hear of them from it.
///
/// A hub is held by whoever holds the lock that says so; it does not look at that lock itself. It
/// has two threads: one for the sockets, which never waits for a client or a disk, and one that
/// reads the logs of accounts through ``HubSource``. A range that continues what the hub knows is
/// passed on without looking into the log; the log is read for gaps, for who comes late or falls
/// behind, and once each interval for commits that nobody announced.
///
/// Everything that goes through it is a hint. A hub that dies, is stopped or loses a line costs
/// delay: feeds look at the store themselves when they hear nothing.
package final class Hub: Sendable {
    private let mailbox: HubMailbox
    private let reader: LogReader
    private let thread: WorkerThread
    private let status: HubStatus

    /// Opens the socket and starts the threads.
    ///
    /// - Parameters:
    ///   - path: The socket's path. A socket file that is there is replaced: the caller holds the
    ///     lock that says that no other hub lives.
    ///   - inherited: A socket that the service manager has bound there, if it has.
    ///   - limits: The bounds for lines, backlogs and subscribers, and the intervals.
    ///   - lineWaitMax: How long a client may take for one line, its first one from connecting on.
    ///   - clock: Where deadlines are read from; the kernel's waits follow it.
    ///   - source: Where the logs are read.
    ///   - handOver: How it gives way to another hub, where it does.
    ///   - metrics: The numbers of this process for who asks, by the number of clients. On the hub's
    ///     thread; must not wait.
    /// - Throws: ``NotifierError`` when the socket or a thread cannot be had.
    package init(
        path: String,
        inheriting inherited: Int32? = nil,
        limits: Limits,
        lineWaitMax: Duration = .seconds(10),
        clock: any MonotonicClock,
        source: any HubSource,
        handOver: HubHandOver? = nil,
        metrics: @escaping @Sendable (Int) -> HubMetrics = { count in
            HubMetrics(pid: 0, name: "", role: "", connectionCount: count, stages: [:])
        }
    ) throws(NotifierError) {
        let status = HubStatus()
        self.status = status
        let listener: UnixListener
        do throws(UnixSocketError) {
            listener =
                if let inherited {
                    try UnixListener(inheriting: inherited, path: path)
                } else {
                    try UnixListener(path: path, replacesLeftover: true, isBlocking: false)
                }
        } catch {
            throw .socket(error)
        }
        do throws(SystemCallError) {
            let mailbox = try HubMailbox(announcementCountMax: limits.subscriberBacklogMax)
            let reader = try LogReader(source: source) { mailbox.post($1, to: $0) }
            self.mailbox = mailbox
            self.reader = reader
            thread = try Self.startThread(orStopping: reader) {
                HubLoop(
                    listener: listener,
                    mailbox: mailbox,
                    reader: reader,
                    limits: limits,
                    lineWaitMax: lineWaitMax,
                    clock: clock,
                    status: status,
                    handOver: handOver,
                    metrics: metrics
                ).run()
                handOver?.ended()
            }
        } catch {
            throw .system(error)
        }
    }

    deinit { close() }

    /// How many clients are connected, writers and subscribers.
    package var connectionCount: Int { status.connectionCount.load(ordering: .relaxed) }

    /// Whether the socket can be reached at its path. It cannot while something that is no socket
    /// stands there; the hub tries again each interval (B107).
    package var isReachable: Bool { status.isReachable.load(ordering: .relaxed) }

    /// Why the hub has stopped by itself; `nil` while it serves and after ``close()``.
    package var failure: NotifierError? { status.failure.withLock { $0 } }

    /// Takes what is known of connections that were refused because they were another user's.
    package func takeStrangers() -> Strangers? { status.strangers.withLock { $0.take() } }

    /// Passes on commits of this process; the others' come through the socket. Never waits.
    package func announce(_ range: ChangeRange) { mailbox.post(range) }

    /// Has a stream's log read, because its file moved and nobody announced anything yet.
    package func look(at stream: StreamName) { mailbox.post(lookAt: stream) }

    /// Tells an account's subscribers that the right to write it has changed hands, after what its
    /// log still holds of the old generation.
    package func changeGeneration(of account: AccountID, to change: GenerationChange) {
        mailbox.post(change, of: account)
    }

    /// Closes every connection, removes the socket file and ends the threads. Waits for a reading
    /// that is under way. Does nothing the second time.
    package func close() {
        mailbox.stop()
        thread.join()
        reader.stop()
    }

    private static func startThread(
        orStopping reader: LogReader,
        _ body: @escaping @Sendable () -> Void
    ) throws(SystemCallError) -> WorkerThread {
        do throws(SystemCallError) {
            return try WorkerThread.start(name: "lk-hub", body: body)
        } catch {
            reader.stop()
            throw error
        }
    }
}

/// Connections of other users, which a hub refuses.
package struct Strangers: Sendable, Hashable {
    /// How many there were.
    package fileprivate(set) var count = 0
    /// Who made the last one; a kernel that does not tell is as good as another user.
    package fileprivate(set) var last: PeerCredentials?

    /// No connection.
    fileprivate init() {}
}

/// What the hub's thread tells others.
final class HubStatus: Sendable {
    let strangers = Mutex<Strangers?>(nil)
    let connectionCount = Atomic<Int>(0)
    let isReachable = Atomic<Bool>(true)
    let failure = Mutex<NotifierError?>(nil)

    /// Counts a connection of another user.
    func note(stranger: PeerCredentials?) {
        strangers.withLock { strangers in
            var known = strangers ?? Strangers()
            known.count += 1
            known.last = stranger
            strangers = known
        }
    }
}

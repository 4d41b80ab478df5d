/// Every bound of the system, each with its reason (I-9).
public struct Limits: Sendable, Hashable {
    /// Events in one batch. A hundred keep a transaction below a few milliseconds, so that nobody
    /// waits long, and leave the cost of the commit far behind that of the rows.
    public var batchEventCountMax = 100
    /// Bytes in one batch, for the same reason where events are large.
    public var batchByteCountMax = 256 * 1024
    /// The age of a batch's oldest event at which it is closed. Below what a person notices.
    public var batchAgeMax: Duration = .milliseconds(50)

    /// Events that wait in the queue of one process before producers wait: forty full batches.
    public var queueEventCountMax = 4096
    /// Bytes that wait in the queue of one process before producers wait.
    public var queueByteCountMax = 8 * 1024 * 1024

    /// Bytes in one message body. Larger content is an attachment.
    public var bodyByteCountMax = 1024 * 1024
    /// Bytes in one event line, 8 times the body: every byte may be written as an escape.
    public var lineByteCountMax = 8 * 1024 * 1024
    /// Bytes of an over-long line that quarantine keeps.
    public var quarantinedByteCountMax = 1024 * 1024
    /// Nesting of JSON values in one line.
    public var nestingDepthMax = 32

    /// How long a write waits for admission, foreign writers included. Longer than any healthy
    /// queue, shorter than a person's patience.
    public var admissionWaitMax: Duration = .seconds(5)
    /// How long WRITER must be free while QUEUE is held, with no admission in between, before QUEUE
    /// is passed by because its holder is stopped. A running holder takes a free WRITER within
    /// microseconds; a hundred times a scheduler's delay, and not felt by a person.
    public var queuePassedByAfter: Duration = .milliseconds(20)
    /// How long a process that holds WRITER goes on with the next work in its line before it lets
    /// the next process in. Each change of process finds SQLite's cache of pages void, which costs a
    /// third of a small transaction. Twice as long gains another tenth; who waits at the door waits as
    /// long.
    public var admissionTimeMax: Duration = .milliseconds(1)
    /// How long opening waits for another process's migration or exclusive work.
    public var openWaitMax: Duration = .seconds(30)

    /// Frames in the log before the host checkpoints: 4 MiB, a few milliseconds of copying.
    public var checkpointFrameCount = 1000
    /// Frames in the log before a process checkpoints where no host lives.
    public var checkpointFrameCountWithoutHost = 2000
    /// Frames in the log before another process checkpoints although a host lives: the host's tick
    /// comes once a second, and a host that is stopped does not come.
    public var checkpointFrameCountBesideHost = 4000
    /// For how long nobody must have written before the host empties the log's file: a pause in a
    /// chat. The next commits are dearer, and what was recalled must not stay in the file.
    public var checkpointIdleAfter: Duration = .seconds(10)
    /// Frames in the log above which the most of it is copied before WRITER is taken: 16 MiB take
    /// tens of milliseconds, for which writers need not wait.
    public var checkpointFrameCountUnderWriter = 4000
    /// How long shortening the log may wait for readers, while every writer waits with it.
    public var truncateWaitMax: Duration = .milliseconds(50)
    /// How long a checkpoint that a reader kept from its end is not tried again. Most readers are gone
    /// in a moment; one that stays makes each attempt wait twice as long as the one before.
    public var checkpointRetry = Backoff(least: .milliseconds(4), largest: .seconds(1))
    /// Size of the log from which the store counts as degraded.
    public var logByteCountDegraded = 64 * 1024 * 1024
    /// How far apart a process's backfill batches are kept at most while the log is degraded: this at
    /// twice the mark, in proportion between. Four batches a second still make progress, and fill a
    /// disk more slowly than a person can end the reader that pins the log.
    public var degradedBackfillPause: Duration = .milliseconds(250)
    /// How far apart a process's live writes are kept at most while the log is degraded: this at four
    /// times the mark, nothing up to twice. Hardly felt by a person.
    public var degradedLivePause: Duration = .milliseconds(50)

    /// Reader connections of one session, each with a thread.
    public var readerCountMax = 4

    /// Bytes in one line of the notifier.
    public var notifierLineByteCountMax = 64 * 1024
    /// Ranges that wait for one subscriber before they are merged.
    public var subscriberBacklogMax = 256
    /// Connections that the hub keeps.
    public var subscriberCountMax = 256
    /// How long ranges are merged under load before they are sent.
    public var notifierMergeWait: Duration = .milliseconds(5)
    /// Subscribers to whom the hub sends at once. As many as wake together, each for a few hundredths
    /// of a millisecond of processor time.
    public var notifierTurnCountMax = 8
    /// What the hub leaves between two such turns, for those who write. A hundred subscribers are told
    /// within 25 ms, in which further commits are merged.
    public var notifierTurnPause: Duration = .milliseconds(2)
    /// How often hub and feeds look at the database although nobody announced anything, and how
    /// often the hub sends a heartbeat.
    public var slowPollInterval: Duration = .seconds(1)

    /// Edges of one stream that wait for their predecessor, and as many passed ones.
    public var edgeCountMax = 4096
    /// Messages that may wait for their seq and sender: as many as a client is ever ahead of its
    /// backfill, few enough to be looked through.
    public var waitingMessageCountMax = 10_000
    /// Positions of one person in one conversation that may wait for the messages that they name: a
    /// device that was away reports its last few.
    public var waitingPositionCountMax = 64
    /// Positions by message that are remembered once the message's place is known, for one person in
    /// one conversation: a server that moves a message moves one of the newest.
    public var positionMessageCountMax = 8
    /// Items that may be put aside before nothing more is taken: far more than a person looks through,
    /// and as many as are listed without trouble.
    public var quarantineCountMax = 10_000
    /// Bytes that may be put aside, for the same reason.
    public var quarantineByteCountMax = 64 * 1024 * 1024

    /// How far the time of day may run away from the monotonic clock between two looks before it counts
    /// as set: far more than clocks drift, less than any message's life.
    public var expiryJumpMax: Duration = .seconds(2)
    /// How long the time of day must have gone on evenly before expired messages are removed by it: a
    /// clock that is wrong after a boot is corrected within minutes.
    public var expirySteadyAfter: Duration = .seconds(600)
    /// Expired messages that are removed in one transaction: a few milliseconds of work.
    public var expiredPerPassCountMax = 100

    /// Bytes of one packet that is delivered: one event line, the largest thing a server sends.
    public var packetByteCountMax = 8 * 1024 * 1024
    /// How long a delivery tries to store a packet before it keeps it as a file: a push helper has
    /// seconds to live, and a file costs milliseconds.
    public var deliveryWaitMax: Duration = .seconds(1)
    /// Packets of one account that are kept as files: more than come for an account that is signed out
    /// of before a person notices; few enough to be listed while a helper lives.
    public var inboxPacketCountMax = 4096
    /// Bytes of one account's packets that are kept as files, for the same reason: on a small device
    /// not more than a few videos.
    public var inboxByteCountMax = 64 * 1024 * 1024
    /// How often somebody begins to apply a kept packet before it is parked: one that ends the process
    /// each time must not end every process that comes.
    public var inboxAttemptCountMax = 5
    /// Bytes of the disk that each account holds for the inbox of times when the disk is full: a few
    /// hundred pushes.
    public var inboxReserveByteCount = 1024 * 1024
    /// How long kept packets that could not be applied are left where nothing new came.
    public var inboxRetry = Backoff(least: .milliseconds(100), largest: .seconds(30))

    /// For how long a process must not have written before it does what can be done at any time, like
    /// indexing: so it comes in batches, and not behind every message of a conversation.
    public var upkeepIdleAfter: Duration = .seconds(1)
    /// How long one pass of that may take. The next one follows soon.
    public var upkeepTimeMax: Duration = .milliseconds(500)
    /// How long one pass of that may take while somebody writes: a twentieth of the time.
    public var upkeepTimeMaxBesideOthers: Duration = .milliseconds(50)

    /// Backups that migrations made which are kept of each of an account's databases: the one to go back
    /// to, and the one before it.
    public var migrationBackupCount = 2
    /// How long they are kept at most: text that was recalled stands in them until then.
    public var migrationBackupTimeMax: Duration = .seconds(30 * 24 * 3600)

    /// How long an item of the outbox or an effect is left after an attempt that failed. The largest
    /// wait is what a person who has a network again accepts before the message goes out by itself.
    public var attemptRetry = Backoff(least: .seconds(1), largest: .seconds(300))
    /// How long a server may ask to be left alone, by an answer to one attempt: longer is taken for a
    /// mistake.
    public var attemptRetryAfterMax: Duration = .seconds(3600)
    /// Attempts that fail before an item or effect is parked: two hours of a server that refuses.
    /// Who knows that there is no network makes no attempt.
    public var attemptFailureCountMax = 30
    /// Attempts that nobody answers, because the claimer died, before an item or effect is parked: one
    /// that ends the process each time must not end every process that comes (B100).
    public var attemptUnansweredCountMax = 5
    /// Items of one account that the outbox holds: more than a person writes on a long flight, few
    /// enough to be looked through at each claim.
    public var outboxItemCountMax = 4096
    /// Messages of one's own of which the outbox remembers that they were sent, so that none is sent
    /// again by a program that had not noticed.
    public var sentMemoryCountMax = 10_000

    /// The defaults.
    public init() {}
}

import LockkeeperDomain

@testable import LockkeeperIngest

/// Time drawn as text: one column is one step of 10 ms on a virtual clock.
///
/// In a row of arrivals `.` is nothing, a small letter is an element of one event and one byte, a
/// capital letter one of five bytes, `!` marks the element before it as to be committed at once,
/// `F` is no element but flushes, and `|` ends the input. The writer takes every batch
/// as soon as it is ready, unless `writes` says at which steps it looks.
struct BatchDiagram {
    private var machine: BatchQueueStateMachine<String>
    private var waiting: [ProducerID: String] = [:]
    private var tickAt: Deadline?

    /// What the writer took in each step, batches joined by `/`.
    private(set) var batches: [String] = []
    /// Whose producers went on in each step after they had waited.
    private(set) var resumed: [String] = []

    init(arrivals: String, writes: String? = nil, limits: BatchLimits) {
        machine = BatchQueueStateMachine(limits: limits)
        let steps = arrivals.split(separator: " ")
        let looks = writes?.split(separator: " ").map { $0 == "w" }
        for (step, arrival) in steps.enumerated() {
            let now = MonotonicInstant(nanoseconds: Int64(step) * 10_000_000)
            if let tickAt, tickAt.hasPassed(at: now) {
                self.tickAt = nil
                note(machine.tick(at: now))
            }
            offer(Array(arrival), at: now)
            take(looks?[step] ?? true, at: now)
        }
    }

    private mutating func offer(_ arrival: [Character], at now: MonotonicInstant) {
        for (index, character) in arrival.enumerated() {
            switch character {
            case ".", "!": break
            case "|": note(machine.finish(at: now))
            case "F": note(machine.flush(at: now))
            default:
                let isUrgent = index + 1 < arrival.count && arrival[index + 1] == "!"
                let byteCount = character.isUppercase ? 5 : 1
                let producer = ProducerID(UInt64(waiting.count))
                let offer = BatchQueueStateMachine<String>.Offer(
                    String(character),
                    1,
                    byteCount,
                    isUrgent
                )
                switch machine.offer(offer, by: producer, at: now) {
                case .accept(let signals): note(signals)
                case .wait(let signals):
                    waiting[producer] = String(character)
                    note(signals)
                case .refuse(let error): preconditionFailure("\(error)")
                }
            }
        }
    }

    private mutating func take(_ looks: Bool, at now: MonotonicInstant) {
        var taken: [String] = []
        var names = ""
        while looks {
            let action = machine.takeBatch(at: now)
            guard let batch = action.batch else { break }
            taken.append(batch.elements.joined())
            names += action.resumed.map { waiting[$0, default: "?"] }.joined()
            note(action.signals)
        }
        batches.append(taken.isEmpty ? "." : taken.joined(separator: "/"))
        resumed.append(names.isEmpty ? "." : names)
    }

    private mutating func note(_ signals: BatchQueueStateMachine<String>.Signals) {
        if let deadline = signals.deadline {
            precondition(tickAt == nil, "at most one tick is outstanding")
            tickAt = deadline
        }
    }
}

extension BatchLimits {
    /// Small bounds: 3 events or 4 bytes a batch, 50 ms, 6 events or 10 bytes in the queue.
    static var small: BatchLimits {
        var limits = BatchLimits(Limits())
        limits.batchEventCountMax = 3
        limits.batchByteCountMax = 4
        limits.queueEventCountMax = 6
        limits.queueByteCountMax = 10
        return limits
    }
}

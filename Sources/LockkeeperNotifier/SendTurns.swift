import LockkeeperDomain

/// Who is sent to when: a pure value.
///
/// ```
/// nobody waits ──append()──▶ some wait ──takeTurn()──▶ as many as are sent to at once are taken
///      ▲                        ▲                       │ nobody is left │ others wait
///      │                        └──the pause is over────┼────────────────┘
///      └────────────────────────────────────────────────┘
/// ```
///
/// A line wakes whoever it is sent to. A hundred that wake at once stand before the writer whose
/// commit they are told of, and before the next one, on every processor there is. So they are told
/// a few at a time, with a pause behind each few in which writers come to their turn. Where no more
/// listen than are told at once there is no pause.
struct SendTurns: Sendable {
    private let countMax: Int
    private let pause: Duration
    private var waiting: [ConnectionID] = []
    /// Those before this index were taken.
    private var firstIndex = 0
    private var members: Set<ConnectionID> = []

    /// - Parameters:
    ///   - countMax: how many are sent to at once.
    ///   - pause: what is left between two turns.
    init(countMax: Int, pause: Duration) {
        precondition(countMax > 0, "somebody is sent to")
        self.countMax = countMax
        self.pause = pause
    }

    /// When the next turn is due; `nil` where nobody waits for one.
    private(set) var nextTurn: Deadline?

    /// Puts connections into the line; who stands in it already keeps the place.
    mutating func append(_ connections: some Sequence<ConnectionID>) {
        for connection in connections where members.insert(connection).inserted {
            waiting.append(connection)
        }
    }

    /// Takes who is to be sent to now: nobody where the turn is not due.
    mutating func takeTurn(at now: MonotonicInstant) -> ArraySlice<ConnectionID> {
        guard !members.isEmpty, nextTurn?.hasPassed(at: now) ?? true else { return [] }
        let turn = waiting[firstIndex...].prefix(countMax)
        members.subtract(turn)
        firstIndex += turn.count
        if firstIndex == waiting.count {
            waiting = []
            firstIndex = 0
        }
        nextTurn = members.isEmpty ? nil : Deadline(after: pause, from: now)
        return turn
    }
}

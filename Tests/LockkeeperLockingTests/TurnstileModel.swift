import LockkeeperDomain

@testable import LockkeeperLocking

/// Processes, their threads and timers, the kernel's two locks and the two words, for enumeration.
/// What decides is the shipped code: ``Passage`` and ``QueueWatch``. One action is one system call,
/// so that everything that can happen between two calls does.
///
/// Time is counted in the watch's own unit. It passes only when no running process can go on, which
/// says that a running process makes its next call within that unit.
struct TurnstileModel: Hashable {
    enum Action: Hashable {
        /// A caller comes, and the thread makes its first call.
        case ask(Int)
        /// The thread makes its next call, or is granted what it waits for.
        case step(Int)
        /// The work ends, and WRITER is let go.
        case leave(Int)
        /// The timer's thread makes the next call of its look.
        case look(Int)
        case tick
        case stop(Int), proceed(Int), kill(Int)
    }

    struct Process: Hashable {
        var passage: Passage?
        var watch: QueueWatch?
        var nextLook: MonotonicInstant?
        var look: Look?
        var order: UInt64?
        var pending: Pending?
        var waitsFor: Lock?
        var isInside = false
        var isStopped = false
        /// Since it asked.
        var wasStopped = false
        var isDead = false
        var asksLeft: Int

        var isRunning: Bool { !isStopped && !isDead }
    }

    /// A call that was decided and is not made yet.
    enum Pending: Hashable {
        case clearSkipWord
        case readWords
        case write(TurnstileWords, over: TurnstileWords)
    }

    /// A look under way: its calls one after the other.
    struct Look: Hashable {
        var words: TurnstileWords
        var isQueueHeld: Bool?
    }

    enum Lock: Hashable { case queue, writer }

    var processes: [Process]
    var holders: [Lock: Int] = [:]
    var lines: [Lock: [Int]] = [.queue: [], .writer: []]
    var words = TurnstileWords(admissionCount: 0, isQueuePassedBy: false)
    var now = MonotonicInstant(nanoseconds: 0)
    var ticksLeft: Int
    var stopsLeft: Int
    var killsLeft: Int
    var wasEverStopped = false
    var violation: String?
    /// Whether a watch can find out that QUEUE's holder runs.
    let findsHolders: Bool

    static let unit = Duration.nanoseconds(1)

    init(
        processCount: Int,
        asks: Int,
        ticks: Int,
        stops: Int,
        kills: Int,
        findsHolders: Bool
    ) {
        self.findsHolders = findsHolders
        processes = Array(repeating: Process(asksLeft: asks), count: processCount)
        ticksLeft = ticks
        stopsLeft = stops
        killsLeft = kills
    }

    // MARK: - What can happen

    var actions: [Action] {
        var actions: [Action] = []
        for (index, process) in processes.enumerated() {
            if process.isRunning {
                if process.passage == nil && process.asksLeft > 0 { actions.append(.ask(index)) }
                if canStep(index) { actions.append(.step(index)) }
                if process.isInside { actions.append(.leave(index)) }
                if isLookDue(index) { actions.append(.look(index)) }
            }
            if process.isRunning && stopsLeft > 0 { actions.append(.stop(index)) }
            if process.isStopped { actions.append(.proceed(index)) }
            if !process.isDead && killsLeft > 0 { actions.append(.kill(index)) }
        }
        if canTick { actions.append(.tick) }
        return actions
    }

    /// Whether nothing is left to happen but what people do.
    var isAtRest: Bool {
        !actions.contains { action in
            switch action {
            case .stop, .proceed, .kill: false
            case .ask, .step, .leave, .look, .tick: true
            }
        }
    }

    private var canTick: Bool {
        ticksLeft > 0
            && processes.contains { $0.isRunning && $0.waitsFor == .queue }
            && processes.indices.allSatisfy {
                !processes[$0].isRunning || (!canStep($0) && !isLookDue($0))
            }
    }

    private func canStep(_ index: Int) -> Bool {
        let process = processes[index]
        guard process.passage != nil, !process.isInside else { return false }
        guard let lock = process.waitsFor else { return true }
        if lock == .queue && process.order != nil { return true }
        return holders[lock] == nil && lines[lock]?.first == index
    }

    private func isLookDue(_ index: Int) -> Bool {
        guard processes[index].waitsFor == .queue else { return false }
        return processes[index].look != nil
            || (processes[index].nextLook.map { $0 <= now } ?? false)
    }

    // MARK: - What happens

    mutating func apply(_ action: Action) {
        switch action {
        case .ask(let index):
            processes[index].asksLeft -= 1
            processes[index].wasStopped = false
            processes[index].passage = Passage()
            step(index)
        case .step(let index): step(index)
        case .leave(let index): leave(index)
        case .look(let index): look(index)
        case .tick:
            ticksLeft -= 1
            now = now.advanced(by: Self.unit)
        case .stop(let index):
            stopsLeft -= 1
            wasEverStopped = true
            processes[index].isStopped = true
            processes[index].wasStopped = true
            unlist(index)
        case .proceed(let index):
            processes[index].isStopped = false
            // The kernel makes the interrupted call again, at the end of the line.
            if let lock = processes[index].waitsFor { lines[lock, default: []].append(index) }
        case .kill(let index):
            killsLeft -= 1
            unlist(index)
            for (lock, holder) in holders where holder == index { holders[lock] = nil }
            processes[index] = Process(isDead: true, asksLeft: 0)
        }
        if !wasEverStopped && words.isQueuePassedBy {
            violation = "the skip word is set, and nobody was ever stopped"
        }
    }

    private mutating func step(_ index: Int) {
        if let pending = processes[index].pending { return finish(pending, index) }
        if let lock = processes[index].waitsFor { return endWait(lock, index) }
        guard var passage = processes[index].passage else { return }
        switch passage.next {
        case .tryQueue: passage.queueTried(isTaken: take(.queue, index))
        case .tryWriter: passage.writerTried(isTaken: take(.writer, index))
        case .readSkipWord:
            if passage.skipWordRead(isSet: words.isQueuePassedBy) {
                processes[index].pending = .clearSkipWord
            }
        case .awaitQueue:
            processes[index].order = nil
            processes[index].watch = QueueWatch(after: Self.unit)
            processes[index].nextLook = now.advanced(by: Self.unit)
            wait(.queue, index)
        case .awaitWriter: wait(.writer, index)
        case .settle(let holdsQueue, _):
            if holdsQueue { holders[.queue] = nil }
            processes[index].pending = .readWords
        case .done: processes[index].isInside = true
        }
        processes[index].passage = passage
    }

    private mutating func finish(_ pending: Pending, _ index: Int) {
        processes[index].pending = nil
        switch pending {
        case .clearSkipWord: words.isQueuePassedBy = false
        case .readWords:
            let isQueueHeld = holders[.queue].map { $0 != index } ?? false
            switch processes[index].passage?.settle(words, isQueueHeld: isQueueHeld) {
            case .write(let written):
                processes[index].pending = .write(written, over: words)
                let standing = holders[.queue].map { processes[$0] }
                if written.isQueuePassedBy && !words.isQueuePassedBy && standing?.wasStopped != true
                {
                    violation = "QUEUE is passed by, and its holder was never stopped"
                }
            case .letWriterGo: holders[.writer] = nil
            case nil: violation = "words are settled outside of a passage"
            }
        case .write(let written, let old):
            if written.admissionCount != words.admissionCount + 1 {
                violation = "an admission was not counted"
            }
            words.admissionCount = written.admissionCount
            if written.isQueuePassedBy != old.isQueuePassedBy {
                words.isQueuePassedBy = written.isQueuePassedBy
            }
            if holders[.writer] != index { violation = "somebody is inside without WRITER" }
            processes[index].isInside = true
        }
    }

    private mutating func wait(_ lock: Lock, _ index: Int) {
        processes[index].waitsFor = lock
        lines[lock, default: []].append(index)
    }

    /// A grant, or else a suspicion. An interruption that comes with the grant is too late.
    private mutating func endWait(_ lock: Lock, _ index: Int) {
        let isGranted = holders[lock] == nil && lines[lock]?.first == index
        unlist(index)
        processes[index].waitsFor = nil
        processes[index].look = nil
        processes[index].nextLook = nil
        if isGranted { hold(lock, index) }
        switch lock {
        case .writer: processes[index].passage?.writerAwaited()
        case .queue:
            let suspicion = isGranted ? nil : processes[index].order
            processes[index].passage?.queueAwaited(suspicion: suspicion)
        }
    }

    private mutating func take(_ lock: Lock, _ index: Int) -> Bool {
        if holders[lock] != nil { return false }
        hold(lock, index)
        return true
    }

    private mutating func hold(_ lock: Lock, _ index: Int) {
        if lock == .writer, let standing = holders[.queue], standing != index, !wasEverStopped {
            violation = "process \(standing) stands in QUEUE and was overtaken"
        }
        holders[lock] = index
    }

    private mutating func leave(_ index: Int) {
        holders[.writer] = nil
        processes[index].isInside = false
        processes[index].passage = nil
        processes[index].watch = nil
        processes[index].order = nil
    }

    private mutating func unlist(_ index: Int) {
        lines[.queue]?.removeAll { $0 == index }
        lines[.writer]?.removeAll { $0 == index }
    }

    // MARK: - Looks

    private mutating func look(_ index: Int) {
        guard var look = processes[index].look else {
            processes[index].look = Look(words: words, isQueueHeld: nil)
            return
        }
        guard let isQueueHeld = look.isQueueHeld else {
            look.isQueueHeld = holders[.queue] != nil
            processes[index].look = look
            return
        }
        processes[index].look = nil
        let sight = QueueWatch.Sight(
            words: look.words,
            isQueueHeld: isQueueHeld,
            isWriterHeld: holders[.writer] != nil
        )
        var conclusion = processes[index].watch?.look(sight, now: now)
        if conclusion == .findHolder {
            let isRunning = findsHolders ? holders[.queue].map { processes[$0].isRunning } : nil
            conclusion = processes[index].watch?.judge(holderIsRunning: isRunning, now: now)
        }
        switch conclusion {
        case .lookAgain(let deadline): processes[index].nextLook = deadline.instant
        case .passBy(let count, let deadline):
            processes[index].order = count
            processes[index].nextLook = deadline.instant
        case .findHolder, nil: violation = "a look leads to nothing"
        }
    }
}

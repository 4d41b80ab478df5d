/// One way of one thread through the turnstile, as a pure state machine: it says what to do next
/// and is told what came of it; it knows no lock and no file.
///
///     arriving ──▶ standing ──────────────────────────────▶ inside(queue) ──▶ admitted
///        │             ▲  └──▶ blocked: waits for WRITER ────────▲               ▲
///        ▼             │                                                         │
///     outside ──▶ waiting ──▶ suspecting ──▶ inside(suspicion) ──────────────────┤
///        │                        └──▶ outside      └──▶ arriving                │
///        └──▶ passing ──▶ inside(skipWord) ──────────────────────────────────────┘
///
/// - `arriving`: holds nothing. `queueTried`: QUEUE was free → standing, or not → outside.
/// - `outside`: somebody holds QUEUE. `wordsRead`: the skip word is set → passing; not → waiting.
/// - `waiting`: stands in the kernel's line for QUEUE. `queueAwaited`: granted → standing, or told
///   that QUEUE's holder is stopped → suspecting; the place in the line is given up then.
/// - `suspecting`: holds nothing. `writerTried`: got WRITER → inside(suspicion); WRITER is held by
///   somebody who had the same thought, or the stopped one went on → outside.
/// - `standing`: holds QUEUE, and nobody overtakes it. `writerTried`: → inside(queue) or blocked.
/// - `blocked`: holds QUEUE; clears the skip word if it is set, because whoever gets QUEUE has
///   shown that it can be had, then waits for WRITER. `writerAwaited` → inside(queue).
/// - `passing`: holds nothing. `writerTried`, `writerAwaited` → inside(skipWord).
/// - `inside`: holds WRITER. `wordsRead` says which words to write → admitted. A suspicion must
///   still be true under WRITER: the same count of admissions, and QUEUE still held; the skip word
///   is set then. If it is not, WRITER is let go → arriving.
/// - `admitted`: holds WRITER alone, and the words are written.
struct Passage: Sendable, Hashable {
    private var state = State.arriving

    private enum State: Sendable, Hashable {
        case arriving, outside, waiting
        case suspecting(UInt64)
        case standing
        case blocked(hasLooked: Bool)
        case passing(hasTried: Bool)
        case inside(Way)
        case admitted
    }

    /// How WRITER was come by.
    private enum Way: Sendable, Hashable {
        case queue, skipWord
        case suspicion(UInt64)
    }

    /// What to do next.
    enum Step: Sendable, Hashable {
        /// Take QUEUE if it is free; ``Passage/queueTried(isTaken:)``.
        case tryQueue
        /// Wait for QUEUE; ``Passage/queueAwaited(suspicion:)``.
        case awaitQueue
        /// Take WRITER if it is free; ``Passage/writerTried(isTaken:)``.
        case tryWriter
        /// Wait for WRITER; ``Passage/writerAwaited()``.
        case awaitWriter
        /// Read the skip word; ``Passage/skipWordRead(isSet:)``.
        case readSkipWord
        /// WRITER is held: let QUEUE go if it is held, read the words and look whether QUEUE is
        /// held by somebody else where a suspicion asks for it; ``Passage/settle(_:isQueueHeld:)``.
        case settle(holdsQueue: Bool, looksAtQueue: Bool)
        /// Nothing: WRITER is held and the words are written.
        case done
    }

    /// What becomes of the skip word, or of WRITER.
    enum Ruling: Sendable, Hashable {
        /// Write these words.
        case write(TurnstileWords)
        /// Let WRITER go: what was suspected is not so.
        case letWriterGo
    }

    /// What to do next.
    var next: Step {
        switch state {
        case .arriving: .tryQueue
        case .outside, .blocked(hasLooked: false): .readSkipWord
        case .waiting: .awaitQueue
        case .suspecting, .standing, .passing(hasTried: false): .tryWriter
        case .blocked(hasLooked: true), .passing(hasTried: true): .awaitWriter
        case .inside(.queue): .settle(holdsQueue: true, looksAtQueue: false)
        case .inside(.skipWord): .settle(holdsQueue: false, looksAtQueue: false)
        case .inside(.suspicion): .settle(holdsQueue: false, looksAtQueue: true)
        case .admitted: .done
        }
    }

    /// QUEUE was tried.
    mutating func queueTried(isTaken: Bool) {
        precondition(state == .arriving, "QUEUE is tried once")
        state = isTaken ? .standing : .outside
    }

    /// The skip word was read. Returns whether to clear it.
    mutating func skipWordRead(isSet: Bool) -> Bool {
        switch state {
        case .outside:
            state = isSet ? .passing(hasTried: false) : .waiting
            return false
        case .blocked(hasLooked: false):
            state = .blocked(hasLooked: true)
            return isSet
        default: preconditionFailure("the skip word is read before a wait")
        }
    }

    /// The wait for QUEUE ended: by a grant, or by a suspicion.
    mutating func queueAwaited(suspicion: UInt64?) {
        precondition(state == .waiting, "QUEUE is waited for where it was not to be had")
        state = suspicion.map { .suspecting($0) } ?? .standing
    }

    /// WRITER was tried.
    mutating func writerTried(isTaken: Bool) {
        switch state {
        case .standing: state = isTaken ? .inside(.queue) : .blocked(hasLooked: false)
        case .passing(hasTried: false):
            state = isTaken ? .inside(.skipWord) : .passing(hasTried: true)
        case .suspecting(let count): state = isTaken ? .inside(.suspicion(count)) : .outside
        default: preconditionFailure("WRITER is tried by who stands in QUEUE or passes it by")
        }
    }

    /// WRITER was granted.
    mutating func writerAwaited() {
        switch state {
        case .blocked(hasLooked: true): state = .inside(.queue)
        case .passing(hasTried: true): state = .inside(.skipWord)
        default: preconditionFailure("WRITER is waited for after it was tried")
        }
    }

    /// The words were read under WRITER.
    mutating func settle(_ words: TurnstileWords, isQueueHeld: Bool) -> Ruling {
        guard case .inside(let way) = state else {
            preconditionFailure("words are settled under WRITER")
        }
        var written = words.admitted(holdingQueue: way == .queue)
        if case .suspicion(let count) = way, !words.isQueuePassedBy {
            guard words.admissionCount == count && isQueueHeld else {
                state = .arriving
                return .letWriterGo
            }
            written.isQueuePassedBy = true
        }
        state = .admitted
        return .write(written)
    }
}

import LockkeeperDomain
import Testing

@testable import LockkeeperNotifier

/// I-7 as a model: random commits, lost, late and repeated announcements, readings that fail or come
/// back late, sockets that stop, pruning, switches and new stores, on the state machine that ships. Every
/// client checks every line; in the end everything is delivered and every client must stand at the
/// head or have been told that its generation is over.
@Suite struct HubModelTests {
    /// Enough to reach every mark many times; a longer search is a larger number here.
    private let runCount = 800

    @Test("whatever is lost, late or stopped, no subscriber misses a commit")
    func randomRuns() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed=\(seed)")
        var marks = Marks()
        for run in 0..<runCount {
            var world = HubWorld(seed: seed &+ UInt64(run))
            for _ in 0..<80 where world.failure == nil { world.step() }
            world.settle()
            marks.formUnion(world.marks)
            if let failure = world.failure {
                Issue.record(
                    "seed=\(seed) run=\(run): \(failure)\n\(world.trace.joined(separator: "\n"))"
                )
                return
            }
        }
        // A walk that never got there proves nothing about it.
        #expect(marks == Marks.all, "not reached: \(Marks.all.subtracting(marks))")
    }

    @Test("a planted loss of lines is found: the model can fail")
    func canary() {
        var found = false
        for run in 0..<3000 where !found {
            var world = HubWorld(seed: UInt64(run))
            world.losesLines = true
            for _ in 0..<80 where world.failure == nil { world.step() }
            world.settle()
            found = world.failure != nil
        }
        #expect(found)
    }
}

/// Situations that the random runs must have been in.
struct Marks: OptionSet {
    let rawValue: Int
    static let range = Marks(rawValue: 1)
    static let merged = Marks(rawValue: 2)
    static let resync = Marks(rawValue: 4)
    static let generation = Marks(rawValue: 8)
    static let heartbeatMoves = Marks(rawValue: 16)
    static let catchUp = Marks(rawValue: 32)
    static let all: Marks = [range, merged, resync, generation, heartbeatMoves, catchUp]
}

/// A client that believes only what it is told.
struct ModelClient {
    var request: SubscriptionRequest
    var isStopped = false
    var head: StoreHead?
    var position: Position?
    var isEnded = false

    var excluded: String? { request.excludedOrigin }
}

struct HubWorld {
    var machine: HubStateMachine
    let log = FakeLog("alice", readCountMax: 3)
    var now = MonotonicInstant(nanoseconds: 0)
    var generator: SplitMix
    var clients: [ConnectionID: ModelClient] = [:]
    var announcements: [ChangeRange] = []
    var requests: [ReadRequest] = []
    var outcomes: [(ReadRequest, ReadOutcome)] = []
    var changes: [GenerationChange] = []
    var connectionSerial: UInt64 = 0
    var storeSerial: UInt8 = 10
    /// Everything ever committed.
    var history: [ChangeRange] = []
    var marks: Marks = []
    var trace: [String] = []
    var failure: String?
    var isSettling = false
    /// A generation line does not wait for a log that cannot be read.
    var hasFailedReading = false
    /// A planted fault: some lines never arrive.
    var losesLines = false

    /// In an order that does not change from process to process, as a dictionary's does: a run is
    /// repeated by its seed.
    private var sortedClients: [ConnectionID] {
        clients.keys.sorted { $0.rawValue < $1.rawValue }
    }

    init(seed: UInt64) {
        generator = SplitMix(seed: seed)
        var limits = Limits()
        limits.subscriberBacklogMax = 3
        machine = HubStateMachine(limits: limits)
    }

    mutating func step() {
        switch Int.random(in: 0..<24, using: &generator) {
        case 0..<6: commit()
        case 6..<9: deliverAnnouncement()
        case 9..<11: read()
        case 11..<13: finishReading()
        case 13: subscribe()
        case 14: stopOrGoOn()
        case 15: tick()
        case 16: prune()
        case 17: if Int.random(in: 0..<4, using: &generator) == 0 { changeGeneration() }
        case 18: deliverChange()
        case 19: if Int.random(in: 0..<8, using: &generator) == 0 { replaceStore() }
        case 20: resubscribe()
        default: endRound()
        }
    }

    /// Faults stop: everything that is under way arrives, and the hub looks at the log twice.
    mutating func settle() {
        isSettling = true
        for id in clients.keys { clients[id]?.isStopped = false }
        while !announcements.isEmpty { deliverAnnouncement() }
        while !changes.isEmpty { deliverChange() }
        for _ in 0..<6 {
            tick()
            for _ in 0..<200 {
                read()
                finishReading()
                now = now.advanced(by: .milliseconds(10))
                endRound()
                if requests.isEmpty && outcomes.isEmpty { break }
            }
        }
        let head = log.account("alice").head
        for (id, client) in clients where failure == nil && !client.isEnded {
            guard let told = client.head else {
                return fail("\(id) was never answered")
            }
            if told.generation < head.generation {
                fail("\(id) was not told of generation \(head.generation)")
            } else if client.position != head.position {
                fail(
                    "\(id) stands at \(String(describing: client.position)), head \(head.position)"
                )
            }
        }
    }

    private mutating func commit() {
        guard log.account("alice").head.state == .active else { return }
        let origin = Bool.random(using: &generator) ? "writer" : "other"
        let range = log.commit(
            "alice",
            origin: origin,
            jump: Int64.random(in: 1...3, using: &generator)
        )
        history.append(range)
        note("commit \(range.last) by \(origin), generation \(range.generation)")
        // A third of the writers die before they announce; some announce twice.
        for _ in 0..<Int.random(in: 0...2, using: &generator) { announcements.append(range) }
    }

    private mutating func deliverAnnouncement() {
        guard !announcements.isEmpty else { return }
        let index = Int.random(in: 0..<min(3, announcements.count), using: &generator)
        let range = announcements.remove(at: index)
        note("announce \(range.last)")
        machine.announce(range)
        takeActions()
    }

    private mutating func read() {
        guard !requests.isEmpty else { return }
        let request = requests.removeFirst()
        if !isSettling && Int.random(in: 0..<12, using: &generator) == 0 {
            note("read \(request.purpose) fails")
            hasFailedReading = true
            outcomes.append((request, .failed(reason: "a planted failure")))
        } else if let reading = try? log.read(request.stream, after: request.after) {
            note("read \(request.purpose) after \(String(describing: request.after?.commit))")
            outcomes.append((request, .reading(reading)))
        }
    }

    private mutating func finishReading() {
        guard !outcomes.isEmpty else { return }
        let (request, outcome) = outcomes.removeFirst()
        note("reading arrives for \(request.purpose)")
        machine.finish(request, outcome, at: now)
        takeActions()
    }

    private mutating func subscribe() {
        guard clients.count < 4 else { return }
        connectionSerial += 1
        let id = ConnectionID(rawValue: connectionSerial)
        let head = log.account("alice").head
        let known = history.map(\.position)
        let after: Position? =
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: nil
            case 1: Position(store: head.store, commit: CommitNumber(1000))
            default: known.randomElement(using: &generator)
            }
        let excluded = Int.random(in: 0..<3, using: &generator) == 0 ? "other" : nil
        let request = SubscriptionRequest(account: "alice", after: after, excludedOrigin: excluded)
        begin(request, id)
    }

    /// A client that was told that its generation is over, or just likes to, asks again.
    private mutating func resubscribe() {
        guard let id = sortedClients.randomElement(using: &generator), let client = clients[id],
            !client.isStopped
        else { return }
        var request = client.request
        request.after = client.position
        begin(request, id)
    }

    private mutating func begin(_ request: SubscriptionRequest, _ id: ConnectionID) {
        note("\(id.rawValue) subscribes after \(String(describing: request.after?.commit))")
        clients[id] = ModelClient(request: request, position: request.after)
        machine.subscribe(request, by: id)
        takeActions()
    }

    private mutating func stopOrGoOn() {
        guard let id = sortedClients.randomElement(using: &generator) else { return }
        clients[id]?.isStopped.toggle()
        note("\(id.rawValue) stopped: \(clients[id]?.isStopped ?? false)")
    }

    private mutating func tick() {
        note("tick")
        machine.tick(at: now)
        for id in sortedClients where clients[id]?.isStopped == false {
            if let line = machine.heartbeat(for: id) { receive(line, id) }
        }
        takeActions()
        send()
    }

    private mutating func endRound() {
        now = now.advanced(by: .milliseconds(Int64.random(in: 0...4, using: &generator)))
        machine.endRound(at: now)
        _ = machine.takeActive()
        send()
    }

    private mutating func send() {
        for id in sortedClients where clients[id]?.isStopped == false {
            while let line = machine.nextLine(for: id) { receive(line, id) }
        }
        takeActions()
    }

    private mutating func prune() {
        log.prune("alice", count: Int.random(in: 1...3, using: &generator))
        note("prune to \(log.account("alice").head.oldest)")
    }

    private mutating func changeGeneration() {
        let isActive = log.account("alice").head.state == .active
        let change = log.changeGeneration("alice", isActive ? .retired : .active)
        note("generation \(change.generation) \(change.state)")
        // The switch may die before it tells the hub.
        if Bool.random(using: &generator) { changes.append(change) }
    }

    private mutating func deliverChange() {
        guard !changes.isEmpty else { return }
        let change = changes.removeFirst()
        note("hub is told of generation \(change.generation)")
        machine.changeGeneration(of: "alice", to: change)
        takeActions()
    }

    /// Recovery: another store, with a new generation.
    private mutating func replaceStore() {
        storeSerial += 1
        let serial = storeSerial
        log.change("alice") { account in
            let next = StoreHead.fixture(
                store: serial,
                generation: account.head.generation.next.rawValue
            )
            account.head = next
            account.commits = []
        }
        note("another store, generation \(log.account("alice").head.generation)")
    }

    private mutating func takeActions() {
        for action in machine.takeActions() {
            switch action {
            case .read(let request):
                if case .subscriber(let id, _) = request.purpose,
                    request.after != clients[id]?.request.after
                {
                    marks.insert(.catchUp)
                }
                requests.append(request)
            case .refuse(let id, "unavailable", _) where hasFailedReading:
                note("\(id.rawValue) is refused")
                clients[id] = nil
                machine.leave(id)
            case .refuse(let id, let code, _): fail("\(id) was refused: \(code)")
            }
        }
    }

    private mutating func receive(_ line: [UInt8], _ id: ConnectionID) {
        if losesLines && Int.random(in: 0..<20, using: &generator) == 0 { return }
        guard var client = clients[id],
            let decoded = try? line.dropLast().withUnsafeBytes(NotifierLine.decodeHubLine)
        else { return fail("\(id) was sent what it cannot read") }
        note("\(id.rawValue) <- \(String(decoding: line.dropLast(), as: UTF8.self))")
        take(decoded, &client)
        clients[id] = client
    }

    private mutating func take(_ line: HubLine, _ client: inout ModelClient) {
        switch line {
        case .head(_, let head):
            if client.head != nil { fail("a second head") }
            client.head = head
            if client.request.after == nil { client.position = head.position }
        case .range(let range): take(range, &client)
        case .resync(_, let head):
            marks.insert(.resync)
            client.position = head.position
        case .generation(_, let change):
            marks.insert(.generation)
            if let own = client.head?.generation, change.generation <= own {
                fail("a generation line that is not newer")
            }
            checkComplete(client)
            client.isEnded = true
        case .heartbeat(let position):
            guard let position, let old = client.position else { return }
            if position != old { marks.insert(.heartbeatMoves) }
            checkNothingMissed(client, from: old, to: position.commit, topics: [])
            client.position = position
        case .error: fail("an error line")
        }
    }

    private mutating func take(_ range: ChangeRange, _ client: inout ModelClient) {
        marks.insert(.range)
        if range.isMerged { marks.insert(.merged) }
        guard let head = client.head, let old = client.position, !client.isEnded else {
            return fail("a range without a head before it, or after the end")
        }
        if range.generation > head.generation { fail("a range of a later generation") }
        if range.predecessor != old.commit || range.store != old.store {
            fail("at \(old) came a range after \(range.predecessor)")
        }
        checkNothingMissed(client, from: old, to: range.last, topics: range.topics)
        client.position = range.position
    }

    /// Every commit between two positions that concerns the client is covered by the topics.
    private mutating func checkNothingMissed(
        _ client: ModelClient,
        from old: Position,
        to last: CommitNumber,
        topics: [[UInt8]]?
    ) {
        if last < old.commit { fail("went back from \(old) to \(last)") }
        for commit in history
        where commit.store == old.store && commit.last > old.commit && commit.last <= last
            && commit.origins != [client.excluded ?? ""]
        {
            let isCovered = topics.map { told in commit.topics.map { $0.allSatisfy(told.contains) }
            }
            if isCovered == .some(false) { fail("commit \(commit.last) was not told") }
        }
    }

    /// At the end of a generation the client has been told every commit of it that the log, which
    /// may be pruned, still holds.
    private mutating func checkComplete(_ client: ModelClient) {
        let head = log.account("alice").head
        guard let position = client.position, let own = client.head?.generation,
            position.store == head.store, position.commit >= head.oldest, !hasFailedReading
        else { return }
        let last = history.last {
            $0.store == position.store && $0.generation <= own
                && $0.origins != [client.excluded ?? ""]
        }
        if let last, last.last > position.commit {
            fail("generation \(own) ended at \(position.commit), its last commit is \(last.last)")
        }
    }

    private mutating func note(_ event: String) { trace.append(event) }

    private mutating func fail(_ reason: String) {
        if failure == nil { failure = reason }
    }
}

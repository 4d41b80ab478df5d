import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperTestSupport
import Testing

@testable import LockkeeperSimulation

@Suite("What a stress run does is decided by its seed")
struct StressPlanTests {
    @Test("a seed repeats the plan, and another one makes another")
    func seeds() {
        let plan = StressPlan(seed: 7, duration: .seconds(20))
        #expect(plan == StressPlan(seed: 7, duration: .seconds(20)))
        #expect(plan.events != StressPlan(seed: 8, duration: .seconds(20)).events)
    }

    @Test("each run leaves some trouble out, and over a few seeds all kinds are drawn")
    func swarm() {
        let plans = (0..<40).map {
            StressPlan(seed: $0, duration: .seconds(30), hasSmallDisk: true)
        }
        let drawn = plans.reduce(into: Set<StressFault>()) { $0.formUnion($1.faults) }
        #expect(drawn == Set(StressFault.allCases))
        #expect(plans.allSatisfy { !$0.faults.isEmpty })
        #expect(plans.contains { $0.faults.count < StressFault.allCases.count / 2 })
        let kinds = plans.flatMap(\.events).map { "\($0.action)".prefix { $0 != "(" } }
        #expect(Set(kinds).count == 16, "\(Set(kinds))")
    }

    @Test(
        "what begins ends within the run, in the order of the times, and only with what was drawn"
    )
    func ends() {
        for seed in 0..<40 as Range<UInt64> {
            let plan = StressPlan(seed: seed, duration: .seconds(10), hasSmallDisk: true)
            #expect(plan.events.map(\.time) == plan.events.map(\.time).sorted())
            #expect(plan.events.allSatisfy { $0.time <= plan.duration })
            let names = plan.events.map { "\($0.action)".prefix { $0 != "(" } }
            let pairs = [
                ("stop", "resume"), ("lock", "unlock"), ("fill", "free"), ("arm", "revive"),
            ]
            for (begin, end) in pairs {
                #expect(names.count { $0 == begin } == names.count { $0 == end }, "seed=\(seed)")
            }
            #expect(plan.faults.contains(.kill) || !names.contains("kill"), "seed=\(seed)")
        }
    }

    @Test("no disk is filled that others use")
    func disk() {
        for seed in 0..<40 as Range<UInt64> {
            let plan = StressPlan(seed: seed, duration: .seconds(10))
            #expect(!plan.faults.contains(.fillDisk))
            #expect(!plan.events.contains { $0.action == .fill })
        }
    }

    // The seeds that once failed say something only while their plans are what they were.
    @Test("trouble that came later changes nothing in the plan of what there was before")
    func later() {
        let old = Set(StressFault.allCases).subtracting(StressFault.later)
        for seed in 0..<20 as Range<UInt64> {
            let plans = [old, Set(StressFault.allCases)].map {
                StressPlan(seed: seed, duration: .seconds(10), hasSmallDisk: true, faults: $0)
            }
            let rest = plans[1].events.filter { event in
                switch event.action {
                case .arm, .revive, .migrate, .repair: false
                default: true
                }
            }
            #expect(rest == plans[0].events && rest.count < plans[1].events.count, "seed=\(seed)")
        }
    }

    @Test("a process dies and stops at every named place that its role comes to")
    func places() {
        var drawn: Set<Failpoint> = []
        for seed in 0..<200 as Range<UInt64> {
            let plan = StressPlan(seed: seed, duration: .seconds(60), faults: [.failpoint])
            for case .arm(let worker, let place, _, let count) in plan.events.map(\.action) {
                #expect(plan.roles[worker].places.contains(place) && count > 0)
                drawn.insert(place)
            }
        }
        #expect(drawn == Set(StressRole.allCases.flatMap(\.places)))
    }

    @Test("every kind of process is there")
    func roles() {
        for seed in 0..<20 as Range<UInt64> {
            let plan = StressPlan(seed: seed, duration: .seconds(1))
            #expect(Set(plan.roles) == Set(StressRole.allCases))
            #expect(plan.roles.first == .host && plan.roles.count { $0 == .host } == 1)
        }
    }
}

@Suite("Histories of a stress run")
struct StressHistoryTests {
    private static let entry: StressEntry = {
        var entry = StressEntry(time: 17, .answered, .page, id: "1.2.3")
        entry.account = "a\"b"
        (entry.generation, entry.number, entry.commit) = (4, 5, 1 << 40)
        (entry.other, entry.from, entry.to, entry.text) = (6, 7, 8, "two\nlines")
        return entry
    }()

    @Test("a line survives being written and read, and what is none is refused")
    func lines() {
        for word in StressEntry.Word.allCases {
            for act in StressAct.allCases.map(Optional.some) + [nil] {
                var entry = Self.entry
                (entry.word, entry.act) = (word, act)
                #expect(StressEntry(entry.line.dropLast()) == entry)
            }
        }
        let bare = StressEntry(time: 0, .began)
        #expect(StressEntry(bare.line.dropLast()) == bare)
        for line in [
            "", "{}", #"{"t":1}"#, #"{"t":1,"word":"dances"}"#, #"{"word":"began"}"#,
            #"{"t":1,"word":"asks","act":"none"}"#, #"{"t":1,"word":"beg"#,
        ] {
            #expect(StressEntry(Array(line.utf8)) == nil, "\(line)")
        }
    }

    @Test("a torn last line is no line, and a torn one before others is told")
    func torn() throws {
        let folder = try TemporaryDirectory()
        let process = StressProcess(.ingest, worker: 1, life: 2)
        #expect(try StressHistory(process, in: folder.path).entries.isEmpty)
        var bytes = Self.entry.line + Self.entry.line
        let path = folder.file("ingest-1.2.jsonl")
        try FileSystem.replaceFile(at: path, with: bytes + Array(#"{"t":1,"wo"#.utf8))
        let killed = try StressHistory(process, in: folder.path)
        #expect(killed.entries == [Self.entry, Self.entry] && killed.unreadable == nil)
        bytes.insert(UInt8(ascii: "x"), at: 0)
        try FileSystem.replaceFile(at: path, with: bytes)
        #expect(try StressHistory(process, in: folder.path).unreadable?.hasPrefix("x{") == true)
    }

    @Test("a process is named and found by its name")
    func names() {
        let process = StressProcess(.tail, worker: 12, life: 3)
        #expect(process.description == "tail-12.3")
        #expect(StressProcess("tail-12.3") == process)
        for name in ["", "tail", "tail-1", "nobody-1.1", "tail-1.x", "tail-1.2-3"] {
            #expect(StressProcess(name) == nil, "\(name)")
        }
    }
}

import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation
import Testing

private let isWholeRun = Environment.variable("LOCKKEEPER_TEST_ALL") != nil

/// `lockkeeper stress`: real processes under everything that can happen to them, judged by what they
/// were told and what the databases hold (I-1 to I-8, I-12, I-13, I-16, M-10, M-11).
@Suite("Stress", .serialized)
struct StressTests {
    @Test("a run finds nothing, and much was done and much has happened in it")
    func clean() async throws {
        // New seeds are sought by Scripts/soak, until an hour of them has found nothing.
        let seed = 374_474_468
        let faults =
            "kill,stop,foreign-lock,remove-socket,backup,switch,clock,inspect,small-log,failpoint,"
            + "migrate,repair"
        let result = try await CommandRunner.run([
            "stress", "--seed", "\(seed)", "--duration", "4", "--faults", faults, "--json",
        ])
        let told = result.lines.joined(separator: "\n")
        #expect(result.status == .exited(0), "seed=\(seed) \(told) \(result.errorText)")
        #expect(result.errors.first == "seed \(seed)")
        let report = try PrintedObject(try #require(result.lines.last))
        for count in ["pages", "packets", "additions", "ranges", "commits", "kills", "stops"] {
            #expect(try #require(report.int(count)) > 0, "seed=\(seed) \(count)")
        }
    }

    /// What each defect breaks, and what is said of it.
    private static let seen: [(PlantedDefect, String, String)] = [
        (.announceBeforeCommit, "broken: I-7: tail", "when the newest one was"),
        (.reuseCommitNumber, "broken: I-8: commit", "has a receipt"),
        (.countDuplicates, "broken: I-16: at rest", "unread counter"),
        (.skipPredecessorCheck, "broken: I-7: tail", "never heard of commit"),
        (.skipFenceCheck, "broken: I-2: page", "in that transaction the fence said"),
    ]

    // Those that a few seconds show. The power cut sees the ones that no kill shows (PowerCutTests), the
    // proof of the WAL-reset defect the last one (ResetProofTests).
    @Test(
        "a program with a planted defect is caught, and the lines that prove it are told",
        arguments: seen.prefix(isWholeRun ? seen.count : 2)
    )
    func planted(_ defect: PlantedDefect, _ promise: String, _ words: String) async throws {
        // A plan is repeated, what the processor makes of it is not.
        var text = ""
        for seed in 1...5 where !text.contains(promise) {
            let result = try await CommandRunner.run([
                "stress", "--seed", "\(seed)", "--duration", "\(seed + 1)", "--faults",
                "kill,stop,switch", "--inject-bug", defect.rawValue,
            ])
            text = result.lines.joined(separator: "\n") + result.errorText
            #expect(text.contains(promise) == false || result.status == .exited(1))
        }
        #expect(text.contains(promise) && text.contains(words), "\(text)")
        #expect(text.contains("    ") || defect == .countDuplicates, "\(text)")
        #expect(text.contains("Again: lockkeeper stress --seed "), "\(text)")
    }

    // What stress has found: two switches at once left two accounts active; packets that only waited
    // were parked.
    @Test(
        "seeds that once failed find nothing any more",
        .enabled(if: isWholeRun, "runs with Scripts/test --all"),
        arguments: [
            ("2518861154", "kill,stop,long-reader,remove-socket,switch,clock"),
            (
                "281934553",
                "kill,stop,foreign-lock,long-reader,remove-socket,backup,clock,small-log"
            ),
            ("1372335463", "kill,foreign-lock,remove-socket,switch,clock"),
        ]
    )
    func fixedSeeds(_ seed: String, _ faults: String) async throws {
        let result = try await CommandRunner.run([
            "stress", "--seed", seed, "--duration", "12", "--faults", faults,
        ])
        let told = result.lines.joined(separator: "\n")
        #expect(result.status == .exited(0), "\(told) \(result.errorText)")
    }

    @Test("trouble that there is not, and a disk that others use, are refused")
    func usage() async throws {
        for words in [
            ["--faults", "rain"], ["--faults", "full-disk"], ["--duration", "0"],
            ["--duration", "1w"], ["--duration", "h"], ["--duration", "25h"],
        ] {
            #expect(try await CommandRunner.run(["stress"] + words).status == .exited(64))
        }
        let folder = try TemporaryFolder()
        let result = try await CommandRunner.run([
            "stress", "--small-disk", "--root", folder.path("w"), "--duration", "1",
        ])
        #expect(result.status == .exited(64) && result.errorText.contains("mount -t tmpfs"))
    }

    @Test(
        "the page is whole, says the verdict, is legible in light and dark, and asks for nothing",
        .enabled(if: StressTests.browser != nil, "there is no chromium")
    )
    func page() async throws {
        let folder = try TemporaryFolder()
        let page = folder.path("report.html")
        let result = try await CommandRunner.run([
            "stress", "--seed", "3", "--duration", "2", "--faults", "kill,stop,switch", "--report",
            page,
        ])
        #expect(result.status == .exited(0), "\(result.lines)")
        let source = String(decoding: try FileSystem.contents(of: page), as: UTF8.self)
        // Nothing is fetched: no address, no script, no file beside it.
        for word in ["http:", "https:", "src=", "<script", "@import", "url("] {
            #expect(!source.contains(word), "\(word)")
        }
        for name in ["lanes", "commits", "waits", "log", "histogram"] {
            #expect(source.contains("aria-label=\"\(name)\""), "\(name)")
        }
        let pictures = try ["light", "dark"].map { scheme in
            try Self.shoot(page, scheme, into: folder.path("\(scheme).png"))
        }
        #expect(pictures.allSatisfy { $0.count > 10_000 })
        #expect(pictures[0] != pictures[1])
    }

    /// Debian's browser.
    private static let browser: String? = ["/usr/bin/chromium"].first {
        (try? FileSystem.status($0)) ?? nil != nil
    }

    /// What the browser shows of a page, without a network.
    private static func shoot(
        _ page: String,
        _ scheme: String,
        into picture: String
    ) throws -> [UInt8] {
        let program = try #require(browser)
        let dark = scheme == "dark" ? ["--force-dark-mode"] : []
        let child = try ChildProcess(
            program: program,
            arguments: [
                "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                "--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=1200,1600",
                "--user-data-dir=\(picture).profile", "--screenshot=\(picture)",
            ] + dark + ["file://\(page)"],
            output: .null,
            error: .null
        )
        #expect(try child.wait() == .exited(0))
        return try FileSystem.contents(of: picture)
    }
}

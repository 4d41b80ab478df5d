import LockkeeperPlatform
import LockkeeperSimulation
import Testing

/// The main job with real processes. Shown: I-2, I-5, I-6, I-7, I-12, I-13, as `DemoVerdict` judges
/// them; that the verdict can fail is shown by its own tests.
@Suite("The demo loses nothing")
struct DemoProcessTests {
    @Test("with generated traffic, one helper killed and one superseded")
    func generated() async throws {
        let seed = UInt64.random(in: 0...UInt64(UInt32.max))
        print("seed \(seed)")
        let result = try await CommandRunner.run(["demo", "--seed", "\(seed)"])
        #expect(result.status == .exited(0), "seed \(seed): \(result.errorText)")
        #expect(result.lines.last == "nothing lost", "seed \(seed): \(result.lines)")
        #expect(result.errorText.contains("helper-2 was killed"))
        #expect(result.errorText.contains("refused as superseded"))
        #expect(result.lines.contains { $0.contains("ranges seen") })
    }

    @Test("with a file of few events, some of which cannot be read")
    func file() async throws {
        let folder = try TemporaryFolder()
        let lines = (1...7).map {
            #"{"conversation":"c","id":"\#($0)","seq":\#($0),"sender":"s","#
                + #""sent_at":"2026-01-01T00:00:00Z","body":"b"}"#
        }
        let path = folder.path("events")
        try FileDescriptor(opening: path, [.writeOnly, .create]).write(
            Array((lines + ["hello"]).joined(separator: "\n").utf8)
        )
        let result = try await CommandRunner.run(["demo", path, "--seed", "1", "--json"])
        #expect(result.status == .exited(0), "\(result.errorText)")
        #expect(result.errorText.contains("line 8: "))
        let report = try PrintedObject(try #require(result.lines.last))
        #expect(report.string("verdict") == "nothing lost")
        #expect(report.objects("helpers").count == 4)
    }

    @Test("a folder with something in it is not taken")
    func notEmpty() async throws {
        let workspace = try await TestWorkspace()
        let result = try await workspace.run(["demo", "--seed", "1"])
        #expect(result.status == .exited(73) && result.errorText.contains("not empty"))
    }
}

import LockkeeperPlatform
import LockkeeperSimulation
import Testing

@Suite("A database of every shipped version: restored, migrated, inspected (I-14)")
struct FixtureTests {
    /// The package's folder, found from this file.
    private static let package: String = {
        let parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        return parts.dropLast(3).joined(separator: "/")
    }()

    /// Makes the fixture of the present version.
    private func makeFixture(in folder: TemporaryFolder) async throws -> String {
        let made = try RunningCommand(
            [folder.path, "present"],
            program: Self.package + "/Scripts/make-fixture",
            environment: ["LOCKKEEPER": CommandRunner.program]
        )
        made.closeInput()
        let result = await made.end()
        try #require(result.status == .exited(0), "\(result.errorText)")
        return folder.path("present")
    }

    @Test(
        "what each version exported of it is what this one exports, and the inspection finds nothing"
    )
    func all() async throws {
        let own = try TemporaryFolder()
        let folder = Self.package + "/Tests/Fixtures"
        let shipped = try FileSystem.list(folder).filter { $0.hasSuffix(".db") }.sorted()
        let fixtures =
            [try await makeFixture(in: own)] + shipped.map { "\(folder)/\($0.dropLast(3))" }
        for fixture in fixtures {
            let workspace = try await TestWorkspace(accountOptions: ["--own-id", "u1"])
            let restored = try await workspace.run(["restore", fixture + ".db", "--yes"])
            #expect(restored.status == .exited(0), "\(fixture): \(restored.errorText)")
            try await workspace.expectSound()
            let export = try await workspace.run(["export", "--cursors"])
            let expected = try FileSystem.contents(of: fixture + ".jsonl")
            #expect(!expected.isEmpty)
            let lines = export.lines.joined(separator: "\n") + "\n"
            #expect(lines == String(decoding: expected, as: UTF8.self), "\(fixture)")
        }
    }
}

import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation
import LockkeeperTesting
import Testing

/// The disk refuses one call after the other of a switch, while the process lives on and has to do
/// something about it.
@Suite("A switch that fails says why, and leaves one of the two accounts active (I-2, I-12)")
struct FailingSwitchTests {
    /// What came of a switch.
    private enum End: String {
        case done
        /// The first account is active as before, under the generation that it had.
        case untouched
        /// The first account is active again, under a third generation.
        case thirdGeneration
        /// It failed, and the second account is active all the same: whoever came next finished it.
        case doneLater
    }

    private typealias Kind = (call: FaultZone.Call, file: FaultZone.File)

    /// The calls that are made to fail; those that only the registry makes in the long form.
    private static var calls: [Kind] {
        let calls: [Kind] = [(.sync, .log), (.write, .log), (.sync, .journal)]
        guard Environment.variable("LOCKKEEPER_TEST_ALL") != nil else { return calls }
        return calls + [
            (.write, .journal), (.truncate, .journal), (.sync, .database), (.write, .database),
        ]
    }

    @Test(
        "whichever write or sync fails, once",
        arguments: calls
    )
    func once(call: FaultZone.Call, file: FaultZone.File) async throws {
        var ends: [End] = []
        var skipCount = 0
        while skipCount < 200 {
            let (end, wasReached) = try await failingSwitch(call, file, after: skipCount)
            guard wasReached else { break }
            ends.append(end)
            skipCount += 1
        }
        print("\(call) of \(file): \(ends.map(\.rawValue))")
        #expect(!ends.isEmpty && skipCount < 200)
        // The log's syncs are those of the fences: one that fails after the first account was retired
        // brings it back, and says so.
        if (call, file) == (.sync, .log) { #expect(ends.contains(.thirdGeneration)) }
        if file == .journal { #expect(ends.contains(.untouched)) }
    }

    /// Switches from alice to bob on a disk that refuses one call.
    ///
    /// - Returns: what came of it, and whether the switch made the call at all.
    private func failingSwitch(
        _ call: FaultZone.Call,
        _ file: FaultZone.File,
        after skipCount: Int
    ) async throws -> (End, wasReached: Bool) {
        let test = try TestWorkspace(schemas: [])
        let zone = FaultZone(folder: test.root)
        let app = try await test.process("app", vfs: FaultZone.vfs)
        for account in ["bob", "alice"] as [AccountID] {
            try await app.addAccount(account)
            let session = try await app.activate(account)
            try await session.database.write { try $0.execute("CREATE TABLE note (text TEXT)") }
        }
        try await app.signOut("bob")
        let before = try await app.account("alice").generation
        let helper = try await test.process("helper")
        let held = try await helper.session("alice")

        let callCount = zone.callCount(call, of: file)
        zone.fail(call, of: file, after: skipCount, times: 1, with: .ioError)
        let comment: Comment = "\(call) of \(file) after \(skipCount)"
        var failure: LockkeeperError?
        do {
            try await app.replaceAccount("alice", with: "bob")
        } catch let error as LockkeeperError {
            failure = error
        }
        let wasReached = zone.callCount(call, of: file) > callCount + skipCount
        zone.heal(call, of: file)
        await app.close()

        let next = try await test.process("next")
        let atRest = try await WorkspaceAtRest(next)
        if !atRest.problems.isEmpty {
            // A target whose sync failed cannot be written any more, so that its fence lags behind. It
            // is retired; when it is activated its files are copied, and all is well.
            let isTarget = atRest.problems.allSatisfy { $0.hasPrefix("bob") }
            #expect(call == .sync && isTarget, "\(atRest.problems) \(comment)")
            try await next.activate("bob")
            try await next.signOut("bob")
            #expect(try await WorkspaceAtRest(next).problems == [], comment)
        }
        let alice = try await next.account("alice")
        let end: End
        switch (atRest.active, failure) {
        case (["bob"], nil): end = .done
        case (["bob"], _?): end = .doneLater
        case (["alice"], let failure?):
            #expect(failure.code == .ioFailed, "\(failure) \(comment)")
            end = alice.generation == before ? .untouched : .thirdGeneration
        default:
            Issue.record(
                "\(atRest.active) after \(failure.map { "\($0)" } ?? "success"), \(comment)"
            )
            end = .done
        }
        try await expectHeld(held, isCurrent: end == .untouched, comment)
        try await test.finish()
        return (end, wasReached)
    }

    private func expectHeld(_ held: Session, isCurrent: Bool, _ comment: Comment) async throws {
        do {
            try await held.database.write { try $0.execute("INSERT INTO note VALUES ('x')") }
            #expect(isCurrent, comment)
        } catch let error as LockkeeperError {
            #expect(error.code == .superseded && !isCurrent, comment)
        }
    }
}

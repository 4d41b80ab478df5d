import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperState
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

extension RealProcesses {
    /// Changes of an account's key, by processes that die at every point.
    @Suite(
        "Key changes of real processes, killed at every point (R-52)",
        .enabled(if: SQLiteLibrary.canEncrypt, "a build without the package trait Encryption")
    )
    struct KilledKeyChangeTests {
        private static let isWholeRun = Environment.variable("LOCKKEEPER_TEST_ALL") != nil

        @Test(
            "a change of the key that is killed at any point, with two helpers attached, leaves a whole store of one key, and nothing is lost"
        )
        func killed() async throws {
            let counts = try await kill(at: [.change, .call])
            #expect(counts[0] > 3 && counts[1] > 1, "\(counts)")
            guard Self.isWholeRun else { return }
            // In a workspace of their own: a process takes a place in one until it ends.
            let others = try await kill(at: [.statement], wholeStride: 2)
            #expect((counts + others).reduce(0, +) >= 200, "\(counts), \(others)")
        }

        /// Kills changes at points of some kinds; gives how many of each.
        private func kill(at kinds: [KillPoint], wholeStride: Int = 1) async throws -> [Int] {
            let parent = try TestWorkspace(schemas: [.state])
            let folder = "\(parent.root)/keys"
            let source = SecretStoreKeys(FileSecretStore(folder: folder))
            var counts: [Int] = []
            try await TestWorkspace.with(schemas: [.state], keys: source) { test in
                let app = try await test.process("app")
                try await app.addAccount("alice")
                let alice = try await app.activate("alice")
                try await DocumentStore(alice).save(Note(text: "kept"), as: "note")
                await app.close()
                var (sum, helpers, names) = (0, [LineProcess](), Set<String>())
                counts = try await killAtEachPoint(
                    test.root,
                    ["key", "alice", folder],
                    of: kinds,
                    stride: 6,
                    wholeStride: wholeStride
                ) {
                    helpers = try ["first", "second"].map {
                        try LineProcess.state(test.root, $0, keys: folder)
                    }
                    for helper in helpers {
                        #expect(try await helper.asked("count sum 3") == "counted")
                        sum += 3
                    }
                } judge: { comment in
                    // Who was attached goes on, or is told that it was superseded.
                    for helper in helpers {
                        let answer = try await helper.asked("count sum 1")
                        if answer == "counted" {
                            sum += 1
                        } else {
                            #expect(
                                answer.contains("this session has generation"),
                                "\(answer), \(comment)"
                            )
                        }
                        try helper.kill()
                    }
                    names.formUnion(try await keyOfWhole(test, sum: sum, comment))
                }
                #expect(names.count > 1)
            }
            try FileSystem.removeTree(parent.root)
            return counts
        }

        /// Looks at what was left; gives the name of its only key.
        private func keyOfWhole(
            _ test: TestWorkspace,
            sum: Int,
            _ comment: Comment
        ) async throws -> Set<String> {
            let next = try await test.process("next")
            let session = try await next.session("alice")
            let stored = try await SettingsStore(session).stored("sum" as SettingKey<Int>)
            #expect(stored == sum, comment)
            let note = try await DocumentStore(session).load(Note.self, from: "note")
            #expect(note.text == "kept", comment)
            #expect(try await session.inspect().isEmpty, comment)
            let facts = try await next.surroundings(of: "alice").facts
            let keys = Set(facts.filter { $0.name.hasPrefix("key-") }.map(\.value))
            #expect(keys.count == 1, comment)
            await next.close()
            return keys
        }

        private struct Note: Document {
            static let kind = "note"
            static let version = 1
            var text: String
        }
    }
}

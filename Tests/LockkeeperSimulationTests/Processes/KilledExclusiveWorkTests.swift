import Glibc
import Lockkeeper
import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperSimulation
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

private let isWholeRun = Environment.variable("LOCKKEEPER_TEST_ALL") != nil

extension RealProcesses {
    /// Exclusive work and the making of a registry, with processes that die, stand, stay, or come.
    @Suite("Exclusive work of real processes: killed, met, refused, wanted twice (5.5, I-11, I-12)")
    struct KilledExclusiveWorkTests {
        @Test(
            "a removal that is killed at any point has not begun, or is completed by the next opener"
        )
        func removal() async throws {
            try await SharedEntries.with { entries in
                try await entries.insert(1)
                let folder = "\(entries.root)/accounts/bob"
                var ends: Set<String> = []
                var isLost = false
                let counts = try await killAtEachPoint(entries.root, ["remove", "bob"]) {
                    try await addBob(entries.app)
                } judge: { comment in
                    // Each other time the registry is lost as well, and the charter has to tell.
                    isLost.toggle()
                    if isLost { try FileSystem.remove("\(entries.root)/workspace.db") }
                    let next = try await entries.test.process("next")
                    let accounts = try await next.accounts().map(\.id)
                    if accounts.contains("bob") {
                        ends.insert("as it was")
                        let session = try await next.session("bob")
                        #expect(try await count(session) == 1, comment)
                        await session.close()
                        try await next.removeAccount("bob")
                    } else {
                        ends.insert("removed")
                        let files = try FileSystem.list(folder)
                        #expect(files == ["account.locks"], comment)
                    }
                    await next.close()
                    #expect(try await entries.rows() == [1], comment)
                }
                #expect(ends == ["as it was", "removed"])
                // Two transactions of the registry; the mark, the files, the folder twice.
                #expect(counts[0] >= 8 && counts[1] >= 8, "\(counts)")
            }
        }

        @Test(
            "a copy of distrusted files that is killed at any point leaves the old ones or the new"
        )
        func copy() async throws {
            try await SharedEntries.with { entries in
                try await entries.insert(0, durability: .durable)
                await entries.app.close()
                var (row, before) = (0, try Published(entries.root))
                var ends: Set<String> = []
                var isLost = false
                let counts = try await killAtEachPoint(
                    entries.root,
                    ["session", "alice"],
                    stride: 4
                ) {
                    before = try Published(entries.root)
                    try distrust(entries.root, before.messages)
                } judge: { comment in
                    // Before anybody else comes: exactly what was, or exactly what is to be.
                    let left = try Published(entries.root)
                    ends.insert(left == before ? "old" : "new")
                    #expect(left == before || left.follows(before), comment)
                    // Each other time the registry is lost as well, and the charter has to tell.
                    isLost.toggle()
                    if isLost { try FileSystem.remove("\(entries.root)/workspace.db") }
                    let next = try await entries.test.process("next")
                    let session = try await next.session("alice")
                    #expect(try await count(session) == row + 1, comment)
                    row += 1
                    let written = row
                    try await session.database.write { transaction in
                        try transaction.execute(
                            "INSERT INTO entry VALUES (?1, 'next')",
                            SQLValue(written)
                        )
                    }
                    await next.close()
                    let after = try Published(entries.root)
                    #expect(after.follows(before), comment)
                    try expectPublished(after, entries.root, comment)
                }
                #expect(ends == ["old", "new"])
                #expect(counts[0] > (isWholeRun ? 50 : 10) && counts[1] > 3, "\(counts)")
            }
        }

        @Test("a making of the registry that is killed at any point is done by the next opener")
        func rebuilding() async throws {
            try await SharedEntries.with { entries in
                try await addBob(entries.app)
                try await entries.app.signOut("bob")
                let accounts = try await entries.app.accounts()
                await entries.app.close()
                let path = "\(entries.root)/workspace.db"
                var wasDamaged = false
                var kept = 0
                let counts = try await killAtEachPoint(entries.root, ["open"], stride: 3) {
                    wasDamaged.toggle()
                    if wasDamaged {
                        kept += 1
                        let file = try FileDescriptor(opening: path, [.writeOnly, .truncate])
                        try file.write(Array("damaged \(kept)".utf8))
                    } else {
                        try FileSystem.remove(path)
                    }
                } judge: { comment in
                    let next = try await entries.test.process("next")
                    #expect(try await next.accounts() == accounts, comment)
                    await next.close()
                }
                #expect(counts[0] > 3 && counts[1] > 1, "\(counts)")
                // None of the damaged ones was overwritten.
                let folder = "\(entries.root)/damaged"
                let contents = try Set(
                    FileSystem.list(folder).filter { $0.hasSuffix(".db") }.map {
                        String(
                            decoding: try FileSystem.contents(of: "\(folder)/\($0)"),
                            as: UTF8.self
                        )
                    }
                )
                #expect(contents == Set((1...kept).map { "damaged \($0)" }))
            }
        }

        @Test("who comes while an account is being removed waits, and is told that there is none")
        func comesDuringRemoval() async throws {
            for isKilled in [false, true] {
                // Before the registry is changed, and among the files that are removed after it.
                for point in ["stand-change=0", "stand-call=8"] {
                    try await SharedEntries.with { entries in
                        try await addBob(entries.app)
                        try await onOwnThread {
                            let remover = try LineProcess.task(
                                entries.root,
                                ["remove", "bob", point]
                            )
                            #expect(try remover.hear() == "stands")
                            let comer = try LineProcess.task(
                                entries.root,
                                ["session", "bob", "change=100000"]
                            )
                            let isBegun = point.contains("call")
                            if isBegun {
                                #expect(try comer.hear().hasPrefix("failed unknownAccount"))
                            }
                            if isKilled { try remover.kill() } else { remover.tell("go on") }
                            if !isKilled { #expect(try remover.hear() == "done") }
                            if !isBegun {
                                let said = try comer.hear()
                                let isThere = isKilled && said == "done"
                                #expect(
                                    isThere || said.hasPrefix("failed unknownAccount"),
                                    "\(said)"
                                )
                            }
                        }
                        let next = try await entries.test.process("next")
                        let isThere = try await next.accounts().map(\.id).contains("bob")
                        #expect(isThere == (isKilled && point == "stand-change=0"))
                        if !isThere {
                            let files = try FileSystem.list("\(entries.root)/accounts/bob")
                            #expect(files == ["account.locks"])
                        }
                    }
                }
            }
        }

        @Test(
            "who comes while distrusted files are copied waits and gets the copy, or makes it himself"
        )
        func comesDuringCopy() async throws {
            for isKilled in [false, true] {
                try await SharedEntries.with { entries in
                    try await entries.insert(1, durability: .durable)
                    await entries.app.close()
                    let before = try Published(entries.root)
                    try distrust(entries.root, before.messages)
                    try await onOwnThread {
                        let maker = try LineProcess.task(
                            entries.root,
                            ["session", "alice", "stand-change=40"]
                        )
                        #expect(try maker.hear() == "stands")
                        let comer = try LineProcess.starting(entries.root, "comer")
                        if isKilled { try maker.kill() } else { maker.tell("go on") }
                        if !isKilled { #expect(try maker.hear() == "done") }
                        #expect(try comer.hear() == "ready")
                        #expect(try comer.ask("count") == "1")
                        #expect(try comer.ask("insert 2 2") == "inserted 1")
                        #expect(comer.end() == .exited(0))
                    }
                    let after = try Published(entries.root)
                    // A number that a leftover has is not used again.
                    #expect(after.messages == before.messages + (isKilled ? 2 : 1))
                    try expectPublished(after, entries.root, "killed: \(isKilled)")
                }
            }
        }

        @Test(
            "a stopped process that does not leave is named, nothing is removed; continued, it is told"
        )
        func stoppedProcess() async throws {
            try await SharedEntries.with { entries in
                await entries.app.close()
                try await onOwnThread {
                    let holder = try LineProcess.account(entries.root, "holder")
                    #expect(try holder.ask("insert 1 3") == "inserted 3")
                    try holder.stop()
                    let refused = try remove("alice", entries.root)
                    #expect(refused.hasPrefix("failed busy"), "\(refused)")
                    #expect(refused.contains("\(holder.pid)") && refused.contains("stopped"))
                    #expect(damageOf(entries.path, rows: [1, 2, 3]) == nil)
                    try holder.proceed()
                    #expect(try holder.ask("insert 4 4") == "inserted 1")
                    #expect(try remove("alice", entries.root) == "done")
                    for request in ["insert 5 5", "count", "insert 6 6"] {
                        let answer = try holder.ask(request)
                        #expect(answer.hasPrefix("failed accountRemoved"), "\(answer)")
                    }
                    #expect(holder.end() == .exited(0))
                    let files = try FileSystem.list("\(entries.root)/accounts/alice")
                    #expect(files == ["account.locks"])
                }
            }
        }

        @Test("a foreign program that has the file open is named, and nothing is done")
        func foreignProgram() async throws {
            for program in ForeignProgram.allCases {
                try await SharedEntries.with { entries in
                    try await entries.insert(1, durability: .durable)
                    await entries.app.close()
                    try await onOwnThread {
                        let before = try Published(entries.root)
                        let foreign = try program.open(entries.path)
                        #expect(try foreign.run("SELECT count(*) FROM entry") == ["1"])
                        let refused = try remove("alice", entries.root)
                        #expect(refused.hasPrefix("failed busy"), "\(refused)")
                        #expect(refused.contains("pid \(foreign.pid)"), "\(refused)")
                        #expect(refused.contains("does not use Lockkeeper"), "\(refused)")
                        #expect(try Published(entries.root) == before)
                        #expect(try foreign.run("SELECT count(*) FROM entry") == ["1"])
                        try foreign.kill()
                        #expect(try remove("alice", entries.root) == "done")
                    }
                }
            }
        }

        @Test("of two that remove one account one does, and the other one is told that it is gone")
        func twoRemovals() async throws {
            try await SharedEntries.with { entries in
                for _ in 0..<(isWholeRun ? 20 : 3) {
                    try await addBob(entries.app)
                    try await onOwnThread {
                        let removers = try (0..<2).map { _ in
                            try LineProcess.task(entries.root, ["remove", "bob", "change=100000"])
                        }
                        let said = try removers.map { String(try $0.hear().prefix(21)) }.sorted()
                        #expect(said == ["done", "failed unknownAccount"])
                    }
                }
            }
        }

        @Test("of two that find distrusted files one copies them, and both go on")
        func twoCopies() async throws {
            try await SharedEntries.with { entries in
                try await entries.insert(1, durability: .durable)
                await entries.app.close()
                for _ in 0..<(isWholeRun ? 20 : 3) {
                    let before = try Published(entries.root)
                    try distrust(entries.root, before.messages)
                    try await onOwnThread {
                        let openers = try (0..<2).map { number in
                            try LineProcess.starting(entries.root, "opener\(number)")
                        }
                        for opener in openers {
                            #expect(try opener.hear() == "ready")
                            #expect(try opener.ask("count") == "1")
                        }
                    }
                    #expect(try Published(entries.root).messages == before.messages + 1)
                }
            }
        }

        // MARK: - Parts

        private func addBob(_ app: Workspace) async throws {
            try await app.addAccount("bob")
            let session = try await app.activate("bob")
            try await session.database.write { transaction in
                try transaction.execute("CREATE TABLE entry (id INTEGER PRIMARY KEY, text TEXT)")
                try transaction.execute("INSERT INTO entry VALUES (1, 'bob')")
            }
            await session.close()
        }

        private func count(_ session: Session) async throws -> Int {
            try await session.database.read { transaction in
                try transaction.query("SELECT count(*) FROM entry") { Int($0.integer(0)) }
            }.first ?? 0
        }

        private func remove(_ account: String, _ root: String) throws -> String {
            try LineProcess.task(root, ["remove", account, "change=100000"]).hear()
        }

        /// Says that a sync of the account's messages has failed, as whoever saw it would.
        private func distrust(_ root: String, _ number: Int64) throws {
            let identity = try ProcessIdentity.current()
            let membership = try LockFileMembership(
                path: "\(root)/accounts/alice/account.locks",
                process: ProcessDescription(
                    identity: identity,
                    program: "test",
                    processName: "test",
                    role: .tool
                ),
                clock: SystemClock()
            )
            try membership.setDistrust(
                Distrust(bootID: identity.bootID, fileNumber: UInt64(number)),
                of: .messages
            )
        }

        /// Expects that the current files are there, that their fences say what the registry says, and
        /// that the account's folder names them.
        private func expectPublished(
            _ published: Published,
            _ root: String,
            _ comment: Comment
        ) throws {
            let folder = "\(root)/accounts/alice"
            for name in ["messages-\(published.messages).db", "settings-\(published.settings).db"] {
                let connection = try PlainDatabase.open("\(folder)/\(name)", .readOnly)
                defer { try? connection.close() }
                let generation = try connection.value("SELECT generation FROM lk_fence")
                #expect(generation?.integer == published.generation, comment)
            }
            let charter = String(
                decoding: try FileSystem.contents(of: "\(folder)/account.json"),
                as: UTF8.self
            )
            let numbers = "\"messages\":\(published.messages),\"settings\":\(published.settings),"
            #expect(charter.contains(numbers), comment)
        }
    }
}

/// What the registry says of the account alice, seen with SQLite alone.
private struct Published: Equatable {
    let messages: Int64
    let settings: Int64
    let generation: Int64

    init(_ root: String) throws {
        let connection = try PlainDatabase.open("\(root)/workspace.db")
        defer { try? connection.close() }
        func number(_ column: String) throws -> Int64 {
            let value = try connection.value(
                "SELECT \(column) FROM lk_account WHERE id = 'alice'"
            )
            return value?.integer ?? 0
        }
        messages = try number("messages_file")
        settings = try number("settings_file")
        generation = try number("generation")
    }

    /// Whether it is what comes after a copy.
    func follows(_ other: Published) -> Bool {
        messages > other.messages && settings > other.settings && generation > other.generation
    }
}

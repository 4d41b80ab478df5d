import Glibc
import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import Synchronization

/// A process that keeps or applies packets of the account "alice", and may die on the way.
///
///     add             adds the account, active: "added"
///     keep TEXT N     keeps a packet, and dies before the Nth call of the kernel that has to do with
///                     it; "kept" where it needs fewer
///     stand TEXT N    the same, but it says "stands" there and goes on when a line comes; what fails
///                     is answered by the error's code
///     full TEXT       keeps a packet while the disk is full but for the account's reserve: "kept", or
///                     "diskFull" where that is used up
///     drain N         opens the account and applies what waits, and dies likewise: "drained"
///     receive TEXT…   stores packets as rows, and leaves them to others: "received"
///     parked          what is put aside: "TEXT:REASON:FAILURE…"
///     rows            what is there: "rows TEXT… waiting COUNT recorded COUNT"
///
/// A packet is a row of `note`, as often as it is applied, so that applying it twice is seen. One that
/// says "deadly" ends whoever decodes it, one that says "undecodable" is refused.
enum InboxTool {
    private static let account: AccountID = "alice"

    private static func schema(reads formats: Set<PacketFormat>) -> Schema {
        Schema(
            owner: "notes",
            migrations: [
                Migration(owner: "notes", name: "1_note", sql: "CREATE TABLE note (text TEXT)")
            ],
            intake: PacketIntake(formats: formats) { _, packet in
                let text = String(decoding: packet.bytes, as: UTF8.self)
                if text == "deadly" { kill(getpid(), SIGKILL) }
                if text == "undecodable" { throw Undecodable() }
                return { connection, _ in
                    let statement = try connection.statement("INSERT INTO note VALUES (?1)")
                    try statement.bind(1, text)
                    try statement.run()
                }
            }
        )
    }

    private struct Undecodable: Error {}

    static func run(root: String, _ words: [String]) async throws -> String {
        let schema = schema(reads: words.first == "receive" ? [] : [.eventLines])
        let workspace = try await Workspace.open(at: root, name: "inbox-tool", schemas: [schema])
        switch (words.first, words.count) {
        case ("add", 1):
            try await workspace.addAccount(account)
            try await workspace.activate(account)
            return "added"
        case ("keep", 3):
            dieBefore(call: Int(words[2]) ?? 0)
            let packet = Packet(Array(words[1].utf8))
            _ = try await workspace.keep(packet, for: account, because: .busy)
            return "kept"
        case ("stand", 3):
            atCall(Int(words[2]) ?? 0) {
                say("stands")
                _ = hear()
            }
            do {
                let packet = Packet(Array(words[1].utf8))
                _ = try await workspace.keep(packet, for: account, because: .busy)
                return "kept"
            } catch let error as LockkeeperError {
                return error.code.rawValue
            }
        case ("full", 2):
            fillDisk(but: root + "/accounts/\(account)/reserve")
            do {
                let packet = Packet(Array(words[1].utf8))
                _ = try await workspace.keep(packet, for: account, because: .busy)
                return "kept"
            } catch let error as LockkeeperError {
                return error.code.rawValue
            }
        case ("drain", 2):
            dieBefore(call: Int(words[1]) ?? 0)
            let report = try await workspace.drainInbox(of: account)
            if let obstacle = report.obstacle { throw obstacle }
            return "drained"
        case ("receive", 2...):
            let session = try await workspace.session(account)
            for text in words.dropFirst() {
                _ = try await session.receive(Packet(Array(text.utf8)))
            }
            return "received"
        case ("parked", 1):
            var words: [String] = []
            for packet in try await workspace.inbox(of: account) {
                guard let parked = packet.parked else { continue }
                let bytes = try await workspace.packet(packet.name, of: account) ?? []
                let text = String(decoding: bytes, as: UTF8.self)
                words.append("\(text):\(parked):\(packet.failure ?? "-")")
            }
            return words.joined(separator: " ")
        case ("rows", 1):
            let waiting = try await workspace.inbox(of: account).filter { $0.parked == nil }.count
            let session = try await workspace.inspectionSession(account)
            return try await session.database.readConnection { connection in
                let statement = try connection.statement("SELECT text FROM note ORDER BY rowid")
                defer { statement.reset() }
                var rows: [String] = []
                while try statement.step() { rows.append(statement.string(0)) }
                let recorded = try InboxTable(connection).names(limit: 1000).count
                return (["rows"] + rows + ["waiting", "\(waiting)", "recorded", "\(recorded)"])
                    .joined(separator: " ")
            }
        default: exit(64)
        }
    }

    /// From now on no packet's file has room while a file of a path is there, or once it was gone.
    private static func fillDisk(but reserve: String) {
        let hadReserve = (try? FileSystem.status(reserve)) ?? nil != nil
        SystemFault.install { made, path in
            guard made == .open, let path, path.hasSuffix(".tmp") else { return nil }
            let hasReserve = (try? FileSystem.status(reserve)) ?? nil != nil
            return hadReserve && !hasReserve ? nil : .noSpace
        }
    }

    /// Kills the process before a call by which packets are written, moved, removed or made durable;
    /// 0 before none.
    private static func dieBefore(call: Int) {
        atCall(call) { kill(getpid(), SIGKILL) }
    }

    /// Does something before such a call; 0 before none.
    private static func atCall(_ call: Int, _ act: @escaping @Sendable () -> Void) {
        guard call > 0 else { return }
        let count = Mutex(0)
        SystemFault.install { made, path in
            let concerns = path.map { $0.contains("/inbox") } ?? [.write, .fsync].contains(made)
            guard concerns else { return nil }
            let isIt = count.withLock { count in
                count += 1
                return count == call
            }
            if isIt { act() }
            return nil
        }
    }
}

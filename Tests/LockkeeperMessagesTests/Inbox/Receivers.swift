import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperTesting
import Synchronization
import Testing

@testable import LockkeeperMessages

/// Reads packets such as `m1 5`, a message's id and seq.
private struct WordDecoder: PacketDecoder {
    func decode(_ packet: [UInt8]) throws -> DecodedPacket {
        let words = String(decoding: packet, as: UTF8.self).split(separator: " ")
        switch words.first {
        case "page":
            return DecodedPacket(
                events: [],
                page: SyncPage(stream: "other", after: nil, next: "x")
            )
        case "slow":
            SlowDecoding.pass()
            return DecodedPacket(events: [message("slow", seq: 1000)])
        case let id?:
            guard words.count == 2, let seq = Int64(words[1]) else { throw Undecodable() }
            return DecodedPacket(events: [message(try MessageID(id), seq: seq)])
        case nil: throw Undecodable()
        }
    }
}

private struct Undecodable: Error {}

/// Where the first process stands that decodes the packet "slow".
enum SlowDecoding {
    private static let gate = Gate()

    static func pass() {
        gate.arrive()
        gate.waitUntilOpen()
    }

    static func arrived() async { await gate.arrived() }

    static func open() { gate.open() }
}

/// Runs a test on the accounts alice, which is active, and bob, which is not, of an app whose packets
/// are its own; with a helper that leaves them to others.
func withReceiver(
    limits: Limits = Limits(),
    _ body: (_ test: TestWorkspace, _ app: Workspace, _ helper: MessageStore) async throws -> Void
) async throws {
    let schema = Schema.messages(packets: .decoded(by: WordDecoder()))
    try await TestWorkspace.with(schemas: [schema], limits: limits) { test in
        let app = try await test.process("app")
        try await app.addAccount("alice")
        try await app.addAccount("bob")
        let alice = try await app.activate("alice")
        let helper = try await Workspace.openApart(
            at: test.root,
            name: "helper",
            role: .helper,
            schemas: [.messages(packets: .left)],
            limits: limits,
            clock: test.clock,
            wallClock: test.wallClock
        )
        do {
            try await body(test, app, MessageStore(try await helper.session("alice")))
        } catch {
            await helper.close()
            throw error
        }
        await helper.close()
        await alice.close()
    }
}

/// Waits until others have applied what waits for alice.
func expectNothingWaits(_ workspace: Workspace) async throws {
    let end = Deadline(after: .seconds(60), from: SystemClock().now())
    while try await !workspace.inbox(of: "alice").isEmpty {
        try #require(!end.hasPassed(at: SystemClock().now()), "a packet lies there")
        await Task.yield()
    }
}

extension MessageStore {
    func receive(_ text: String, closing page: SyncPage? = nil) async throws -> ReceivedPacket {
        try await receive(Array(text.utf8), closing: page)
    }

    /// The ids of all messages in the order in which they were written.
    func written() async throws -> [String] {
        try await session.database.readConnection { connection in
            let select = try connection.prepare("SELECT message_id FROM lk_message ORDER BY id")
            var ids: [String] = []
            while try select.step() { ids.append(select.string(0)) }
            return ids
        }
    }
}

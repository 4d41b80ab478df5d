import Lockkeeper
import LockkeeperMessages
import LockkeeperTesting
import Testing

/// One active account in a workspace of a test's own.
struct TestAccount {
    let test: TestWorkspace
    let app: Workspace
    let messages: MessageStore

    var session: Session { messages.session }

    /// The same account as another process has it.
    func process(_ name: String) async throws -> MessageStore {
        try MessageStore(try await test.process(name).session(session.token.account))
    }

    /// A fresh account beside this one, with the same contract and own id.
    func another(_ id: AccountID) async throws -> MessageStore {
        try await app.addAccount(
            id,
            ownID: session.account.ownID,
            contract: session.account.contract
        )
        return try MessageStore(try await app.activate(id))
    }
}

/// Limits under which what failed is not tried again while a slow machine runs a test; the test moves
/// the clock.
var longRetry: Limits {
    var limits = Limits()
    limits.attemptRetry = Backoff(least: .seconds(300), largest: .seconds(300))
    return limits
}

/// Runs a test on a fresh account "alice", who is "me" on her server, and inspects the store.
func withAccount(
    contract: ServerContract = ServerContract(),
    ownID: String? = "me",
    limits: Limits = Limits(),
    _ body: (TestAccount) async throws -> Void
) async throws {
    try await TestWorkspace.with(limits: limits, keys: TestKeys.whereEncrypted()) { test in
        let app = try await test.process("app")
        try await app.addAccount("alice", ownID: ownID.map { Array($0.utf8) }, contract: contract)
        let session = try await app.activate("alice")
        try await body(
            TestAccount(test: test, app: app, messages: try MessageStore(session))
        )
    }
}

/// Expects a call to fail with a code.
func expect(
    _ code: LockkeeperError.Code,
    _ body: () async throws -> Void,
    sourceLocation: SourceLocation = #_sourceLocation
) async {
    let error = await #expect(throws: LockkeeperError.self, sourceLocation: sourceLocation) {
        try await body()
    }
    #expect(error?.code == code, sourceLocation: sourceLocation)
}

extension MessageStore {
    /// The conversation as people see it, oldest first: `id:body`, a recalled one without body.
    func shown(_ conversation: ConversationID = "c") async throws -> [String] {
        try await timeline(conversation, limit: 1_000).reversed().map { message in
            "\(message.id):\(message.body ?? "")"
        }
    }

    /// The unread counter; `nil` while it is unknown.
    func unread(_ conversation: ConversationID = "c") async throws -> Int? {
        try await self.conversation(conversation)?.unread
    }

    /// The lines of an export.
    func exported(includingCursors: Bool = false) async throws -> [String] {
        let chunks = Collector<[UInt8]>()
        try await export(includingCursors: includingCursors) { chunks.append($0) }
        return String(decoding: chunks.values.joined(), as: UTF8.self)
            .split(separator: "\n").map(String.init)
    }

    /// Stores the lines of an export.
    func importing(_ lines: [String]) async throws {
        var decoder = EventDecoder()
        let events = try lines.map { try decoder.decode(line: Array($0.utf8)) }
        _ = try await ingest(events, durability: .committed)
    }
}

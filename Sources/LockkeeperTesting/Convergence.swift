import Lockkeeper
public import LockkeeperMessages
import Synchronization

extension FakeServer {
    /// Fetches pages until there are no more, as the sync of an app does; with a full sync where the
    /// cursor has expired.
    ///
    /// - Throws: what storing throws. What was fetched before is stored then.
    public func sync(_ store: MessageStore) async throws {
        while true {
            do {
                let cursor = try await store.cursors()[stream]
                let answer = try page(after: cursor)
                try await store.ingest(answer.events, closing: answer.page)
                if answer.page.isDone { return }
            } catch let refusal as Refusal {
                guard case .cursorExpired(let reset) = refusal else { throw refusal }
                try await store.ingest([.reset(reset)])
            }
        }
    }

    /// Takes what waits in the outbox and is due, as the loop of an app does that tells its server.
    ///
    /// - Returns: how many items have ended.
    /// - Throws: what claiming and answering throw.
    @discardableResult
    public func takeOutbox(of store: MessageStore) async throws -> Int {
        var count = 0
        while let claim = try await store.claimNextOutboxItem() {
            let answer: Acknowledgement
            do {
                answer = try send(claim.item)
            } catch .alreadySent(let known) {
                answer = known
            } catch {
                try await claim.leaveUnanswered(because: "\(error)")
                continue
            }
            try await claim.confirm(as: answer.id, sequence: answer.sequence)
            count += 1
        }
        return count
    }
}

/// A store that does not hold what its server says.
public struct Divergence: Error, CustomStringConvertible {
    /// Lines of the event format that the server's events lead to and the store's export has not.
    public let missing: [String]
    /// Lines that the store's export has, and should not.
    public let unexpected: [String]
    /// How many acts the outbox holds that the server was not told.
    public let outboxCount: Int

    /// What differs; the first lines of it, since a test's log should stay readable.
    public var description: String {
        (["the store is not what the server's events lead to; \(outboxCount) in the outbox"]
            + missing.prefix(10).map { "  missing: \($0)" }
            + unexpected.prefix(10).map { "  unexpected: \($0)" }).joined(separator: "\n")
    }
}

/// Expects that a store holds exactly what its server's events lead to, whatever came twice, late or
/// in another order, and that nothing is left to tell the server.
///
/// A fresh store takes the server's events once, in the server's order, and both exports are compared
/// line by line. It waits for nothing: let the app's own loops end first, or use
/// ``FakeServer/sync(_:)`` and ``FakeServer/takeOutbox(of:)``.
///
/// - Parameters:
///   - store: the store.
///   - server: the server whose events it should hold, and no others.
/// - Throws: ``Divergence``, and what reading the store throws.
public func expectConverges(_ store: MessageStore, with server: FakeServer) async throws {
    let account = store.session.account
    let test = try TestWorkspace()
    let truth = try await test.process("truth")
    try await truth.addAccount(account.id, ownID: account.ownID, contract: account.contract)
    let reference = try MessageStore(await truth.activate(account.id))
    try await reference.ingest(server.events)
    let expected = try await lines(of: reference)
    let found = try await lines(of: store)
    try await test.finish()
    let outboxCount = try await store.outbox().count
    if found != expected || outboxCount > 0 {
        let (known, seen) = (Set(expected), Set(found))
        throw Divergence(
            missing: expected.filter { !seen.contains($0) },
            unexpected: found.filter { !known.contains($0) },
            outboxCount: outboxCount
        )
    }
}

/// A store's export, line by line.
private func lines(of store: MessageStore) async throws -> [String] {
    let bytes = ByteSink()
    try await store.export { bytes.append($0) }
    return bytes.all.split(separator: UInt8(ascii: "\n")).map {
        String(decoding: $0, as: UTF8.self)
    }
}

/// Collects what an export's thread writes.
private final class ByteSink: Sendable {
    private let bytes = Mutex<[UInt8]>([])

    /// What was written.
    var all: [UInt8] { bytes.withLock { $0 } }

    /// Takes some more.
    func append(_ more: [UInt8]) { bytes.withLock { $0 += more } }
}

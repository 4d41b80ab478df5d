import Lockkeeper
package import LockkeeperDomain
import LockkeeperMessages

/// The pages that helpers store: every helper has a stream of its own, and its pages follow each
/// other in each account by themselves. Ids and cursors are equal in all accounts, so that a row in
/// the wrong one would not be noticed by its name; the body says for whom it was sent (B46).
package enum SwitchPages {
    static let conversation: ConversationID = "everybody"
    private static let sender: PersonID = "u2"
    /// Conversations have no place twice: each helper has places of its own.
    private static let placesPerHelper: Int64 = 1 << 32

    /// The stream of a helper.
    static func stream(of helper: Int) -> StreamID {
        StreamID(unchecked: Array("helper-\(helper)".utf8))
    }

    /// The cursor behind a page; `nil` before the first.
    static func cursor(behind page: Int) -> Cursor? {
        page == 0 ? nil : Cursor(unchecked: Array("page-\(page)".utf8))
    }

    /// The page behind which a cursor stands.
    static func page(of cursor: Cursor) -> Int? {
        let text = String(decoding: cursor.bytes, as: UTF8.self)
        return text.hasPrefix("page-") ? Int(text.dropFirst(5)) : nil
    }

    /// How many messages a page has.
    static func messageCount(of page: Int) -> Int { 1 + page % 3 }

    /// What a message says.
    static func body(for account: AccountID, _ attempt: SwitchAttempt) -> String {
        "\(account) \(attempt)"
    }

    /// A page as events, the page itself the last of them.
    static func events(
        of page: Int,
        for account: AccountID,
        _ attempt: SwitchAttempt
    ) -> [Event] {
        let stream = stream(of: attempt.helper)
        var events = (1...messageCount(of: page)).map { number in
            Event.message(
                MessageEvent(
                    conversation: conversation,
                    id: MessageID(unchecked: Array("\(attempt.helper)-\(page)-\(number)".utf8)),
                    sequence: Int64(attempt.helper) * placesPerHelper + Int64(page * 4 + number),
                    sender: sender,
                    sentAt: .earliest,
                    body: body(for: account, attempt)
                )
            )
        }
        guard let next = cursor(behind: page) else {
            preconditionFailure("pages are counted from 1")
        }
        events.append(.page(SyncPage(stream: stream, after: cursor(behind: page - 1), next: next)))
        return events
    }
}

/// One row per page that was committed, written in the page's own transaction: the token that the
/// helper held, and the fence as it stood there. SQLite makes one order of all transactions, so
/// that the row is the truth about the moment of the commit.
package struct SwitchWitness: Sendable, Hashable {
    /// Its place among the account's commits: rows are never removed.
    package let place: Int64
    /// The account in whose file it stands.
    package let account: AccountID
    /// The account that the page was sent for.
    package let sentFor: AccountID
    /// The attempt.
    package let attempt: SwitchAttempt
    /// The page.
    package let page: Int
    /// The generation that the helper held.
    package let held: Generation
    /// The generation that the fence had in the transaction.
    package let fence: Generation
    /// What the fence's state was in the transaction: `active` or `retired`.
    package let state: String
    /// When, by the helper's own clock, the transaction was about to end.
    package let time: MonotonicInstant

    /// Makes the table.
    static func createTable(in transaction: borrowing Transaction) throws {
        try transaction.execute(
            """
            CREATE TABLE witness (
                place INTEGER PRIMARY KEY, account TEXT, attempt TEXT, page INTEGER, held INTEGER,
                fence INTEGER, state TEXT, time INTEGER
            )
            """
        )
    }

    /// Writes the row of a page, in its transaction.
    static func insert(
        _ attempt: SwitchAttempt,
        page: Int,
        token: FencingToken,
        at time: MonotonicInstant,
        in transaction: borrowing Transaction
    ) throws {
        try transaction.execute(
            """
            INSERT INTO witness (account, attempt, page, held, fence, state, time)
            SELECT ?1, ?2, ?3, ?4, generation, state, ?5 FROM lk_fence
            """,
            .text(token.account.bytes),
            .text(Array("\(attempt)".utf8)),
            .integer(Int64(page)),
            .integer(token.generation.rawValue),
            .integer(time.nanoseconds)
        )
    }

    /// Reads all rows of an account, in the order of the commits.
    static func rows(
        of account: AccountID,
        in transaction: borrowing ReadTransaction
    ) throws -> [SwitchWitness] {
        try transaction.query(
            "SELECT place, account, attempt, page, held, fence, state, time FROM witness ORDER BY 1"
        ) { row in
            guard let attempt = SwitchAttempt(row.text(2)) else {
                throw SimulationError.unreadableOutput(process: "a helper", line: row.text(2))
            }
            return SwitchWitness(
                place: row.integer(0),
                account: account,
                sentFor: AccountID(unchecked: Array(row.text(1).utf8)),
                attempt: attempt,
                page: Int(row.integer(3)),
                held: Generation(row.integer(4)),
                fence: Generation(row.integer(5)),
                state: row.text(6),
                time: MonotonicInstant(nanoseconds: row.integer(7))
            )
        }
    }
}

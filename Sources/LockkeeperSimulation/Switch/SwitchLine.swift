package import LockkeeperDomain

/// An attempt of one helper to store one page, named so that its rows can be told from any other
/// attempt's.
package struct SwitchAttempt: Sendable, Hashable, CustomStringConvertible {
    /// The helper's number.
    package let helper: Int
    /// Which of the helper's processes it was, 1 for the first.
    package let life: Int
    /// The attempt's number within that life.
    package let number: Int

    /// An attempt of its parts.
    package init(helper: Int, life: Int, number: Int) {
        self.helper = helper
        self.life = life
        self.number = number
    }

    /// The name: three numbers with points between them.
    package var description: String { "\(helper).\(life).\(number)" }

    /// Reads a name.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".").compactMap { Int($0) }
        guard parts.count == 3 else { return nil }
        self.init(helper: parts[0], life: parts[1], number: parts[2])
    }
}

/// Where in a write a helper is stopped.
package enum SwitchStopPlace: String, Sendable, Hashable {
    /// Between taking the token and the transaction.
    case before
    /// In the transaction, behind the check of the token.
    case inside
}

/// What a worker of the simulation says about itself, as a line of words:
///
///     time took ACCOUNT GENERATION                      the session that it goes on with
///     time sends ATTEMPT ACCOUNT GENERATION PAGE        a page is handed to the store
///     time stops ATTEMPT before|inside                  it stops itself, and somebody continues it
///     time stored ATTEMPT COMMIT                        the store's receipt
///     time refused ATTEMPT CODE                         the store's error; nothing was stored
///     time switches FROM TO                             a switch begins
///     time switched FROM TO GENERATION                  it ended, TO is active under the generation
///     time kept FROM TO CODE                            it failed and said so
///     time stands CHANGE                                it stands before that change of a file
///     time failed WORDS                                 something that is no part of the game
///
/// The time is the kernel's monotonic one in nanoseconds, which all processes share.
package struct SwitchLine: Sendable, Hashable {
    /// When it happened.
    package let time: MonotonicInstant
    /// What happened.
    package let statement: Statement

    /// What happened.
    package enum Statement: Sendable, Hashable {
        case took(FencingToken)
        case sends(SwitchAttempt, FencingToken, page: Int)
        case stops(SwitchAttempt, SwitchStopPlace)
        case stored(SwitchAttempt, commit: Int64)
        case refused(SwitchAttempt, code: String)
        case switches(from: AccountID, to: AccountID)
        case switched(from: AccountID, to: FencingToken)
        case kept(from: AccountID, to: AccountID, code: String)
        case stands(change: Int)
        case failed(String)
    }

    /// A line of its parts.
    package init(time: MonotonicInstant, _ statement: Statement) {
        self.time = time
        self.statement = statement
    }

    /// The line, without its end.
    package var text: String { "\(time.nanoseconds) \(words)" }

    private var words: String {
        switch statement {
        case .took(let token): "took \(Self.words(token))"
        case .sends(let attempt, let token, let page):
            "sends \(attempt) \(Self.words(token)) \(page)"
        case .stops(let attempt, let place): "stops \(attempt) \(place.rawValue)"
        case .stored(let attempt, let commit): "stored \(attempt) \(commit)"
        case .refused(let attempt, let code): "refused \(attempt) \(code)"
        case .switches(let from, let to): "switches \(from) \(to)"
        case .switched(let from, let to): "switched \(from) \(Self.words(to))"
        case .kept(let from, let to, let code): "kept \(from) \(to) \(code)"
        case .stands(let change): "stands \(change)"
        case .failed(let text): "failed \(text.split(separator: "\n").joined(separator: " "))"
        }
    }

    private static func words(_ token: FencingToken) -> String {
        "\(token.account) \(token.generation)"
    }

    /// Reads a line.
    package init?(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        let words = text.split(separator: " ")
        guard words.count >= 2, let nanoseconds = Int64(words[0]),
            let statement = Self.statement(String(words[1]), words.dropFirst(2).map(String.init))
        else { return nil }
        time = MonotonicInstant(nanoseconds: nanoseconds)
        self.statement = statement
    }

    private static func statement(_ verb: String, _ words: [String]) -> Statement? {
        switch (verb, words.count) {
        case ("took", 2): token(words[0], words[1]).map { .took($0) }
        case ("sends", 4): sends(words)
        case ("stops", 2): attempt(words) { .stops($0, SwitchStopPlace(rawValue: $1) ?? .before) }
        case ("stored", 2): attempt(words) { .stored($0, commit: Int64($1) ?? 0) }
        case ("refused", 2): attempt(words) { .refused($0, code: $1) }
        case ("switches", 2): .switches(from: account(words[0]), to: account(words[1]))
        case ("switched", 3):
            token(words[1], words[2]).map { .switched(from: account(words[0]), to: $0) }
        case ("kept", 3): .kept(from: account(words[0]), to: account(words[1]), code: words[2])
        case ("stands", 1): Int(words[0]).map { .stands(change: $0) }
        case ("failed", _): .failed(words.joined(separator: " "))
        default: nil
        }
    }

    private static func sends(_ words: [String]) -> Statement? {
        guard let attempt = SwitchAttempt(words[0]), let token = token(words[1], words[2]),
            let page = Int(words[3])
        else { return nil }
        return .sends(attempt, token, page: page)
    }

    private static func attempt(
        _ words: [String],
        _ make: (SwitchAttempt, String) -> Statement
    ) -> Statement? {
        SwitchAttempt(words[0]).map { make($0, words[1]) }
    }

    private static func token(_ account: String, _ generation: String) -> FencingToken? {
        Int64(generation).map {
            FencingToken(account: self.account(account), generation: Generation($0))
        }
    }

    private static func account(_ word: String) -> AccountID {
        AccountID(unchecked: Array(word.utf8))
    }
}

/// What a worker is told, as a line of words.
package enum SwitchOrder: Sendable, Hashable {
    /// Switch from the active account to the one that is so many behind it.
    case makeSwitch(offset: Int)
    /// Stop yourself at this place of the next attempt.
    case stop(SwitchStopPlace)
    /// Stand still before a file is changed, after so many more changes.
    case stand(change: Int)
    /// Let your time of day step by so many milliseconds.
    case stepClock(milliseconds: Int64)

    /// The line, with its end.
    package var line: [UInt8] {
        let words =
            switch self {
            case .makeSwitch(let offset): "switch \(offset)"
            case .stop(let place): "stop \(place.rawValue)"
            case .stand(let change): "stand \(change)"
            case .stepClock(let milliseconds): "clock \(milliseconds)"
            }
        return Array("\(words)\n".utf8)
    }

    /// Reads a line without its end.
    package init?(_ text: some StringProtocol) {
        let words = text.split(separator: " ")
        guard words.count == 2 else { return nil }
        switch words[0] {
        case "switch":
            guard let offset = Int(words[1]) else { return nil }
            self = .makeSwitch(offset: offset)
        case "stand":
            guard let change = Int(words[1]) else { return nil }
            self = .stand(change: change)
        case "stop":
            guard let place = SwitchStopPlace(rawValue: String(words[1])) else { return nil }
            self = .stop(place)
        case "clock":
            guard let milliseconds = Int64(words[1]) else { return nil }
            self = .stepClock(milliseconds: milliseconds)
        default: return nil
        }
    }
}

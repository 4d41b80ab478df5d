import LockkeeperDomain

/// What a worker of a stress run asks for.
package enum StressAct: String, Sendable, Hashable, CaseIterable {
    /// The workspace, or a session of the active account.
    case open
    /// A page is stored, with the row that says under which fence.
    case page
    /// A page that was stored is stored once more.
    case again
    /// A packet is delivered.
    case packet
    /// A conversation is marked as read.
    case read
    /// A conversation is cleared.
    case clear
    /// One is added to a setting.
    case add
    /// A message is put into the outbox.
    case send
    /// An item of the outbox is claimed, or an effect.
    case claim
    /// The server is told an item of the outbox; the answer is its confirmation in the store.
    case tell
    /// An effect is acted on; the answer is its confirmation in the store.
    case show
    /// The commits are followed.
    case follow
    /// A snapshot is read.
    case snapshot
}

/// One line of a history: what a process asked for, or what it was told, and when.
///
/// A process appends the line of a question before it does anything, and that of the answer as soon as
/// it has it; each is one call of the kernel, so that a kill loses none. A file of them is a JSON object
/// a line:
///
///     t           when, in microseconds of the kernel's monotonic clock, which all processes share
///     word        what kind of line it is (``Word``)
///     act         what is asked for
///     id          what names it: the same in question and answer
///     account     for whom
///     generation  under which generation
///     number      a page, a place, an attempt, a first commit
///     commit      the last commit that is spoken of
///     other       another number: a predecessor, the head that was read
///     from, to    when a transaction was inside, in microseconds
///     text        words: a code, a store, names and values
package struct StressEntry: Sendable, Hashable {
    /// When, in microseconds.
    package var time: Int64
    /// What kind of line it is.
    package var word: Word
    /// What is asked for.
    package var act: StressAct?
    /// What names it.
    package var id: String = ""
    /// For which account.
    package var account: String?
    /// Under which generation.
    package var generation: Int64?
    /// A page, a place, an attempt, a first commit.
    package var number: Int64?
    /// The last commit that is spoken of.
    package var commit: Int64?
    /// A predecessor, or the head that was read.
    package var other: Int64?
    /// When a transaction was entered, in microseconds.
    package var from: Int64?
    /// When it was about to end.
    package var to: Int64?
    /// Words.
    package var text: String?

    /// What kind of line it is.
    package enum Word: String, Sendable, Hashable, CaseIterable {
        /// The process has begun.
        case began
        /// Something is asked for.
        case asks
        /// It was done, and is durable.
        case answered
        /// It was refused with a code.
        case refused
        /// Something was seen: a range of commits, a snapshot.
        case saw
        /// Its input has ended: it finishes.
        case finishes
        /// It has done everything and ends.
        case ended
        /// Something that is no part of the game.
        case failed
    }

    /// A line of its parts.
    package init(time: Int64, _ word: Word, _ act: StressAct? = nil, id: String = "") {
        self.time = time
        self.word = word
        self.act = act
        self.id = id
    }

    /// The line, with its end.
    package var line: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("t")
        writer.integer(time)
        writer.key("word")
        writer.string(word.rawValue)
        if let act {
            writer.key("act")
            writer.string(act.rawValue)
        }
        if !id.isEmpty {
            writer.key("id")
            writer.string(id)
        }
        let numbers: [(StaticString, Int64?)] = [
            ("generation", generation), ("number", number), ("commit", commit), ("other", other),
            ("from", from), ("to", to),
        ]
        for (name, number) in numbers {
            guard let number else { continue }
            writer.key(name)
            writer.integer(number)
        }
        for (name, text) in [("account" as StaticString, account), ("text", text)] {
            guard let text else { continue }
            writer.key(name)
            writer.string(text)
        }
        writer.endObject()
        writer.endLine()
        return writer.bytes
    }

    /// Reads a line; `nil` where it is none.
    package init?(_ line: some Collection<UInt8>) {
        let bytes = Array(line)
        var entry = StressEntry(time: -1, .failed)
        var words: (word: String, act: String?) = ("", nil)
        let isRead = bytes.withUnsafeBytes { bytes -> Bool in
            var scanner = JSONScanner(bytes)
            do throws(JSONError) {
                try scanner.beginObject()
                while let key = try scanner.nextKey() {
                    try entry.read(key, from: &scanner, &words)
                }
                try scanner.finish()
                return true
            } catch {
                return false
            }
        }
        guard isRead, entry.time >= 0, let word = Word(rawValue: words.word) else { return nil }
        entry.word = word
        if let name = words.act {
            guard let act = StressAct(rawValue: name) else { return nil }
            entry.act = act
        }
        self = entry
    }

    private mutating func read(
        _ key: JSONKey,
        from scanner: inout JSONScanner,
        _ words: inout (word: String, act: String?)
    ) throws(JSONError) {
        if scanner.matches(key, "t") {
            time = try scanner.readInteger()
        } else if scanner.matches(key, "word") {
            words.word = try scanner.readString()
        } else if scanner.matches(key, "act") {
            words.act = try scanner.readString()
        } else if scanner.matches(key, "id") {
            id = try scanner.readString()
        } else if scanner.matches(key, "generation") {
            generation = try scanner.readInteger()
        } else if scanner.matches(key, "number") {
            number = try scanner.readInteger()
        } else if scanner.matches(key, "commit") {
            commit = try scanner.readInteger()
        } else if scanner.matches(key, "other") {
            other = try scanner.readInteger()
        } else if scanner.matches(key, "from") {
            from = try scanner.readInteger()
        } else if scanner.matches(key, "to") {
            to = try scanner.readInteger()
        } else if scanner.matches(key, "account") {
            account = try scanner.readString()
        } else if scanner.matches(key, "text") {
            text = try scanner.readString()
        } else {
            _ = try scanner.nextValue()
        }
    }
}

extension MonotonicInstant {
    /// The instant in microseconds, rounded down: what histories count in.
    var microseconds: Int64 { nanoseconds / 1000 }
}

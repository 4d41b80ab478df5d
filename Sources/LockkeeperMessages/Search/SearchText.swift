import LockkeeperDomain
import LockkeeperText

/// What is looked for in the messages' texts, folded.
///
/// A text matches when every needle stands somewhere in it, whole characters by whole characters,
/// inside of words too: languages that write without spaces have no other way, and a person who
/// remembers a part of a word finds it. Nothing in it is syntax (B92).
struct SearchNeedles: Sendable, Hashable {
    /// The needles; none of them is empty. No needle matches nothing.
    let needles: [[UInt8]]

    /// Folds what a person typed: its words, or the whole as one phrase.
    init(_ text: String, match: SearchQuery.Match) {
        let folded = TextFolding.folded(text)
        switch match {
        case .words:
            var seen: Set<[UInt8]> = []
            needles = folded.split(separator: 0x20).map(Array.init).filter {
                seen.insert($0).inserted
            }
        case .phrase:
            let trimmed = folded.drop { $0 == 0x20 }
            let end = trimmed.lastIndex { $0 != 0x20 }.map { $0 + 1 } ?? trimmed.startIndex
            let phrase = Array(trimmed[trimmed.startIndex..<end])
            needles = phrase.isEmpty ? [] : [phrase]
        }
    }

    /// One needle that is folded already.
    init(exactly needle: [UInt8]) { needles = [needle] }

    /// Whether a folded text holds all of them.
    func match(_ folded: [UInt8]) -> Bool {
        needles.allSatisfy { Self.find($0, in: folded, from: 0) != nil }
    }

    /// Where a needle stands in a folded text at or after a byte.
    static func find(_ needle: [UInt8], in text: [UInt8], from start: Int) -> Int? {
        guard let first = needle.first, text.count >= needle.count else { return nil }
        let last = text.count - needle.count
        var index = start
        while index <= last {
            if text[index] == first, isAt(index, needle, text), !cutsFlag(index, needle, text) {
                return index
            }
            index += 1
        }
        return nil
    }

    private static func isAt(_ index: Int, _ needle: [UInt8], _ text: [UInt8]) -> Bool {
        var offset = 1
        while offset < needle.count {
            if text[index + offset] != needle[offset] { return false }
            offset += 1
        }
        return true
    }

    /// A flag is two regional indicators, and flags stand side by side: a needle that begins with
    /// one does not match from the middle of another flag.
    private static func cutsFlag(_ index: Int, _ needle: [UInt8], _ text: [UInt8]) -> Bool {
        guard isRegionalIndicator(at: 0, of: needle) else { return false }
        var before = 0
        while isRegionalIndicator(at: index - 4 * (before + 1), of: text) { before += 1 }
        return !before.isMultiple(of: 2)
    }

    private static func isRegionalIndicator(at index: Int, of text: [UInt8]) -> Bool {
        guard index >= 0, index + 4 <= text.count else { return false }
        return text[index] == 0xF0 && text[index + 1] == 0x9F && text[index + 2] == 0x87
            && text[index + 3] >= 0xA6
    }
}

/// What of a message is looked through: its text, and what its app supplied for searching.
struct SearchableText: Equatable {
    let body: [UInt8]
    let supplied: [UInt8]?

    /// Both folded, apart from each other by a character that no needle holds.
    var folded: [UInt8] {
        let folded = TextFolding.folded(body)
        guard let supplied else { return folded }
        return folded + [Self.end] + TextFolding.folded(supplied)
    }

    /// What the index holds: each character of the text begins a group of three.
    var indexed: [UInt8] { folded + [Self.end, Self.end] }

    /// A character that folding leaves in no text.
    private static let end: UInt8 = 1
}

/// What of a message decides how it is found. Another value is another entry of the index.
struct SearchEntry: Equatable {
    let body: [UInt8]
    /// Its time in milliseconds since 1970; see ``StoredMessage/serverAt``.
    let instant: Int64
    let sender: [UInt8]

    /// What a row is found by; `nil` where it is not shown, or has no text.
    init?(_ row: MessageRow) {
        guard row.state == .shown, let body = row.registers.bytes(.body) else { return nil }
        self.body = body
        instant = row.serverAt ?? 0
        guard let sender = row.registers.bytes(.sender) else {
            preconditionFailure("a message that is shown has a sender")
        }
        self.sender = sender
    }
}

/// The question in FTS5's language.
enum SearchExpression {
    /// The groups of three characters that a text must hold, of needles and filters; `nil` where
    /// there are none. A superset is found: groups may stand in another order, and not all are asked
    /// for, since each text is looked through afterwards.
    static func all(_ needles: SearchNeedles, filters: [[UInt8]]) -> [UInt8]? {
        var groups = filters
        for needle in needles.needles { groups += Self.groups(of: needle) }
        guard !groups.isEmpty else { return nil }
        return Array(groups.map(quoted).joined(separator: Array(" AND ".utf8)))
    }

    /// At most so many groups of one needle, spread over it: more tell hardly more.
    private static let groupCountMax = 24

    /// The groups of three characters of a needle.
    static func groups(of needle: [UInt8]) -> [[UInt8]] {
        let scalars = Array(String(decoding: needle, as: UTF8.self).unicodeScalars)
        guard scalars.count >= 3 else { return [] }
        let starts = 0...(scalars.count - 3)
        let stride = max(1, (starts.count + groupCountMax - 1) / groupCountMax)
        var groups: [[UInt8]] = []
        var seen: Set<[UInt8]> = []
        for start in Swift.stride(from: starts.lowerBound, through: starts.upperBound, by: stride) {
            var group = String.UnicodeScalarView()
            group.append(contentsOf: scalars[start..<start + 3])
            let bytes = Array(String(group).utf8)
            if seen.insert(bytes).inserted { groups.append(bytes) }
        }
        return groups
    }

    /// Characters in a needle.
    static func scalarCount(_ needle: [UInt8]) -> Int { needle.count { $0 & 0xC0 != 0x80 } }

    /// A string of FTS5's language. A quotation mark in it is doubled.
    private static func quoted(_ text: [UInt8]) -> [UInt8] {
        let mark = UInt8(ascii: "\"")
        return [mark] + text.flatMap { $0 == mark ? [mark, mark] : [$0] } + [mark]
    }
}

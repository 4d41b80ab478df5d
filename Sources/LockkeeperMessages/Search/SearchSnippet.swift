import LockkeeperText

/// The part of a message's text in which something was found.
public struct SearchSnippet: Sendable, Hashable {
    /// The part, as it stands in the message.
    public let text: String
    /// Where the found pieces stand in ``text``, in bytes of UTF-8, in order and apart from each other.
    /// Empty where what was found was supplied for searching and is not shown.
    public let matches: [Range<Int>]
    /// Whether text was left out before it.
    public let isCutBefore: Bool
    /// Whether text was left out behind it.
    public let isCutAfter: Bool

    /// Characters that a snippet has about, and how many of them stand before the first match.
    static let characterCountMax = 120
    static let leadCountMax = 30

    /// Cuts the part around the first match out of a text.
    init(of body: String, _ needles: SearchNeedles) {
        let map = FoldedMap(body)
        let found = map.ranges(of: needles)
        let first = found.first?.lowerBound ?? 0
        let count = map.characters.count
        let start = max(0, min(first - Self.leadCountMax, count - Self.characterCountMax))
        let end = min(count, start + Self.characterCountMax)
        text = String(body[map.index(start)..<map.index(end)])
        isCutBefore = start > 0
        isCutAfter = end < count
        let origin = map.offset(start)
        matches = found.filter { $0.lowerBound < end && $0.upperBound > start }.map {
            (map.offset(max($0.lowerBound, start)) - origin)..<(map.offset(min($0.upperBound, end))
                - origin)
        }
    }
}

/// Which characters of a text the bytes of its folded form come from. A character is what a person
/// takes for one, with its marks: nothing is folded together across two of them but white space.
private struct FoldedMap {
    let characters: [String.Index]
    private let body: String
    private var folded: [UInt8] = []
    /// For each byte of ``folded`` the number of its character.
    private var origins: [Int] = []

    init(_ body: String) {
        self.body = body
        characters = Array(body.indices)
        for (number, index) in characters.enumerated() {
            for byte in TextFolding.folded(String(body[index])) {
                if byte == 0x20, folded.last == 0x20 { continue }
                folded.append(byte)
                origins.append(number)
            }
        }
    }

    func index(_ character: Int) -> String.Index {
        character < characters.count ? characters[character] : body.endIndex
    }

    /// Bytes of UTF-8 before a character.
    func offset(_ character: Int) -> Int {
        body.utf8.distance(from: body.startIndex, to: index(character))
    }

    /// The characters of all matches, joined where they touch each other.
    func ranges(of needles: SearchNeedles) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        for needle in needles.needles {
            var start = 0
            while let found = SearchNeedles.find(needle, in: folded, from: start) {
                let last = found + needle.count - 1
                ranges.append(origins[found]..<origins[last] + 1)
                start = found + needle.count
            }
        }
        ranges.sort { ($0.lowerBound, $0.upperBound) < ($1.lowerBound, $1.upperBound) }
        var joined: [Range<Int>] = []
        for range in ranges {
            if let last = joined.last, range.lowerBound <= last.upperBound {
                joined[joined.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                joined.append(range)
            }
        }
        return joined
    }
}

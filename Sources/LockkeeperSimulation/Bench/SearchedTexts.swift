import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperText

/// The texts of a store, read one by one: what to look for in them, and how often it is there. It
/// shares the folding with the search and nothing else: neither the index nor the way of matching.
struct SearchedTexts {
    /// All texts that are shown, folded.
    private let texts: [[UInt8]]

    /// Something to look for.
    struct Needle {
        /// What it stands for.
        let kind: String
        let text: String
        let match: SearchQuery.Match
        /// How many texts have it.
        let hitCount: Int

        var query: SearchQuery { SearchQuery(text, match: match) }
    }

    /// Reads all texts of a store.
    init(of store: MessageStore) async throws {
        texts = try await store.session.database.read { transaction in
            try transaction.query(
                "SELECT body FROM lk_message WHERE state = 1 AND body IS NOT NULL"
            ) { TextFolding.folded($0.text(0)) }
        }
    }

    /// What to look for: a common word, a rare one, one of two characters, two words that stand
    /// beside each other, and two ideographs, as far as there are any.
    func needles() -> [Needle] {
        var (words, ideographs): ([String: Int], [String: Int]) = ([:], [:])
        for text in texts {
            let string = String(decoding: text, as: UTF8.self)
            for word in string.split(separator: " ") where word.utf8.allSatisfy({ $0 < 0x80 }) {
                words[String(word), default: 0] += 1
            }
            for pair in Self.ideographPairs(string) { ideographs[pair, default: 0] += 1 }
        }
        let common = Self.most(words) { $0.utf8.count > 2 }
        let short = Self.most(words) { $0.utf8.count == 2 }
        let rare = words.filter { $0.key.utf8.count > 4 && $0.value == 1 }.keys.min()
        let found: [(String, String?, SearchQuery.Match)] = [
            ("a common word", common, .words), ("a rare word", rare, .words),
            ("two characters", short, .words), ("a phrase", phrase(), .phrase),
            ("two ideographs", Self.most(ideographs) { _ in true }, .words),
        ]
        return found.compactMap { kind, text, match in
            guard let text else { return nil }
            let hits = count(Array(text.utf8))
            return Needle(kind: kind, text: text, match: match, hitCount: hits)
        }
    }

    /// The second and third word of a text from the middle of the store.
    private func phrase() -> String? {
        for text in texts[(texts.count / 2)...] {
            let words = String(decoding: text, as: UTF8.self).split(separator: " ")
            guard words.count > 3 else { continue }
            let pair = words[1...2].joined(separator: " ")
            if pair.utf8.allSatisfy({ $0 < 0x80 }) { return pair }
        }
        return nil
    }

    /// How many texts have some bytes in one piece.
    private func count(_ needle: [UInt8]) -> Int { texts.count { $0.contains(needle) } }

    /// The most frequent of some words; of several the first in order.
    private static func most(_ words: [String: Int], where isFit: (String) -> Bool) -> String? {
        words.filter { isFit($0.key) }.min { ($1.value, $0.key) < ($0.value, $1.key) }?.key
    }

    private static func ideographPairs(_ text: String) -> [String] {
        let scalars = Array(text.unicodeScalars)
        return zip(scalars, scalars.dropFirst()).compactMap { first, second in
            guard first.properties.isIdeographic, second.properties.isIdeographic else {
                return nil
            }
            return String(String.UnicodeScalarView([first, second]))
        }
    }
}

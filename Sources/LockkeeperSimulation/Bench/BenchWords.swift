import LockkeeperDomain

/// Texts whose words are as unevenly frequent as those of a language: the most common word stands in
/// most messages, most words stand in few (Zipf's law). One text in twenty is Chinese.
struct BenchWords {
    private var generator: SeededGenerator
    private let words: [String]
    private let wordRanks: ZipfRanks
    private let characterRanks = ZipfRanks(count: characterCount)

    private static let wordCount = 20_000
    private static let characterCount = 2000
    /// The first of the ideographs that texts are made of.
    private static let firstCharacter: UInt32 = 0x4E00
    private static let syllables = [
        "ka", "lo", "mi", "ner", "ta", "ro", "sen", "vi", "du", "pa", "gel", "ho", "ri", "tem",
        "su", "bo", "fa", "lin", "go", "wes",
    ]

    /// Texts; the same seed gives the same.
    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
        words = (0..<Self.wordCount).map(Self.word)
        wordRanks = ZipfRanks(count: Self.wordCount)
    }

    /// The next text: 3 to 20 words, or 4 to 30 ideographs.
    mutating func next() -> String {
        if Int.random(in: 0..<20, using: &generator) == 0 {
            return String(
                String.UnicodeScalarView(
                    (0..<Int.random(in: 4...30, using: &generator)).map { _ in character() }
                )
            )
        }
        return (0..<Int.random(in: 3...20, using: &generator))
            .map { _ in words[wordRanks.next(using: &generator)] }
            .joined(separator: " ")
    }

    private mutating func character() -> Unicode.Scalar {
        let rank = UInt32(characterRanks.next(using: &generator))
        guard let scalar = Unicode.Scalar(Self.firstCharacter + rank) else {
            preconditionFailure("all of these are ideographs")
        }
        return scalar
    }

    /// A word of its own for each rank; the more common, the shorter.
    private static func word(_ rank: Int) -> String {
        var (word, left) = ("", rank)
        repeat {
            word += syllables[left % syllables.count]
            left /= syllables.count
        } while left > 0
        return word
    }
}

/// Draws ranks of which rank r is 1/(r+1) times as frequent as the first.
private struct ZipfRanks {
    /// For each rank, how much weight it and those before it have.
    private let sums: [Double]

    init(count: Int) {
        var sum = 0.0
        sums = (0..<count).map { rank in
            sum += 1 / Double(rank + 1)
            return sum
        }
    }

    func next(using generator: inout SeededGenerator) -> Int {
        let draw = Double.random(in: 0..<sums[sums.count - 1], using: &generator)
        var (low, high) = (0, sums.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if sums[middle] > draw { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

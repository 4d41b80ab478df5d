import LockkeeperDomain
import Testing

@testable import LockkeeperState

@Suite("Property values as bytes")
struct PropertyValueCodecTests {
    @Test(
        "a thousand random values read back as they were written, and equal ones have equal bytes"
    )
    func roundTrips() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<1000 {
            let value = PropertyValue.random(depth: 4, using: &generator)
            let bytes = try PropertyValueCodec.encode(value)
            let read = try PropertyValueCodec.decode(bytes)
            #expect(read == value, "seed=\(seed)")
            #expect(try PropertyValueCodec.encode(read) == bytes, "seed=\(seed)")
        }
    }

    @Test(
        "every number keeps its bits",
        arguments: [0.0, -0.0, .infinity, .nan, .leastNonzeroMagnitude, .pi]
    )
    func bits(_ number: Double) throws {
        let bytes = try PropertyValueCodec.encode(.real(number))
        guard case .real(let read) = try PropertyValueCodec.decode(bytes) else {
            Issue.record("it is no number any more")
            return
        }
        #expect(read.bitPattern == number.bitPattern)
    }

    @Test("bytes that were cut or changed are no value or another one, and never a crash")
    func damage() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            let value = PropertyValue.random(depth: 3, using: &generator)
            let bytes = try PropertyValueCodec.encode(value)
            let cut = bytes.prefix(Int.random(in: 0..<bytes.count, using: &generator))
            #expect(throws: PropertyValueCodec.Failure.malformed, "seed=\(seed)") {
                try PropertyValueCodec.decode(cut)
            }
            #expect(throws: PropertyValueCodec.Failure.malformed, "seed=\(seed)") {
                try PropertyValueCodec.decode(bytes + [0])
            }
            var changed = bytes
            changed[Int.random(in: 0..<bytes.count, using: &generator)] ^= 1 << 7
            _ = try? PropertyValueCodec.decode(changed)
        }
    }

    @Test("keys out of order, keys that Swift takes for one, and a count that lies are refused")
    func hostile() {
        let hostile: [[UInt8]] = [
            Array("m\u{2}\0\0\0\u{1}\0\0\0bt\u{1}\0\0\0at".utf8),
            Array("m\u{2}\0\0\0".utf8) + [3, 0, 0, 0] + Array("e\u{301}t".utf8) + [2, 0, 0, 0]
                + Array("\u{e9}t".utf8),
            [UInt8(ascii: "a"), 0xFF, 0xFF, 0xFF, 0xFF],
            [UInt8(ascii: "s"), 1, 0, 0, 0, 0xFF],
        ]
        for bytes in hostile {
            #expect(throws: PropertyValueCodec.Failure.malformed) {
                try PropertyValueCodec.decode(bytes)
            }
        }
    }

    @Test("32 containers nest, 33 do not, on writing and on reading")
    func depth() throws {
        var value = PropertyValue.bool(true)
        for _ in 0..<PropertyValueCodec.depthMax { value = .array([value]) }
        let bytes = try PropertyValueCodec.encode(value)
        #expect(try PropertyValueCodec.decode(bytes) == value)
        #expect(throws: PropertyValueCodec.Failure.tooDeep) {
            try PropertyValueCodec.encode(.array([value]))
        }
        #expect(throws: PropertyValueCodec.Failure.tooDeep) {
            try PropertyValueCodec.decode([UInt8(ascii: "a"), 1, 0, 0, 0] + bytes)
        }
    }
}

extension PropertyValue {
    /// A value from a seed.
    static func random(
        depth: Int,
        using generator: inout some RandomNumberGenerator
    ) -> PropertyValue {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &generator) {
        case 0: .string(text(using: &generator))
        case 1: .integer(.random(in: .min ... .max, using: &generator))
        case 2: .real(.random(in: -1e300...1e300, using: &generator))
        case 3: .bool(.random(using: &generator))
        case 4: .date(DateValue(millisecondsSince1970: .random(in: -9...9, using: &generator)))
        case 5: .data(DataValue(Array(text(using: &generator).utf8)))
        case 6:
            .array(
                (0..<Int.random(in: 0..<4, using: &generator)).map { _ in
                    random(depth: depth - 1, using: &generator)
                }
            )
        default:
            .dictionary(
                (0..<Int.random(in: 0..<4, using: &generator)).reduce(into: [:]) { values, _ in
                    values[text(using: &generator)] = random(depth: depth - 1, using: &generator)
                }
            )
        }
    }

    private static func text(using generator: inout some RandomNumberGenerator) -> String {
        let pieces = ["a", "b", "\0", "é", "e\u{301}", "早", "\u{1F600}", "\n"]
        return (0..<Int.random(in: 0..<6, using: &generator))
            .map { _ in pieces.randomElement(using: &generator) ?? "" }.joined()
    }
}

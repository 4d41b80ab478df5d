/// A small generator that repeats itself from its seed, for waits and tests; not for secrets.
///
/// Also where no seed is given: `SystemRandomNumberGenerator` has no size, so that all its `inout`
/// uses share an address, which the thread sanitizer reports as races.
struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    /// A generator of a seed.
    init(seed: UInt64) { state = seed }

    /// The next 64 bits.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}

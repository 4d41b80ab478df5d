import LockkeeperPlatform

/// The two words of a lock file by which the turnstile is watched and passed by.
struct TurnstileWords: Sendable, Hashable {
    /// How many admissions the account has seen; raised under WRITER.
    var admissionCount: UInt64
    /// Whether QUEUE is to be passed by. Set under WRITER, cleared under QUEUE.
    var isQueuePassedBy: Bool

    /// The words after one more admission. Whoever holds QUEUE has shown that it can be had.
    func admitted(holdingQueue: Bool) -> TurnstileWords {
        TurnstileWords(
            admissionCount: admissionCount &+ 1,
            isQueuePassedBy: isQueuePassedBy && !holdingQueue
        )
    }
}

/// Each is one call, so that nobody reads half of a word.
extension TurnstileWords {
    /// Reads both words.
    static func read(
        from descriptor: borrowing LockDescriptor
    ) throws(SystemCallError) -> TurnstileWords {
        var words: (UInt64, UInt64) = (0, 0)
        try withUnsafeMutableBytes(of: &words) { (buffer) throws(SystemCallError) in
            try descriptor.read(into: buffer, at: LockFileLayout.turnstileOffset)
        }
        return LockFileLayout.decodeTurnstile(words)
    }

    /// Writes both words.
    func write(to descriptor: borrowing LockDescriptor) throws(SystemCallError) {
        var words = LockFileLayout.encode(self)
        try withUnsafeBytes(of: &words) { (buffer) throws(SystemCallError) in
            try descriptor.write(buffer, at: LockFileLayout.turnstileOffset)
        }
    }

    /// Writes the count and leaves the skip word as it is.
    func writeAdmissionCount(to descriptor: borrowing LockDescriptor) throws(SystemCallError) {
        var word = LockFileLayout.encode(self).0
        try withUnsafeBytes(of: &word) { (buffer) throws(SystemCallError) in
            try descriptor.write(buffer, at: LockFileLayout.turnstileOffset)
        }
    }

    /// Clears the skip word and leaves the count as it is.
    static func clearSkipWord(in descriptor: borrowing LockDescriptor) throws(SystemCallError) {
        var word: UInt64 = 0
        try withUnsafeBytes(of: &word) { (buffer) throws(SystemCallError) in
            try descriptor.write(buffer, at: LockFileLayout.skipOffset)
        }
    }
}

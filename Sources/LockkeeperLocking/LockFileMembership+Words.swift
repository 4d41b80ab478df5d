import LockkeeperPlatform

/// The words of the lock file: what processes leave for each other beside the locks. They are
/// read and written in one call each, so that nobody reads half of one.
extension LockFileMembership {
    /// What others have left. One system call; read before each write and checkpoint, and after each
    /// sync.
    ///
    /// - Throws: ``LockingError/system(_:)`` when the kernel refuses.
    package func notices() throws(LockingError) -> Notices {
        var words: (UInt64, (UInt64, UInt64, UInt64), (UInt64, UInt64, UInt64)) =
            (0, (0, 0, 0), (0, 0, 0))
        try withUnsafeMutableBytes(of: &words) { (buffer) throws(LockingError) in
            try read(buffer, at: LockFileLayout.leaveOffset)
        }
        return LockFileLayout.decodeNotices(words)
    }

    /// Sets the word after a failed sync, before anything else is done.
    ///
    /// - Throws: ``LockingError/system(_:)`` when the kernel refuses.
    package func setDistrust(
        _ distrust: Distrust,
        of file: DistrustedFile
    ) throws(LockingError) {
        try withClaim { (claim) throws(SystemCallError) in
            try claim.descriptor.write(
                LockFileLayout.encode(distrust),
                at: LockFileLayout.distrustOffset(of: file)
            )
        }
    }

    /// Whether everybody is asked to leave the account: the leave word is set, and whoever set it
    /// still holds ENTRY. One system call where the word is not set.
    ///
    /// - Throws: ``LockingError/system(_:)`` when the kernel refuses.
    package func isAskedToLeave() throws(LockingError) -> Bool {
        guard try word(at: LockFileLayout.leaveOffset) != 0 else { return false }
        return try isHeld(.entry, against: .shared)
    }

    /// Asks everybody to leave. The guard shows that nobody new can come in.
    ///
    /// - Throws: ``LockingError/system(_:)`` when the kernel refuses.
    package func askToLeave(holding entry: borrowing LockGuard) throws(LockingError) {
        precondition(
            entry.lock == .entry && entry.mode == .exclusive,
            "the leave word counts only while ENTRY is held exclusively"
        )
        try setWord(1, at: LockFileLayout.leaveOffset)
    }

    /// Clears the leave word of somebody who no longer holds ENTRY. The guard shows that.
    ///
    /// - Throws: ``LockingError/system(_:)`` when the kernel refuses.
    package func clearLeaveWord(holding entry: borrowing LockGuard) throws(LockingError) {
        precondition(entry.lock == .entry, "who holds ENTRY may clear the leave word")
        if try word(at: LockFileLayout.leaveOffset) != 0 {
            try setWord(0, at: LockFileLayout.leaveOffset)
        }
    }

    /// How many admissions the account has seen since the file was made.
    ///
    /// - Throws: ``LockingError/system(_:)`` when the kernel refuses.
    package func admissionCount() throws(LockingError) -> UInt64 {
        try turnstileWords().admissionCount
    }

    /// Whether QUEUE is passed by, because its holder was found to be stopped.
    ///
    /// - Throws: ``LockingError/system(_:)`` when the kernel refuses.
    package func isQueuePassedBy() throws(LockingError) -> Bool {
        try turnstileWords().isQueuePassedBy
    }

    /// The words of the turnstile.
    func turnstileWords() throws(LockingError) -> TurnstileWords {
        try withClaim { (claim) throws(SystemCallError) in
            try TurnstileWords.read(from: claim.descriptor)
        }
    }

    /// One look at the turnstile. The words are read first, so that an admission while one looks
    /// makes the next look's count another one. Read last, the count of an admission could stand
    /// beside a free WRITER of before it, and be found unmoved after that admission has left.
    func sight() throws(LockingError) -> QueueWatch.Sight {
        try withClaim { (claim) throws(SystemCallError) in
            let words = try TurnstileWords.read(from: claim.descriptor)
            let isQueueHeld = try claim.descriptor.isHeldElsewhere(LockFileLayout.byte(of: .queue))
            let isWriterHeld = try claim.descriptor.isHeldElsewhere(
                LockFileLayout.byte(of: .writer)
            )
            return QueueWatch.Sight(
                words: words,
                isQueueHeld: isQueueHeld,
                isWriterHeld: isWriterHeld
            )
        }
    }

    /// Reads a word of eight bytes.
    private func word(at offset: Int64) throws(LockingError) -> UInt64 {
        var word: UInt64 = 0
        try withUnsafeMutableBytes(of: &word) { (buffer) throws(LockingError) in
            try read(buffer, at: offset)
        }
        return UInt64(littleEndian: word)
    }

    private func setWord(_ value: UInt64, at offset: Int64) throws(LockingError) {
        var word = value.littleEndian
        try withUnsafeBytes(of: &word) { (buffer) throws(LockingError) in
            try withClaim { (claim) throws(SystemCallError) in
                try claim.descriptor.write(buffer, at: offset)
            }
        }
    }

    private func read(
        _ buffer: UnsafeMutableRawBufferPointer,
        at offset: Int64
    ) throws(LockingError) {
        try withClaim { (claim) throws(SystemCallError) in
            try claim.descriptor.read(into: buffer, at: offset)
        }
    }
}

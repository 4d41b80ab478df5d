/// Knows from the numbers of a process's admissions whether others are about, and says when it should
/// step back for them.
///
/// The kernel wakes those who wait for QUEUE when it becomes free, and whoever runs first takes it.
/// Where every processor is busy that is the process that runs already: it is admitted until its
/// time slice ends, some milliseconds and dozens of commits later, while those who were woken have no
/// processor to come on. Giving the processor up lets them stand in QUEUE, where nobody overtakes
/// them. Each change of process finds SQLite's cache void; what stands in line is therefore done
/// under one admission (``Limits/admissionTimeMax``), and the process steps back after each. With
/// eight writers on two busy processors that lifts the least share from 0.85…0.92 of the mean, where
/// it steps back after eight, to 0.95 and more. Who has met nobody for long does not step back.
struct AdmissionRun: Sendable, Equatable {
    private var last: UInt64 = 0
    /// Admissions of one's own since somebody else's was seen.
    private var aloneCount = Self.aloneCountMax

    /// Admissions of one's own after which nobody else counts as being there.
    static let aloneCountMax = 64

    /// Whether the process should give the processor up before it stands in the turnstile.
    var shouldStepBack: Bool { aloneCount < Self.aloneCountMax }

    /// Notes an admission by its number, which all processes share.
    mutating func note(_ number: UInt64) {
        aloneCount = number == last &+ 1 ? min(aloneCount + 1, Self.aloneCountMax) : 0
        last = number
    }
}

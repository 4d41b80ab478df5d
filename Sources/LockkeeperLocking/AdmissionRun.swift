/// Notices that a process is admitted again and again while others wait, and says when it should
/// step back.
///
/// The kernel wakes those who wait for QUEUE when it becomes free, and whoever runs first takes it.
/// Where every processor is busy that is the process that runs already: it is admitted until its
/// time slice ends, some milliseconds and dozens of commits later, while those who were woken have no
/// processor to come on. Giving the processor up lets them stand in QUEUE, where nobody overtakes
/// them. It costs commits, because each change of process finds SQLite's cache cold: with eight
/// writers on two busy processors, stepping back before every eighth admission takes an eighth to a
/// quarter of them, and lifts the least share from 0.82…0.89 of the mean to 0.96 and more. Where a
/// processor is idle others are admitted in between anyhow, and nobody steps back.
struct AdmissionRun: Sendable, Equatable {
    private var last: UInt64 = 0
    private var length = 0
    /// Admissions of one's own since somebody else's was seen.
    private var aloneCount = Self.aloneCountMax

    /// Admissions in a row before the process steps back.
    static let lengthMax = 8
    /// Admissions of one's own after which nobody else counts as being there.
    static let aloneCountMax = 64

    /// Whether the process should give the processor up before it stands in the turnstile.
    mutating func shouldStepBack() -> Bool {
        guard length >= Self.lengthMax, aloneCount < Self.aloneCountMax else { return false }
        length = 0
        return true
    }

    /// Notes an admission by its number, which all processes share.
    mutating func note(_ number: UInt64) {
        if number == last &+ 1 {
            length += 1
            aloneCount = min(aloneCount + 1, Self.aloneCountMax)
        } else {
            length = 1
            aloneCount = 0
        }
        last = number
    }
}

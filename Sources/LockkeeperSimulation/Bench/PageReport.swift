package import LockkeeperDomain

/// How long a page of a conversation took.
package struct PageReport: Sendable, Hashable {
    /// One measurement of each side.
    struct Round: Sendable, Hashable {
        let baseline: NotifyReport.Delays
        let onThread: NotifyReport.Delays
        let awaited: NotifyReport.Delays

        init(baseline: [Duration], onThread: [Duration], awaited: [Duration]) {
            self.baseline = NotifyReport.Delays(baseline)
            self.onThread = NotifyReport.Delays(onThread)
            self.awaited = NotifyReport.Delays(awaited)
        }

        var sentence: String {
            "baseline \(baseline.sentence); on the reader's thread \(onThread.sentence);"
                + " awaited \(awaited.sentence)"
        }
    }

    /// Plain C, medians.
    let baseline: NotifyReport.Delays
    /// Lockkeeper on the thread that reads, medians.
    let onThread: NotifyReport.Delays
    /// Lockkeeper for an asynchronous caller, medians.
    let awaited: NotifyReport.Delays
    /// The median of the rounds' ratios of p50, on the reader's thread.
    package let threadRatio: Double
    /// The median of the rounds' ratios of p50, for an asynchronous caller.
    package let awaitedRatio: Double

    init(_ rounds: [Round]) {
        baseline = NotifyReport.Delays(medianOf: rounds.map(\.baseline))
        onThread = NotifyReport.Delays(medianOf: rounds.map(\.onThread))
        awaited = NotifyReport.Delays(medianOf: rounds.map(\.awaited))
        threadRatio = median(rounds.map { $0.onThread.p50 / $0.baseline.p50 })
        awaitedRatio = median(rounds.map { $0.awaited.p50 / $0.baseline.p50 })
    }

    /// Writes it as one JSON object.
    package func write(into writer: inout JSONWriter) {
        writer.beginObject()
        for (name, delays) in [
            ("baseline", baseline), ("on_thread", onThread), ("awaited", awaited),
        ] {
            writer.key(name)
            delays.write(into: &writer)
        }
        for (name, ratio) in [("thread_ratio", threadRatio), ("awaited_ratio", awaitedRatio)] {
            writer.key(name)
            writer.double((ratio * 1000).rounded() / 1000)
        }
        writer.endObject()
    }

    /// The report for people.
    package var lines: [String] {
        [
            "baseline    \(baseline.sentence)", "on thread   \(onThread.sentence)",
            "awaited     \(awaited.sentence)",
            "A page takes \(decimal(threadRatio)) times as long on the reader's thread,"
                + " \(decimal(awaitedRatio)) times for who awaits it.",
        ]
    }
}

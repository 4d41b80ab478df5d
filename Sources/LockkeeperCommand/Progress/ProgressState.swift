import LockkeeperDomain

/// When and how it is said how far long work is. Pure: what time it is comes in.
///
/// ```
/// quiet ──a second is over──▶ told ──0.1 s on a terminal, 5 s elsewhere──▶ told again
/// ```
///
/// Work that is done before anybody could read of it says nothing.
struct ProgressState: Sendable {
    /// Who reads it.
    enum Reader: Sendable, Hashable {
        /// A person at a terminal, who sees a bar.
        case terminal
        /// A file, a pipe or the journal: a line now and then.
        case log
    }

    /// How far it is.
    struct Step: Sendable, Hashable {
        /// What is being done: "backup", "ingest".
        var what: String
        /// How much is done.
        var done: Int
        /// How much there is; `nil` where nobody knows.
        var count: Int?
        /// What is counted: "pages", "bytes".
        var unit: String
    }

    private let reader: Reader
    private let began: MonotonicInstant
    private var toldAt: MonotonicInstant?
    private var last: Step?

    private static let quietFor = Duration.seconds(1)
    private static let barWidth = 20

    /// Work that begins now.
    init(for reader: Reader, at now: MonotonicInstant) {
        self.reader = reader
        began = now
    }

    /// Notes how far it is, and returns what is to be shown now; `nil` for nothing.
    mutating func take(_ step: Step, at now: MonotonicInstant) -> String? {
        last = step
        guard now.duration(since: began) >= Self.quietFor else { return nil }
        let pause: Duration = reader == .terminal ? .milliseconds(100) : .seconds(5)
        if let toldAt, now.duration(since: toldAt) < pause { return nil }
        toldAt = now
        return line(step, at: now)
    }

    /// What was done until now, as a sentence for who interrupts it; `nil` where nothing was noted.
    var doneSoFar: String? {
        guard let last else { return nil }
        let all = last.count.map { " of \(Self.grouped($0))" } ?? ""
        return "\(last.what): \(Self.grouped(last.done))\(all) \(last.unit)"
    }

    private func line(_ step: Step, at now: MonotonicInstant) -> String {
        let seconds = now.duration(since: began).milliseconds / 1000
        let rate = Double(step.done) / seconds
        var parts: [String] = []
        if let count = step.count, count > 0 {
            let done = min(step.done, count)
            parts.append("\(done * 100 / count) %")
            parts.append(Self.rate(rate, step.unit))
            if rate > 0, done < count {
                parts.append("\(Self.time(Double(count - done) / rate)) left")
            }
            let facts = parts.joined(separator: ", ")
            guard reader == .terminal else { return "\(step.what): \(facts)" }
            let filled = done * Self.barWidth / count
            let bar =
                String(repeating: "#", count: filled)
                + String(repeating: ".", count: Self.barWidth - filled)
            return "\(step.what) [\(bar)] \(facts)"
        }
        return
            "\(step.what): \(Self.grouped(step.done)) \(step.unit), \(Self.rate(rate, step.unit))"
    }

    private static func rate(_ perSecond: Double, _ unit: String) -> String {
        if unit == "bytes" {
            let tenths = Int(perSecond / 100_000)
            return "\(tenths / 10).\(tenths % 10) MB/s"
        }
        return "\(grouped(Int(perSecond))) \(unit)/s"
    }

    /// A time for people, rounded up: what is nearly done takes a second.
    private static func time(_ seconds: Double) -> String {
        let whole = Int(min(seconds.rounded(.up), 1e9))
        if whole < 60 { return "\(whole) s" }
        if whole < 3600 { return "\(whole / 60) min \(whole % 60) s" }
        return "\(whole / 3600) h \(whole / 60 % 60) min"
    }

    /// A number with a blank between thousands.
    static func grouped(_ number: Int) -> String {
        var text = ""
        for (index, digit) in String(number).reversed().enumerated() {
            if index > 0, index % 3 == 0 { text.append(" ") }
            text.append(digit)
        }
        return String(text.reversed())
    }
}

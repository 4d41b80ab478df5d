import LockkeeperDomain

/// What `top` knows of the last minute, and the screen that it makes of it. Pure: samples, ranges and
/// what time it is come in.
struct TopModel: Sendable {
    private var sample: TopSample?
    private var sampledAt = MonotonicInstant(nanoseconds: 0)
    /// The newest commits of each account, as they were seen.
    private var commits: [String: [Point]] = [:]
    /// Messages that ranges have told of.
    private var messages: [String: [Point]] = [:]
    private var lanes: [Lane] = []
    private var ranges: [String] = []

    private struct Point: Sendable {
        var at: MonotonicInstant
        var count: Int64
    }

    /// What a process did, the newest at the end.
    private struct Lane: Sendable {
        var account: String
        var pid: Int32
        var marks: [Character]
        var isThere: Bool
    }

    /// Rates are those of the last seconds: long enough to be read, short enough to be now.
    private static let window = Duration.seconds(5)
    private static let laneLengthMax = 120
    private static let rangeCountMax = 50

    /// Takes a look at the workspace.
    mutating func take(_ new: TopSample, at now: MonotonicInstant) {
        sample = new
        sampledAt = now
        for index in lanes.indices { lanes[index].isThere = false }
        for account in new.accounts {
            if let commit = account.commit {
                commits[account.id, default: []].append(Point(at: now, count: commit))
            }
            for process in account.processes { mark(process, of: account.id) }
        }
        lanes.removeAll { !$0.isThere }
        forget(before: now)
    }

    /// Takes a range that a feed told of.
    mutating func note(_ range: ChangeRange, of account: String, at now: MonotonicInstant) {
        let rows = range.tables.filter { $0.name == "lk_message" }
            .reduce(into: Int64(0)) { sum, table in
                sum += (table.rows?.ranges ?? []).reduce(0) {
                    $0 + $1.upperBound - $1.lowerBound + 1
                }
            }
        messages[account, default: []].append(Point(at: now, count: rows))
        let names = range.tables.map(\.name).joined(separator: " ")
        let origins = range.origins.joined(separator: " ")
        ranges.append(
            "\(account)  \(range.first)-\(range.last)"
                + "  by \(terminalText(origins))  \(terminalText(names))"
        )
        ranges.removeFirst(max(0, ranges.count - Self.rangeCountMax))
        forget(before: now)
    }

    private mutating func mark(_ process: TopSample.Process, of account: String) {
        let mark: Character
        switch (process.condition, process.activity) {
        case ("running", "writing"): mark = "W"
        case ("running", "waiting"): mark = "w"
        case ("running", "syncing"): mark = "s"
        case ("running", "reading"): mark = "r"
        case ("running", "checkpointing"): mark = "c"
        case ("running", "idle"): mark = "."
        case ("running", _): mark = "+"
        default: mark = "!"
        }
        if let index = lanes.firstIndex(where: { $0.account == account && $0.pid == process.pid }) {
            lanes[index].isThere = true
            lanes[index].marks.append(mark)
            let excess = lanes[index].marks.count - Self.laneLengthMax
            lanes[index].marks.removeFirst(max(0, excess))
        } else {
            lanes.append(Lane(account: account, pid: process.pid, marks: [mark], isThere: true))
        }
    }

    private mutating func forget(before now: MonotonicInstant) {
        func recent(_ points: [Point]) -> [Point] {
            points.filter { now.duration(since: $0.at) <= Self.window }
        }
        commits = commits.mapValues(recent)
        messages = messages.mapValues(recent)
    }

    // MARK: - The screen

    /// The screen's lines, no more and no longer than it has room for.
    func lines(columnCount: Int, lineCount: Int) -> [String] {
        guard let sample else { return ["looking"] }
        var lines = [
            "lockkeeper top  \(sample.root)  host "
                + (sample.hostPID.map { "pid \($0)" } ?? "none") + "  q quits"
        ]
        if let stages = sample.stages, !stages.isEmpty {
            lines.append("hub's writes, ms p50/p99: \(stages)")
        }
        for account in sample.accounts {
            lines.append("")
            lines += head(of: account)
            for process in account.processes {
                lines.append(line(process, of: account.id, columnCount))
            }
        }
        if !sample.accounts.isEmpty {
            lines.append(
                "  W writes, w waits, s syncs, r reads, c copies the log, + other, ! stopped"
            )
        }
        // The last ranges fill what is left.
        let room = lineCount - lines.count - 2
        if room > 0, !ranges.isEmpty { lines += ["", "last ranges"] + ranges.suffix(room) }
        return lines.prefix(lineCount).map { String($0.prefix(columnCount)) }
    }

    private func head(of account: TopSample.Account) -> [String] {
        var line =
            "\(account.id): \(account.state), generation \(account.generation),"
            + " \(rate(of: commits[account.id])) commits/s,"
            + " \(sum(of: messages[account.id])) messages/s"
            + ", log \(account.logByteCount / 1024) KiB"
        if let commit = account.commit { line += ", commit \(commit)" }
        var lines = [line, "  to do: \(account.toDo)"]
        let waiting = account.processes.filter { $0.activity == "waiting" }
        if let longest = waiting.max(by: { $0.duration < $1.duration }) {
            lines.append(
                "  \(waiting.count) wait to write, the longest pid \(longest.pid) for"
                    + " \(longest.duration.wholeNanoseconds / 1_000_000) ms"
            )
        }
        if let problem = account.problem { lines.append("  \(problem)") }
        return lines
    }

    private func line(
        _ process: TopSample.Process,
        of account: String,
        _ columnCount: Int
    ) -> String {
        let locks = process.locks.isEmpty ? "" : " holds \(process.locks.joined(separator: " "))"
        let condition = process.condition == "running" ? "" : " \(process.condition)"
        let text =
            "  \(process.pid) \(process.name) (\(process.role)) \(process.activity)"
            + "\(condition)\(locks)"
        let marks =
            lanes.first { $0.account == account && $0.pid == process.pid }?.marks ?? []
        let laneStart = max(50, text.count + 1)
        let room = columnCount - laneStart
        guard room > 0 else { return text }
        let padding = String(repeating: " ", count: laneStart - text.count)
        return text + padding + String(marks.suffix(room))
    }

    /// How much a number that only grows has grown in a second.
    private func rate(of points: [Point]?) -> String {
        guard let first = points?.first, let last = points?.last, last.at > first.at else {
            return "0"
        }
        let growth = last.count - first.count
        // Another boot raises numbers by 2^32, which is no work.
        guard growth >= 0, growth < 1 << 32 else { return "0" }
        return Self.perSecond(growth, last.at.duration(since: first.at))
    }

    private func sum(of points: [Point]?) -> String {
        let recent = (points ?? []).filter { sampledAt.duration(since: $0.at) <= Self.window }
        return Self.perSecond(recent.reduce(0) { $0 + $1.count }, Self.window)
    }

    private static func perSecond(_ count: Int64, _ time: Duration) -> String {
        ProgressState.grouped(Int((Double(count) * 1000 / time.milliseconds).rounded()))
    }
}

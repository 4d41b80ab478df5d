import LockkeeperDomain

// What comes in an order: commits, what subscribers heard of them, snapshots, and effects.
extension StressJudge {
    /// The commit log: under rising generations, at rising times, and each receipt has a row of its own.
    func commits(of account: StressEvidence.Account) -> [StressViolation] {
        var found: [StressViolation] = []
        for (earlier, later) in zip(account.log, account.log.dropFirst()) {
            if later.generation < earlier.generation {
                let sentence =
                    "commit \(later.number) of \(account.id) is of generation \(later.generation), the"
                    + " one before of \(earlier.generation)"
                found.append(StressViolation("I-2", sentence, ["\(earlier)", "\(later)"]))
            }
            // The time is read inside of the transaction: where it goes back two were inside at once.
            if later.time < earlier.time {
                let sentence =
                    "commit \(later.number) of \(account.id) was written \(earlier.time - later.time)"
                    + " µs before the one before it"
                found.append(StressViolation("I-1", sentence, ["\(earlier)", "\(later)"]))
            }
        }
        let rows = Dictionary(account.log.map { ($0.number, $0) }) { $1 }
        var owners: [Int64: Exchange] = [:]
        for exchange in exchanges where exchange.asked.account == account.id && exchange.isDone {
            guard [.page, .packet].contains(exchange.asked.act),
                let number = exchange.answer?.commit
            else { continue }
            if let other = owners.updateValue(exchange, forKey: number) {
                let sentence = "commit \(number) of \(account.id) was given to two transactions"
                found.append(StressViolation("I-8", sentence, other.lines + exchange.lines))
                continue
            }
            // What a packet's process has stored for it may be of another process.
            guard exchange.asked.act == .page else { continue }
            let row = rows[number]
            guard
                row?.origin != "\(exchange.process)"
                    || row?.generation != exchange.asked.generation
            else { continue }
            let present = row.map { "is \($0.origin)'s under \($0.generation)" } ?? "is not there"
            let sentence =
                "commit \(number) of \(account.id), for which \(exchange.process) has a receipt,"
                + " \(present)"
            found.append(StressViolation(row == nil ? "I-6" : "I-8", sentence, exchange.lines))
        }
        return found
    }

    /// Subscribers: each range continues what was heard before, skips no commit, and speaks of commits
    /// that can be read.
    func subscribers() -> [StressViolation] {
        var found: [StressViolation] = []
        let logs = Dictionary(
            outcome.evidence.accounts.map { ($0.id, $0.log.map(\.number)) }
        ) { $1 }
        let tails = outcome.histories.filter { $0.process.role == .tail }
        for (_, lives) in Dictionary(grouping: tails, by: \.process.worker) {
            var positions: [String: Int64] = [:]
            for history in lives.sorted(by: { $0.process < $1.process }) {
                for entry in history.entries where entry.act == .follow {
                    guard let account = entry.account else { continue }
                    let heard = Heard(history.process, entry, positions[account])
                    found += violations(of: heard, logs[account] ?? [])
                    if let next = heard.next { positions[account] = next }
                    if entry.word == .refused, entry.code == "resync" { positions[account] = nil }
                }
            }
        }
        return found
    }

    /// What a subscriber wrote down, and where it stood before.
    private struct Heard {
        let process: StressProcess
        let entry: StressEntry
        let position: Int64?

        init(_ process: StressProcess, _ entry: StressEntry, _ position: Int64?) {
            self.process = process
            self.entry = entry
            self.position = position
        }

        /// Where it stands afterwards; `nil` where nothing was said of that.
        var next: Int64? { [.asks, .saw].contains(entry.word) ? entry.commit : nil }
    }

    private func violations(of heard: Heard, _ log: [Int64]) -> [StressViolation] {
        let entry = heard.entry
        guard let account = entry.account, let last = entry.commit else { return [] }
        let lines = [Self.line(heard.process, entry)]
        func violation(_ sentence: String) -> StressViolation {
            StressViolation("I-7", "\(heard.process) in \(account) \(sentence)", lines)
        }
        if entry.word == .asks {
            guard let position = heard.position, position != last else { return [] }
            return [violation("went on after \(last) and had written down \(position)")]
        }
        guard entry.word == .saw, let first = entry.number, let predecessor = entry.other else {
            return []
        }
        var found: [StressViolation] = []
        if let position = heard.position, predecessor != position {
            found.append(
                violation(
                    "heard of \(first) to \(last) behind \(predecessor) and stood at \(position)"
                )
            )
        }
        let start = log.partitioningIndex { $0 > predecessor }
        if start < log.count, log[start] < first {
            found.append(violation("never heard of commit \(log[start])"))
        }
        let end = log.partitioningIndex { $0 >= last }
        if end == log.count || log[end] != last {
            found.append(violation("heard of commit \(last), which there is not"))
        }
        if let head = entry.to, head < last {
            found.append(violation("heard of commit \(last) when the newest one was \(head)"))
        }
        return found
    }

    /// Snapshots: they stay what they are, and what may only grow does.
    func snapshots() -> [StressViolation] {
        var found: [StressViolation] = []
        var seen: [String: [(process: StressProcess, entry: StressEntry)]] = [:]
        for history in outcome.histories {
            for entry in history.entries where entry.word == .saw && entry.act == .snapshot {
                if entry.commit != entry.other || !entry.id.isEmpty {
                    let lines = [Self.line(history.process, entry)]
                    found.append(
                        StressViolation("I-13", "a snapshot changed while it was read", lines)
                    )
                }
                seen[entry.account ?? "", default: []].append((history.process, entry))
            }
        }
        for (account, list) in seen {
            var values: [Substring: Int64] = [:]
            for (process, entry) in list.sorted(by: { $0.entry.time < $1.entry.time }) {
                // A snapshot that was stayed in for long is written down late.
                guard entry.commit ?? 0 >= values["head"] ?? 0 else { continue }
                values["head"] = entry.commit
                for pair in (entry.text ?? "").split(separator: " ") {
                    let parts = pair.split(separator: "=")
                    guard parts.count == 2, let value = Int64(parts[1]) else { continue }
                    if value < values[parts[0]] ?? 0 {
                        let sentence = "\(parts[0]) of \(account) went back to \(value)"
                        found.append(StressViolation("I-4", sentence, [Self.line(process, entry)]))
                    }
                    values[parts[0]] = value
                }
            }
        }
        return found
    }

    /// Effects (M-11): a message that came and was not read is told of, or waits to be; what was
    /// confirmed is not told of again; each attempt is one process's.
    func effects(of account: StressEvidence.Account) -> [StressViolation] {
        var shown: [String: [Exchange]] = [:]
        for exchange in exchanges(.show, of: account.id) {
            guard exchange.asked.text?.hasPrefix("notify ") == true else { continue }
            shown[exchange.asked.id, default: []].append(exchange)
        }
        var found: [StressViolation] = []
        for (message, attempts) in shown {
            let confirmed = attempts.filter(\.isDone).map { $0.answer?.time ?? 0 }.min()
            let late = attempts.first { attempt in
                confirmed.map { attempt.asked.time > $0 } ?? false
            }
            if let late {
                let sentence =
                    "people are told of \(message) of \(account.id) again after that was confirmed"
                found.append(
                    StressViolation("M-11", sentence, attempts.flatMap(\.lines) + late.lines)
                )
            }
            let keys = Set(attempts.map { $0.asked.text ?? "" })
            if keys.count > 1 {
                let sentence = "\(message) of \(account.id) has the keys \(keys.sorted())"
                found.append(StressViolation("M-11", sentence, attempts.flatMap(\.lines)))
            }
        }
        for exchange in exchanges(.packet, of: account.id) where exchange.isDone {
            guard let attempt = SwitchAttempt(exchange.asked.id) else { continue }
            let conversation = StressContent.packets(of: attempt.helper).description
            let read = max(account.read[conversation] ?? 0, account.cleared[conversation] ?? 0)
            for number in 1...StressContent.messageCount(of: attempt)
            where StressContent.place(attempt, number) > read {
                let id = StressContent.messageID(attempt, number)
                guard shown[id] == nil, !account.effects.contains(id) else { continue }
                let sentence = "nobody is told of \(id) of \(account.id), which is unread"
                found.append(StressViolation("M-11", sentence, exchange.lines))
            }
        }
        return found + readBefore(shown, account.id)
            + attempts(.show, of: account.id, "acted on")
    }

    /// What was read before it came is not told of.
    private func readBefore(_ shown: [String: [Exchange]], _ account: String) -> [StressViolation] {
        // In the order of the answers, each with the furthest place up to there.
        let reads = Dictionary(
            grouping: exchanges(.read, of: account).filter(\.isDone),
            by: { $0.asked.text ?? "" }
        ).mapValues { Self.furthest($0) }
        var found: [StressViolation] = []
        for exchange in exchanges(.packet, of: account) {
            guard let attempt = SwitchAttempt(exchange.asked.id) else { continue }
            let conversation = StressContent.packets(of: attempt.helper).description
            guard let all = reads[conversation] else { continue }
            let behind = all.partitioningIndex { $0.time >= exchange.asked.time }
            guard behind > 0 else { continue }
            let earlier = all[behind - 1].read
            for number in 1...StressContent.messageCount(of: attempt)
            where StressContent.place(attempt, number) <= earlier.place {
                let id = StressContent.messageID(attempt, number)
                guard let first = shown[id]?.first, first.asked.time > exchange.asked.time,
                    isFirstDelivery(exchange, in: account)
                else { continue }
                let sentence =
                    "people are told of \(id) of \(account), which was read before it came"
                let lines = earlier.lines + exchange.lines + first.lines
                found.append(StressViolation("M-11", sentence, lines))
            }
        }
        return found
    }

    /// What was read, in the order of the answers: each with the one that is furthest up to there.
    private static func furthest(_ reads: [Exchange]) -> [(time: Int64, read: Exchange)] {
        var furthest: Exchange?
        return reads.sorted { $0.answered < $1.answered }.map { read in
            let most = furthest.map { $0.place >= read.place ? $0 : read } ?? read
            furthest = most
            return (read.answered, most)
        }
    }

    private func isFirstDelivery(_ exchange: Exchange, in account: String) -> Bool {
        !exchanges(.packet, of: account).contains {
            $0.asked.id == exchange.asked.id && $0.asked.time < exchange.asked.time
        }
    }
}

extension StressJudge.Exchange {
    /// When the answer came; at the end of time where none has.
    fileprivate var answered: Int64 { answer?.time ?? .max }
}

extension Array {
    /// The first index whose element satisfies a condition that all behind it satisfy as well.
    func partitioningIndex(where isBehind: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

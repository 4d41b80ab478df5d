import LockkeeperDomain

// What was acknowledged is there, what is there was asked for, and nothing is there twice.
extension StressJudge {
    /// Pages: the rows that their own transactions wrote say who wrote them under which fence.
    func pages(of account: StressEvidence.Account) -> [StressViolation] {
        var found: [StressViolation] = []
        var rows: [String: [SwitchWitness]] = [:]
        var newest = Generation(0)
        for row in account.witnesses {
            rows["\(row.attempt)", default: []].append(row)
            if row.held != row.fence || row.state != "active" {
                found.append(
                    StressViolation(
                        "I-2",
                        "page \(row.page) of attempt \(row.attempt) was committed into \(account.id)"
                            + " under generation \(row.held), and in that transaction the fence said"
                            + " \(row.fence), \(row.state)",
                        story(of: row.attempt, in: account.id)
                    )
                )
            }
            if row.fence < newest {
                let sentence = "the fence of \(account.id) went back to \(row.fence)"
                found.append(
                    StressViolation("I-2", sentence, story(of: row.attempt, in: account.id))
                )
            }
            newest = max(newest, row.fence)
            if row.sentFor.description != account.id {
                let sentence = "a page for \(row.sentFor) stands in \(account.id)"
                found.append(
                    StressViolation("I-13", sentence, story(of: row.attempt, in: account.id))
                )
            }
            found += messages(of: row, in: account)
        }
        var asked: Set<String> = []
        for exchange in exchanges(.page, of: account.id) {
            asked.insert(exchange.asked.id)
            let count = rows[exchange.asked.id]?.count ?? 0
            let isRight = exchange.isUncertain ? count <= 1 : count == (exchange.isDone ? 1 : 0)
            guard !isRight else { continue }
            let sentence =
                exchange.isDone
                ? "page \(exchange.asked.number ?? 0) of attempt \(exchange.asked.id) was"
                    + " acknowledged and is in \(account.id) \(count) times"
                : "attempt \(exchange.asked.id) was refused and is in \(account.id) \(count) times"
            found.append(StressViolation(exchange.isDone ? "I-6" : "I-3", sentence, exchange.lines))
        }
        for name in rows.keys.sorted() where !asked.contains(name) {
            found.append(StressViolation("I-3", "nobody stored attempt \(name) of \(account.id)"))
        }
        return found + repetitions(in: account) + cursors(of: account)
    }

    /// A committed page is whole.
    private func messages(
        of row: SwitchWitness,
        in account: StressEvidence.Account
    ) -> [StressViolation] {
        let body = SwitchPages.body(for: row.sentFor, row.attempt)
        return (1...SwitchPages.messageCount(of: row.page)).compactMap { number in
            let id = "\(row.attempt.helper)-\(row.page)-\(number)"
            guard account.bodies[id] != body else { return nil }
            let present = account.bodies[id].map { "says “\($0)”" } ?? "is missing"
            return StressViolation(
                "I-3",
                "message \(id) of a committed page of \(account.id) \(present)",
                story(of: row.attempt, in: account.id)
            )
        }
    }

    /// A page that comes again makes nothing new.
    private func repetitions(in account: StressEvidence.Account) -> [StressViolation] {
        exchanges(.again, of: account.id).compactMap { exchange in
            guard let count = exchange.answer?.other, count > 0 else { return nil }
            let sentence = "a page that came again was new for \(count) events"
            return StressViolation("I-5", sentence, exchange.lines)
        }
    }

    /// A cursor stands behind the pages that are there, and no page is missing or there twice.
    private func cursors(of account: StressEvidence.Account) -> [StressViolation] {
        account.lastPages.sorted { $0.key < $1.key }.compactMap { worker, last in
            let pages = account.witnesses.filter { $0.attempt.helper == worker }.map(\.page)
            guard pages != Array(1..<last + 1) else { return nil }
            let odd = zip(pages, 1...).first { $0 != $1 }
            let place = odd.map { "page \($0) stands where \($1) should" } ?? "their number differs"
            return StressViolation(
                "I-4",
                "the cursor of worker \(worker) in \(account.id) stands at page \(last), but of the"
                    + " \(pages.count) pages that were committed \(place)"
            )
        }
    }

    /// Packets: what was delivered is there once everything was applied, and nothing else is.
    func packets(of account: StressEvidence.Account) -> [StressViolation] {
        var found: [StressViolation] = []
        var asked: Set<String> = []
        for exchange in exchanges(.packet, of: account.id) {
            guard let attempt = SwitchAttempt(exchange.asked.id) else { continue }
            let conversation = StressContent.packets(of: attempt.helper).description
            let cleared = account.cleared[conversation] ?? 0
            for number in 1...StressContent.messageCount(of: attempt) {
                let id = StressContent.messageID(attempt, number)
                asked.insert(id)
                guard exchange.isDone, StressContent.place(attempt, number) > cleared else {
                    continue
                }
                let body = StressContent.body(attempt, for: account.id)
                guard account.bodies[id] != body else { continue }
                let present = account.bodies[id].map { "says “\($0)”" } ?? "is not there"
                let sentence = "message \(id) was acknowledged for \(account.id) and \(present)"
                found.append(StressViolation("I-6", sentence, exchange.lines))
            }
        }
        for id in account.bodies.keys.sorted() where id.hasPrefix("p-") && !asked.contains(id) {
            found.append(StressViolation("I-3", "nobody delivered message \(id) of \(account.id)"))
        }
        return found
    }

    /// Reading and clearing: at least as far as was acknowledged, at most as far as was asked.
    func places(of account: StressEvidence.Account) -> [StressViolation] {
        var found: [StressViolation] = []
        for (act, stands) in [(StressAct.read, account.read), (.clear, account.cleared)] {
            let all = exchanges(act, of: account.id)
            for (conversation, group) in Dictionary(grouping: all, by: { $0.asked.text ?? "" }) {
                let place = stands[conversation] ?? 0
                let done = group.filter(\.isDone).max { $0.place < $1.place }
                if let done, done.place > place {
                    let sentence =
                        "\(conversation) of \(account.id) stands at \(place), though \(act.rawValue)"
                        + " up to \(done.place) was acknowledged"
                    found.append(StressViolation("I-6", sentence, done.lines))
                }
                // What is cleared counts as read as well.
                let most = group.map(\.place).max() ?? 0
                if act == .clear, place > most {
                    let sentence = "nobody cleared \(conversation) of \(account.id) up to \(place)"
                    found.append(StressViolation("I-3", sentence))
                }
            }
        }
        return found
    }

    /// The setting that is counted up: no addition is lost, and none is there twice.
    func settings(of account: StressEvidence.Account) -> [StressViolation] {
        let all = exchanges(.add, of: account.id)
        let done = all.count(where: \.isDone)
        let most = done + all.count { !$0.isDone && $0.isUncertain }
        guard !(done...most).contains(account.counter) else { return [] }
        let last = all.filter(\.isDone).max { $0.asked.time < $1.asked.time }
        return [
            StressViolation(
                account.counter < done ? "I-6" : "I-3",
                "the setting of \(account.id) says \(account.counter), where \(done) additions were"
                    + " acknowledged and \(most) may have been made",
                last?.lines ?? []
            )
        ]
    }

    /// Messages that were sent: each waits or is confirmed, and never becomes two; each attempt at one
    /// is made by one process.
    func sends(of account: StressEvidence.Account) -> [StressViolation] {
        var found: [StressViolation] = []
        var asked: Set<String> = []
        for exchange in exchanges(.send, of: account.id) {
            let name = exchange.asked.id
            asked.insert(name)
            let ids = account.sent[name] ?? []
            let isPending = account.pending.contains(name)
            if exchange.isDone, ids.isEmpty, !isPending {
                let sentence = "\(name) of \(account.id) was taken, and is neither sent nor waiting"
                found.append(StressViolation("I-6", sentence, exchange.lines))
            }
            if ids.count > 1 || !ids.isEmpty && isPending {
                let sentence =
                    "\(name) of \(account.id) is \(ids.count) messages"
                    + (isPending ? " and still waits" : "")
                found.append(StressViolation("M-10", sentence, exchange.lines))
            }
        }
        for name in (account.pending.union(account.sent.keys)).sorted() where !asked.contains(name)
        {
            found.append(StressViolation("I-3", "nobody sent \(name) of \(account.id)"))
        }
        return found + attempts(.tell, of: account.id, "told to the server")
    }

    /// One attempt is one process's: two lines with the same number say that two had it.
    func attempts(_ act: StressAct, of account: String, _ what: String) -> [StressViolation] {
        var first: [String: Exchange] = [:]
        var found: [StressViolation] = []
        for exchange in exchanges(act, of: account) {
            // A withdraw follows its notify under the same message.
            let kind = act == .show ? exchange.asked.text ?? "" : ""
            let name = "\(exchange.asked.id) \(kind) \(exchange.asked.number ?? 0)"
            if let earlier = first[name] {
                let sentence = "attempt \(name) of \(account) was \(what) by two processes"
                found.append(StressViolation("M-10", sentence, earlier.lines + exchange.lines))
            }
            first[name] = exchange
        }
        return found
    }

    /// What led to a row: the lines of its attempt, what was done to its process meanwhile, and what
    /// became of the account.
    private func story(of attempt: SwitchAttempt, in account: String) -> [String] {
        let exchange = exchanges.first { $0.asked.act == .page && $0.asked.id == "\(attempt)" }
        guard let exchange else { return [] }
        let from = exchange.asked.time - 1_500_000
        let to = exchange.answer?.time ?? exchange.asked.time + 1_500_000
        var told: [(time: Int64, text: String)] = [exchange.asked, exchange.answer].compactMap {
            $0.map { ($0.time, Self.line(exchange.process, $0)) }
        }
        for mark in outcome.marks where (from...to).contains(mark.time) {
            guard mark.process == exchange.process || mark.what.hasPrefix("switch") else {
                continue
            }
            let name = mark.process.map { "\($0) was " } ?? ""
            told.append((mark.time, "t \(mark.time): \(name)\(mark.what)"))
        }
        return told.sorted { $0.time < $1.time }.map(\.text)
    }
}

extension StressJudge.Exchange {
    /// Up to where something is asked for.
    var place: Int64 { asked.number ?? 0 }
}

import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperState
import Synchronization

// The roles that make something new.
extension StressWorker {
    /// Stores the pages of a stream of its own, in each account by themselves, and some of them again.
    func ingest(in workspace: Workspace) async throws {
        var generator = generator()
        var count = 0
        try await eachSession(in: workspace) { session in
            let store = try MessageStore(session)
            let last = try await unlessRefused(.page) {
                let cursors = try await store.cursors()
                return cursors[SwitchPages.stream(of: settings.process.worker)]
                    .flatMap(SwitchPages.page) ?? 0
            }
            guard var page = last else { return }
            while session.ended == nil, try await goesOn() {
                count += 1
                let attempt = attempt(count)
                guard try await storePage(page + 1, attempt, in: store) else { continue }
                page += 1
                guard Int.random(in: 0..<5, using: &generator) == 0 else { continue }
                try await storeAgain(page, attempt, in: store)
            }
        }
    }

    /// Stores a page and, in its transaction, the row that says under which fence.
    private func storePage(
        _ page: Int,
        _ attempt: SwitchAttempt,
        in store: MessageStore
    ) async throws -> Bool {
        let token = store.session.token
        var asked = question(.page, "\(attempt)", for: token.account)
        (asked.number, asked.generation) = (Int64(page), token.generation.rawValue)
        let span = Mutex<(from: Int64, to: Int64)>((0, 0))
        let receipt = try await self.attempt(
            asked,
            fill: { (receipt: CommitReceipt, answer) in
                answer.commit = receipt.commit?.rawValue
                span.withLock { (answer.from, answer.to) = ($0.from, $0.to) }
            }
        ) {
            try await store.session.database.write { [self] transaction in
                let from = journal.now
                try store.apply(
                    SwitchPages.events(of: page, for: token.account, attempt),
                    effects: .suppress,
                    in: transaction
                )
                let time = clock.now()
                try SwitchWitness.insert(
                    attempt,
                    page: page,
                    token: token,
                    at: time,
                    in: transaction
                )
                span.withLock { $0 = (from, time.microseconds) }
            }.receipt
        }
        return receipt != nil
    }

    /// Stores a page once more, as a server sends one again that has heard no answer. Nothing may
    /// become new by it.
    private func storeAgain(
        _ page: Int,
        _ attempt: SwitchAttempt,
        in store: MessageStore
    ) async throws {
        let account = store.session.token.account
        var asked = question(.again, "\(attempt)", for: account)
        asked.number = Int64(page)
        _ = try await self.attempt(
            asked,
            fill: { (receipt: Receipt, answer) in
                answer.commit = receipt.commit?.rawValue
                answer.other = Int64(receipt.outcomes.inserted + receipt.outcomes.updated)
            }
        ) {
            try await store.ingest(
                SwitchPages.events(of: page, for: account, attempt),
                effects: .suppress
            )
        }
    }

    /// Delivers packets, every eighth to an account that is not active, and some twice.
    func deliver(in workspace: Workspace) async throws {
        var generator = generator()
        var count = 0
        repeat {
            let accounts = try await unlessRefused(.open) { try await workspace.accounts() } ?? []
            let isForOther = count % 8 == 7
            let fitting = accounts.filter { ($0.state == .active) != isForOther }
            guard let account = (fitting.first ?? accounts.first)?.id else { continue }
            count += 1
            let attempt = attempt(count)
            for _ in 0...(Int.random(in: 0..<6, using: &generator) == 0 ? 1 : 0) {
                _ = try await self.attempt(
                    question(.packet, "\(attempt)", for: account),
                    fill: { (delivery: Delivery, answer) in
                        switch delivery {
                        case .stored(let receipt):
                            answer.commit = receipt.commit?.rawValue
                            answer.text = "stored"
                        case .kept: answer.text = "kept"
                        }
                    }
                ) {
                    try await workspace.deliver(
                        StressContent.packet(attempt, for: account),
                        to: account
                    )
                }
            }
        } while try await goesOn(after: .milliseconds(25))
    }

    /// Marks conversations as read, up to their end or a little before it, and clears old ends.
    func read(in workspace: Workspace) async throws {
        var generator = generator()
        var count = 0
        try await eachSession(in: workspace) { session in
            let store = try MessageStore(session)
            while session.ended == nil, try await goesOn(after: .milliseconds(60)) {
                let top = try await unlessRefused(.read) { () -> (ConversationID, Int64)? in
                    let known = try await store.conversations().map(\.id).filter {
                        $0 == SwitchPages.conversation || StressContent.isOfPackets($0)
                    }
                    guard let one = known.randomElement(using: &generator) else { return nil }
                    let last = try await store.timeline(one, limit: 1).first
                    return last?.sequence.map { (one, $0) }
                }
                guard let (conversation, last) = top ?? nil else { continue }
                count += 1
                let isClear =
                    StressContent.isOfPackets(conversation)
                    && Int.random(in: 0..<8, using: &generator) == 0
                let place = last - Int64.random(in: 0...(isClear ? 60 : 6), using: &generator)
                guard place > 0 else { continue }
                var asked = question(
                    isClear ? .clear : .read,
                    "\(attempt(count))",
                    for: session.token.account
                )
                (asked.number, asked.text) = (place, conversation.description)
                _ = try await attempt(asked) {
                    isClear
                        ? try await store.clear(conversation, upTo: place)
                        : try await store.markRead(conversation, upTo: place)
                }
            }
        }
    }

    /// Adds one to a setting, which no other process's addition may get lost by.
    func add(in workspace: Workspace) async throws {
        var count = 0
        try await eachSession(in: workspace) { session in
            guard
                let settings = try await unlessRefused(
                    .open,
                    { try await SettingsStore(session) }
                )
            else { return }
            while session.ended == nil, try await goesOn(after: .milliseconds(15)) {
                count += 1
                let span = Mutex<(from: Int64, to: Int64)>((0, 0))
                _ = try await attempt(
                    question(.add, "\(attempt(count))", for: session.token.account),
                    fill: { (receipt: CommitReceipt, answer) in
                        answer.commit = receipt.commit?.rawValue
                        span.withLock { (answer.from, answer.to) = ($0.from, $0.to) }
                    }
                ) {
                    try await settings.update { [journal] transaction in
                        let from = journal.now
                        let count = try transaction.value(StressContent.counter) ?? 0
                        try transaction.set(count + 1, for: StressContent.counter)
                        span.withLock { $0 = (from, journal.now) }
                    }.receipt
                }
            }
        }
    }
}

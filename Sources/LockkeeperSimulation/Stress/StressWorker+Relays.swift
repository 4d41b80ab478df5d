import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages

// The roles that act for others: they tell the server, and people. When their input has ended they go
// on until nothing is left.
extension StressWorker {
    /// Sends messages, and tells the server what the outbox has. The server is the history: a question
    /// says that it was told, and it takes a message twice as once.
    func relayOutbox(in workspace: Workspace) async throws {
        var generator = generator()
        var count = 0
        var isDone = false
        while !isDone {
            guard let session = try await activeSession(in: workspace) else {
                _ = try await goesOn()
                continue
            }
            let store = try MessageStore(session)
            while session.ended == nil, !isDone {
                if try await goesOn(after: .milliseconds(40)) {
                    count += 1
                    try await send(attempt(count), in: store)
                }
                let left = try await claimItems(of: store, using: &generator)
                isDone = isToFinish && left == false
            }
            await session.close()
        }
    }

    private func send(_ attempt: SwitchAttempt, in store: MessageStore) async throws {
        let name = StressContent.clientID(attempt)
        _ = try await self.attempt(
            question(.send, name, for: store.session.token.account),
            fill: { (receipt: SendReceipt, answer) in answer.number = receipt.item }
        ) {
            try await store.send(
                OutgoingMessage(
                    conversation: StressContent.sent(by: attempt.helper),
                    body: name,
                    clientID: ClientID(unchecked: Array(name.utf8))
                )
            )
        }
    }

    /// Tells the server what is to be told now.
    ///
    /// - Returns: whether something is left; `nil` where nobody can say.
    private func claimItems(
        of store: MessageStore,
        using generator: inout SeededGenerator
    ) async throws -> Bool? {
        do {
            while let claim = try await store.claimNextOutboxItem() {
                try await tell(claim, of: store.session.token.account, using: &generator)
            }
            return try await store.outboxWait() != nil
        } catch let error as LockkeeperError {
            noteRefusal(of: question(.claim), error)
            return nil
        }
    }

    private func tell(
        _ claim: consuming OutboxClaim,
        of account: AccountID,
        using generator: inout SeededGenerator
    ) async throws {
        let item = claim.item
        if Int.random(in: 0..<25, using: &generator) == 0 { return try await claim.giveBack() }
        var asked = question(.tell, item.key, for: account)
        (asked.number, asked.text) = (Int64(item.attempt), item.act.rawValue)
        journal.append(asked)
        do {
            if let name = item.clientID?.description,
                let sent = StressContent.attempt(ofClientID: name)
            {
                let id = StressContent.serverID(ofClientID: name)
                try await claim.confirm(
                    as: MessageID(unchecked: Array(id.utf8)),
                    sequence: StressContent.place(sent)
                )
            } else {
                try await claim.confirm()
            }
        } catch let error as LockkeeperError {
            return noteRefusal(of: asked, error)
        }
        noteAnswer(to: asked)
    }

    /// Acts on effects.
    func relayEffects(in workspace: Workspace) async throws {
        var isDone = false
        while !isDone {
            guard let session = try await activeSession(in: workspace) else {
                _ = try await goesOn()
                continue
            }
            let store = try MessageStore(session)
            while session.ended == nil, !isDone {
                _ = try await goesOn(after: .milliseconds(40))
                let left = try await claimEffects(of: store)
                isDone = isToFinish && left == false
            }
            await session.close()
        }
    }

    private func claimEffects(of store: MessageStore) async throws -> Bool? {
        do {
            while let claim = try await store.claimNextEffect() {
                let effect = claim.effect
                var asked = question(
                    .show,
                    effect.message.description,
                    for: store.session.token.account
                )
                asked.number = Int64(effect.attempt)
                asked.text = "\(effect.kind.rawValue) \(effect.key)"
                journal.append(asked)
                do {
                    try await claim.confirm()
                    noteAnswer(to: asked)
                } catch let error as LockkeeperError {
                    noteRefusal(of: asked, error)
                }
            }
            return try await store.effectWait() != nil
        } catch let error as LockkeeperError {
            noteRefusal(of: question(.claim), error)
            return nil
        }
    }

    /// Writes down that what was asked for was done.
    private func noteAnswer(to question: StressEntry) {
        var answer = question
        (answer.word, answer.time) = (.answered, journal.now)
        journal.append(answer)
        countBeat()
    }
}

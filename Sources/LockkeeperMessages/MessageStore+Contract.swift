import Lockkeeper
import LockkeeperDomain

extension MessageStore {
    /// Refuses settings that the account's server makes unsafe: receipts that are not durable
    /// where the server drops its copy, and ingest, which may fail while it holds the only copy of a
    /// packet, where the server gives none twice.
    ///
    /// - Parameters:
    ///   - events: what is to be stored. Pages among them belong to their streams.
    ///   - page: the page that the events make up.
    func check(
        _ durability: Durability,
        _ events: some Sequence<Event> = [Event](),
        closing page: SyncPage? = nil
    ) throws {
        try check(durability, stream: page?.stream)
        guard !session.account.contract.streams.isEmpty else { return }
        for case .page(let page) in events { try check(durability, stream: page.stream) }
    }

    /// The same for one event of an ``Ingester``.
    func check(_ durability: Durability, _ event: Event) throws {
        guard case .page(let page) = event else { return }
        try check(durability, stream: page.stream)
    }

    private func check(_ durability: Durability, stream: StreamID?) throws {
        let contract = session.account.contract.delivery(of: stream)
        if contract.needsInbox {
            throw refusal(
                stream,
                "the server neither sends again nor can be asked again, so that a packet must be"
                    + " kept before it can fail",
                "Deliver the packet, or receive it: Workspace.deliver, MessageStore.receive."
            )
        }
        guard durability == .committed, let reason = contract.reasonForDurableReceipts else {
            return
        }
        throw refusal(
            stream,
            "\(reason), so that receipts must be durable",
            "Ask for durability 'durable'."
        )
    }

    private func refusal(
        _ stream: StreamID?,
        _ explanation: String,
        _ remedy: String
    ) -> LockkeeperError {
        let account = "account \(session.token.account)"
        return LockkeeperError(
            .contract,
            subject: stream.map { "stream \($0) of \(account)" } ?? account,
            explanation: explanation,
            answer: .fixProgram,
            remedy: remedy
        )
    }
}

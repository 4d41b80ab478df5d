public import Lockkeeper
public import LockkeeperDomain

/// What became of a packet that was delivered. Either way it is durable.
public enum Delivery: Sendable {
    /// It is in the account's database.
    case stored(Receipt)
    /// The database could not take it in time: it is kept as a file, and is applied by whoever opens
    /// or writes the account next.
    case kept(KeptPacket)
}

extension Workspace {
    /// Takes a packet for an account: what a push helper does when it wakes.
    ///
    /// It is stored when the database can take it soon. Where it cannot, because the account is not
    /// active, the database is busy, is being recovered, was written by a newer program or has no
    /// room, the packet is kept as a file. A throw promises nothing, and delivering again does no
    /// harm.
    ///
    /// - Parameters:
    ///   - packet: event lines, as ``LineDecoder`` reads them: at most ``Limits/packetByteCountMax``.
    ///   - account: the account that the packet is for, active or not.
    ///   - waitMax: how long to try to store it; ``Limits/deliveryWaitMax`` by default.
    /// - Throws: ``LockkeeperError`` — `unknownAccount`, `invalidInput`, `inboxFull`, `suspended`,
    ///   `diskFull`, `ioFailed`, `permissionDenied`; `CancellationError`.
    public func deliver(
        _ packet: [UInt8],
        to account: AccountID,
        waitMax: Duration? = nil
    ) async throws -> Delivery {
        try check(packet, for: account)
        // An unknown one is refused, and nothing of it is kept.
        _ = try await self.account(account)
        let reason: LockkeeperError.Code
        do {
            let receipt = try await within(waitMax ?? limits.deliveryWaitMax) { [self] in
                let messages = try MessageStore(try await session(account))
                return try await messages.store(
                    LineDecoder.lines(of: packet, limits: limits),
                    closing: nil,
                    onGap: .wait,
                    durability: .durable
                )
            }
            if let receipt { return .stored(receipt) }
            reason = .busy
        } catch {
            guard let known = Self.reasonToKeep(after: error) else { throw error }
            reason = known
        }
        let kept = try await keep(packet, for: account, because: reason)
        // Between the attempt and the file the account may have been activated, or let go by its last
        // writer, who found no file then.
        _ = try? await within(Self.secondLookMax) { [self] in try await session(account) }
        return .kept(kept)
    }

    /// Takes events for an account as one packet; see ``deliver(_:to:waitMax:)``.
    ///
    /// - Parameter page: the page that the events make up, if they make up one.
    public func deliver(
        _ events: [Event],
        closing page: SyncPage? = nil,
        to account: AccountID,
        waitMax: Duration? = nil
    ) async throws -> Delivery {
        var encoder = EventEncoder()
        for event in events { encoder.append(event) }
        if let page { encoder.append(.page(page)) }
        return try await deliver(encoder.bytes, to: account, waitMax: waitMax)
    }

    /// Long enough to store a packet in a database that nobody holds; a helper waits no longer for
    /// what somebody else will do.
    private static let secondLookMax = Duration.milliseconds(100)

    private func check(_ packet: [UInt8], for account: AccountID) throws {
        guard packet.isEmpty || packet.count > limits.packetByteCountMax else { return }
        throw LockkeeperError(
            .invalidInput,
            subject: "packet for account \(account)",
            explanation: "a packet has 1 to \(limits.packetByteCountMax) bytes, this one has"
                + " \(packet.count)",
            answer: .fixProgram,
            remedy: "Deliver it in parts that end with a line."
        )
    }

    /// Why a packet is kept after an error; `nil` where the error is the caller's.
    private static func reasonToKeep(after error: any Error) -> LockkeeperError.Code? {
        if error is CancellationError { return nil }
        guard let error = error as? LockkeeperError else { return .ioFailed }
        switch error.code {
        case .unknownAccount, .accountRemoved, .invalidInput, .contract, .closed, .suspended,
            .statement:
            return nil
        default: return error.code
        }
    }
}

extension MessageStore {
    /// Makes the work of a transaction of a packet that was kept as a file.
    static let intake: PacketIntake = { session, packet in
        let store = try MessageStore(session)
        let lines = LineDecoder.lines(of: packet, limits: session.database.limits)
        return { connection, topics in
            _ = try store.merge(
                closing: nil,
                onGap: .wait,
                of: lines.stream,
                on: connection,
                topics: &topics
            ) {
                for line in lines { try $0.take(line.item) }
            }
        }
    }
}

extension LineDecoder {
    /// All lines of a packet.
    static func lines(of packet: [UInt8], limits: Limits) -> [DecodedLine] {
        var decoder = LineDecoder(limits: limits)
        var lines: [DecodedLine] = []
        packet.withUnsafeBytes { bytes in
            decoder.feed(bytes) { _, line, _ in lines.append(line) }
        }
        decoder.finish { _, line, _ in lines.append(line) }
        return lines
    }
}

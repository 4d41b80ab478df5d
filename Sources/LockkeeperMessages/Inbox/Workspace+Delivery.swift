public import Lockkeeper
public import LockkeeperDomain
import LockkeeperStorage

/// What became of a packet that was delivered. Either way it is durable.
public enum Delivery: Sendable {
    /// It is in the account's database.
    case stored(Receipt)
    /// It is in the account's inbox: as a file where the database could not take it in time, which is
    /// applied by whoever opens or writes the account next; as a row where it is still to be decoded.
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
    ///   - packet: at most ``Limits/packetByteCountMax`` bytes: event lines, as `lockkeeper ingest` reads
    ///     them, unless the workspace was opened with packets of the app's own
    ///     (``Schema/messages(packets:)``). Those are never decoded before they are durable.
    ///   - page: the page that the packet makes up, if it makes up one.
    ///   - account: the account that the packet is for, active or not.
    ///   - waitMax: how long to try to store it; ``Limits/deliveryWaitMax`` by default.
    /// - Throws: ``LockkeeperError`` — `unknownAccount`, `fileMissing` where the account's folder is not
    ///   there, `invalidInput`, `inboxFull`, `suspended`,
    ///   `diskFull`, `ioFailed`, `permissionDenied`; `CancellationError`.
    public func deliver(
        _ packet: [UInt8],
        closing page: SyncPage? = nil,
        to account: AccountID,
        waitMax: Duration? = nil
    ) async throws -> Delivery {
        let format = packetIntake?.format ?? .eventLines
        return try await deliver(
            Packet(packet, format: format, page: page),
            to: account,
            waitMax: waitMax
        )
    }

    /// Takes events for an account as one packet; see the one for bytes.
    ///
    /// - Parameters:
    ///   - events: what the packet holds.
    ///   - page: the page that the events make up, if they make up one.
    ///   - account: the account that the packet is for, active or not.
    ///   - waitMax: how long to try to store it; ``Limits/deliveryWaitMax`` by default.
    public func deliver(
        _ events: [Event],
        closing page: SyncPage? = nil,
        to account: AccountID,
        waitMax: Duration? = nil
    ) async throws -> Delivery {
        var encoder = EventEncoder()
        for event in events { encoder.append(event) }
        // A packet has bytes: a page without events is one line.
        if let page, events.isEmpty { encoder.append(.page(page)) }
        return try await deliver(
            Packet(encoder.bytes, page: page),
            to: account,
            waitMax: waitMax
        )
    }

    private func deliver(
        _ packet: Packet,
        to account: AccountID,
        waitMax: Duration?
    ) async throws -> Delivery {
        try check(packet.bytes, for: account)
        // An unknown one is refused, and nothing of it is kept; nor is anything where its folder is gone.
        try await requireFolder(of: account)
        let reason: LockkeeperError.Code
        do {
            let delivery = try await within(waitMax ?? limits.deliveryWaitMax) { [self] in
                try await store(packet, in: try await session(account))
            }
            if let delivery { return delivery }
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

    /// Stores a packet in the database: what its events say, or, where only the app's decoder reads
    /// it, its bytes. That one may end the process.
    private func store(_ packet: Packet, in session: Session) async throws -> Delivery {
        guard packet.format == .eventLines else { return .kept(try await session.receive(packet)) }
        let receipt = try await MessageStore(session).store(
            LineDecoder.lines(of: packet.bytes, limits: limits),
            closing: packet.page,
            onGap: .wait,
            durability: .durable,
            // Somebody waits for it, page or not.
            admission: .live
        )
        return .stored(receipt)
    }

    /// Long enough to store a packet in a database that nobody holds; a helper waits no longer for
    /// what somebody else will do.
    private static let secondLookMax = Duration.milliseconds(100)

    func check(_ packet: [UInt8], for account: AccountID) throws {
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

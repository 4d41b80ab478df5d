import Lockkeeper
public import LockkeeperDomain
import LockkeeperStorage

/// Makes events of the packets that an app's server sends.
///
/// It is called on a thread of the inbox's, outside of any transaction, once the packet is durable; it
/// may block. The same packet may be decoded more than once, also by two processes at a time.
public protocol PacketDecoder: Sendable {
    /// Reads one packet.
    ///
    /// - Throws: whatever says that the packet cannot be read. It is tried again as often as
    ///   ``Limits/inboxAttemptCountMax`` says and parked then; the error's type is kept, its text is
    ///   not. A packet on which the process dies is counted as well.
    func decode(_ packet: [UInt8]) throws -> DecodedPacket
}

/// What a packet says.
public struct DecodedPacket: Sendable {
    /// Its events, in any order. They are stored in one transaction, with the packet's removal.
    public var events: [Event]
    /// The page that they make up; `nil` for none, and where the page was said when the packet was
    /// received.
    public var page: SyncPage?

    /// A packet of events.
    public init(events: [Event], page: SyncPage? = nil) {
        self.events = events
        self.page = page
    }
}

/// How a program reads the packets that it is handed, a choice of ``Schema/messages(packets:)``.
///
/// Packets that are event lines, those of `Workspace.deliver` with events
/// among them, are read by every program.
public struct PacketReading: Sendable {
    let decoder: (any PacketDecoder)?
    let format: PacketFormat

    /// Packets are event lines.
    public static let eventLines = PacketReading(decoder: nil, format: .eventLines)

    /// Packets are the app's own, and this program decodes them.
    public static func decoded(by decoder: some PacketDecoder) -> PacketReading {
        PacketReading(decoder: decoder, format: .ownOfApp)
    }

    /// Packets are the app's own, and another program decodes them: what a helper chooses that has
    /// no time for it, or not the code.
    public static let left = PacketReading(decoder: nil, format: .ownOfApp)

    /// How a workspace with this reading takes packets.
    var intake: PacketIntake {
        PacketIntake(
            formats: decoder == nil ? [.eventLines] : [.eventLines, .ownOfApp],
            format: format
        ) { [decoder] session, packet in
            let store = try MessageStore(session)
            let limits = session.database.limits
            guard packet.format == .ownOfApp, let decoder else {
                let lines = LineDecoder.lines(of: packet.bytes, limits: limits)
                return store.work(lines, closing: packet.page)
            }
            let decoded = try decoder.decode(packet.bytes)
            if let known = packet.page, let page = decoded.page, known != page {
                throw PacketContradictsItsPage()
            }
            return store.work(
                decoded.events.map(DecodedLine.init),
                closing: packet.page ?? decoded.page
            )
        }
    }
}

/// Thrown when a packet was received as one page and is decoded as another.
struct PacketContradictsItsPage: Error {}

extension MessageStore {
    /// What a packet does inside a transaction.
    fileprivate func work(_ lines: [DecodedLine], closing page: SyncPage?) -> PacketWork {
        { [self] connection, topics in
            _ = try merge(
                closing: page,
                onGap: .wait,
                of: page?.stream ?? lines.stream,
                on: connection,
                topics: &topics
            ) {
                for line in lines { try $0.take(line.item) }
            }
        }
    }
}

import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform

/// One run of `ingest --deliver`: lines from an input, handed over as packets that are stored where the
/// account's database can take them soon, and kept as files otherwise.
///
/// What has come by one read is cut into packets no larger than a batch, so that whoever waits at the
/// other end of a pipe has its answer at once.
struct DeliverRun {
    let workspace: Workspace
    let account: AccountID
    let report: IngestReport

    /// Lines that are handed over together.
    private struct Packet {
        var bytes: [UInt8] = []
        var lines: ClosedRange<Int>
        var count = 0
    }

    /// Delivers everything.
    ///
    /// - Returns: why it ended before its input did; `nil` where everything was stored or kept.
    func run(_ input: consuming IngestInput) async throws -> (any Error)? {
        var source = input
        var reader = EventLineReader(limits: workspace.limits)
        var decoder = EventDecoder(limits: workspace.limits)
        // Held, so that the account stays open from one packet to the next.
        var session: Session?
        while true {
            var packets: [Packet] = []
            let isEnd: Bool
            switch try source.next() {
            case .bytes(let bytes):
                reader.feed(bytes) { take($0, into: &packets, &decoder) }
                isEnd = false
            case .end:
                reader.finish { take($0, into: &packets, &decoder) }
                isEnd = true
            case .interrupted: return nil
            }
            for (index, packet) in packets.enumerated() {
                do {
                    let delivery = try await workspace.deliver(packet.bytes, to: account)
                    report.add(delivery, lines: packet.lines)
                    if case .stored = delivery, session?.ended != nil || session == nil {
                        session = try? await workspace.session(account)
                    }
                } catch {
                    report.countRefused(packets[index...].reduce(0) { $0 + $1.count })
                    return error
                }
            }
            if isEnd { return nil }
        }
    }

    /// Puts a line into a packet. One that is no event goes along: it is named here, where its number is
    /// known, and whoever applies the packet puts it into quarantine.
    private func take(
        _ piece: EventLineReader.Piece,
        into packets: inout [Packet],
        _ decoder: inout EventDecoder
    ) {
        switch piece {
        case .line(let number, let bytes):
            report.countLine(number, decoder.fault(of: bytes))
            let limits = workspace.limits
            let isFull = packets.last.map { packet in
                packet.count >= limits.batchEventCountMax
                    || packet.bytes.count + bytes.count >= limits.batchByteCountMax
            }
            if isFull != false { packets.append(Packet(lines: number...number)) }
            let last = packets.count - 1
            packets[last].bytes += bytes
            packets[last].bytes.append(UInt8(ascii: "\n"))
            packets[last].lines = packets[last].lines.lowerBound...number
            packets[last].count += 1
        case .overlongPart: break
        case .overlongEnd(let number, _, let byteCount):
            report.countLine(number, tooLong: byteCount, limit: workspace.limits.lineByteCountMax)
            report.countRefused(1)
        }
    }
}

extension EventDecoder {
    /// Why a line is no event; `nil` where it is one.
    fileprivate mutating func fault(of line: UnsafeRawBufferPointer) -> EventError? {
        do throws(EventError) {
            _ = try decode(line: line)
            return nil
        } catch {
            return error
        }
    }
}

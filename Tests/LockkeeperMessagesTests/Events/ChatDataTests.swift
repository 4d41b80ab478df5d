import LockkeeperDomain
import LockkeeperMessages
import Testing

/// Real chat logs, which stand beside the package where they are present.
@Suite struct ChatDataTests {
    @Test(
        "Real chat logs decode whole, and their canonical form is stable",
        arguments: [
            ("irc-small.ndjson", [1300, 25, 0]), ("irc-small-feed.ndjson", [1897, 44, 45]),
        ]
    )
    func decodesWhole(name: String, counts: [Int]) throws {
        guard let bytes = ChatData.bytes(of: name) else { return }
        var (messages, edits, pages, others) = (0, 0, 0, 0)
        var reader = EventLineReader()
        var decoder = EventDecoder()
        try bytes.withUnsafeBufferPointer { bytes throws(EventError) in
            try reader.feed(UnsafeRawBufferPointer(bytes)) { piece throws(EventError) in
                guard case .line(_, let line) = piece else { return others += 1 }
                let event = try decoder.decode(line: line)
                switch event {
                case .message: messages += 1
                case .edit: edits += 1
                case .page: pages += 1
                default: others += 1
                }
                let canonical = EventEncoder.line(event)
                let again = try decoder.decode(line: canonical)
                if again != event || EventEncoder.line(again) != canonical { others += 1 }
            }
        }
        #expect([messages, edits, pages] == counts)
        #expect(others == 0)
    }
}

import LockkeeperDomain
import LockkeeperSQLite

/// The beginning of a message's text, which stands beside its conversation's summary.
///
/// It depends on the text alone, whoever stores it, so that an inspection can make it again.
struct MessagePreview: Equatable {
    /// The bytes: those of the text, or the first of them.
    let bytes: [UInt8]
    /// Whether the text goes on.
    let isCut: Bool

    /// More than a line of a list shows in any script.
    static let byteCountMax = 512

    /// A preview of its parts, as they are stored.
    init(bytes: [UInt8], isCut: Bool) {
        self.bytes = bytes
        self.isCut = isCut
    }

    /// The preview of a text. Of text that is not UTF-8, in a damaged row, it is cut between two bytes.
    init(of text: UnsafeRawBufferPointer) {
        guard text.count > Self.byteCountMax else {
            self.init(bytes: Array(text), isCut: false)
            return
        }
        var count = Self.byteCountMax
        // The first byte that is left out begins a scalar.
        while count > 0, text[count] & 0xC0 == 0x80 { count -= 1 }
        let first = UnsafeRawBufferPointer(rebasing: text[..<count])
        if isUTF8(first) {
            // What is left out may belong to the last character, an accent or a part of an emoji.
            let characters = String(decoding: first, as: UTF8.self)
            let last = characters.last?.utf8.count ?? 0
            if last < count { count -= last }
        } else {
            count = Self.byteCountMax
        }
        self.init(bytes: Array(text[..<count]), isCut: true)
    }

    /// The preview of a text.
    init(of text: String) {
        var text = text
        self = text.withUTF8 { MessagePreview(of: UnsafeRawBufferPointer($0)) }
    }
}

extension MessagePreview {
    /// Makes the previews of all conversations anew, of what stands as their last message. For a store
    /// whose rows were saved out of a damaged one.
    static func derive(_ connection: Connection) throws {
        let select = try connection.prepare(
            """
            SELECT c.id, m.body FROM lk_conversation c
            LEFT JOIN lk_message m ON m.id = c.last_message
            """
        )
        var previews: [(conversation: Int64, preview: MessagePreview?)] = []
        while try select.step() {
            let preview = select.isNull(1) ? nil : select.withBytes(1, MessagePreview.init(of:))
            previews.append((select.int64(0), preview))
        }
        let update = try connection.prepare(
            "UPDATE lk_conversation SET last_preview = ?2, last_is_cut = ?3 WHERE id = ?1"
        )
        for (conversation, preview) in previews {
            try update.bind(1, conversation)
            try update.bind(2, text: preview?.bytes)
            try update.bind(3, preview.map { $0.isCut ? 1 : 0 })
            try update.run()
        }
    }
}

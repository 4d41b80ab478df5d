import LockkeeperCrypto
import LockkeeperDomain

/// A document as a file. Integers are little endian:
///
/// | offset | bytes | content |
/// |---|---|---|
/// | 0 | 8 | `LKDOCUMT` |
/// | 8 | 2 | the version of this layout, 1 |
/// | 10 | 2 | D, the bytes of the document's name |
/// | 12 | 2 | K, the bytes of its kind |
/// | 14 | 2 | 0 |
/// | 16 | 4 | the version of its form |
/// | 20 | 4 | N, the bytes of the content |
/// | 24 | 32 | SHA-256 of all other bytes |
/// | 56 | D + K + N | name, kind, and the content as one property value |
struct DocumentFile {
    let name: DocumentName
    let kind: [UInt8]
    let version: UInt32
    let content: [UInt8]

    /// A document that is larger is media, or records.
    static let byteCountMax = 64 * 1024 * 1024
    private static let magic = Array("LKDOCUMT".utf8)
    private static let digestOffset = 24
    private static let headerByteCount = 56

    /// Why a file is no document that this program can read.
    enum Failure: Error, Equatable {
        case damaged
        /// It is of a later layout than this program knows.
        case newer
    }

    /// The file's bytes.
    var bytes: [UInt8] {
        var head = Self.magic
        for number in [1, name.bytes.count, kind.count, 0] {
            withUnsafeBytes(of: UInt16(number).littleEndian) { head += $0 }
        }
        for number in [version, UInt32(content.count)] {
            withUnsafeBytes(of: number.littleEndian) { head += $0 }
        }
        var digest = SHA256()
        for part in [head, name.bytes, kind, content] { digest.update(part) }
        return head + digest.finalize() + name.bytes + kind + content
    }

    init(name: DocumentName, kind: String, version: Int, content: [UInt8]) {
        self.name = name
        self.kind = Array(kind.utf8)
        self.version = UInt32(version)
        self.content = content
    }

    /// Reads a file's bytes.
    init(_ bytes: [UInt8]) throws(Failure) {
        guard bytes.count >= Self.headerByteCount, bytes.starts(with: Self.magic) else {
            throw .damaged
        }
        let layout = Self.number(bytes[8..<10])
        if layout > 1 { throw .newer }
        let counts = [Self.number(bytes[10..<12]), Self.number(bytes[12..<14])]
        let tail = bytes[Self.headerByteCount...]
        guard layout == 1, counts[0] > 0,
            tail.count == counts[0] + counts[1] + Self.number(bytes[20..<24])
        else { throw .damaged }
        var digest = SHA256()
        digest.update(Array(bytes[..<Self.digestOffset]))
        digest.update(Array(tail))
        guard digest.finalize().elementsEqual(bytes[Self.digestOffset..<Self.headerByteCount])
        else { throw .damaged }
        name = DocumentName(unchecked: Array(tail.prefix(counts[0])))
        kind = Array(tail.dropFirst(counts[0]).prefix(counts[1]))
        version = UInt32(Self.number(bytes[16..<20]))
        content = Array(tail.dropFirst(counts[0] + counts[1]))
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int {
        bytes.reversed().reduce(0) { $0 << 8 | Int($1) }
    }
}

internal import LockkeeperDomain

/// A message's attachments: JSON objects that Lockkeeper keeps as they came, each with an `id`.
///
/// A different set of ids at an equal version is a conflict; different addresses are none (M-3).
public struct Attachments: Sendable, Hashable, CustomStringConvertible {
    /// The ids in the order of the array.
    public let ids: [AttachmentID]
    /// The array as UTF-8 without insignificant white space.
    package let bytes: [UInt8]

    /// Reads an array of objects.
    ///
    /// - Throws: ``EventError`` when the text is none, or an object has no valid `id`.
    public init(_ json: String) throws(EventError) {
        try self.init(stored: Array(json.utf8))
    }

    /// Reads an array of objects from its bytes, which stand in a line at `lineOffset`.
    ///
    /// - Throws: ``EventError`` when they are none, or an object has no valid `id`.
    package init(json buffer: UnsafeRawBufferPointer, lineOffset: Int = 0) throws(EventError) {
        let found: [Found]
        do throws(JSONError) {
            found = try Self.find(in: buffer)
        } catch {
            let moved = JSONError(error.code, at: lineOffset + error.offset)
            throw EventError(moved, field: Self.field)
        }
        var ids: [AttachmentID] = []
        for element in found {
            let offset = lineOffset + element.offset
            guard let id = element.id else {
                let reason = "an attachment has no id"
                throw EventError(.missing, field: Self.field, at: offset, reason: reason)
            }
            do throws(IdentifierError) {
                ids.append(try AttachmentID(bytes: id))
            } catch {
                throw EventError(error, field: Self.field, at: offset)
            }
        }
        self.ids = ids
        self.bytes = JSONWriter.canonicalized(buffer)
    }

    /// Wraps what the store kept: an array that this type wrote, and its ids.
    package init(canonical bytes: [UInt8], ids: [AttachmentID]) {
        self.bytes = bytes
        self.ids = ids
    }

    /// Reads an array that the store kept.
    ///
    /// - Throws: ``EventError`` where a damaged row holds something else.
    init(stored bytes: [UInt8]) throws(EventError) {
        self = try bytes.withUnsafeBufferPointer { bytes throws(EventError) in
            try Attachments(json: UnsafeRawBufferPointer(bytes))
        }
    }

    /// The array as text.
    public var description: String { String(decoding: bytes, as: UTF8.self) }

    private static let field = "attachments"

    /// One element of the array: where it stands, and its id if it has one.
    private struct Found {
        let offset: Int
        var id: [UInt8]?
    }

    private static func find(in buffer: UnsafeRawBufferPointer) throws(JSONError) -> [Found] {
        var scanner = JSONScanner(buffer)
        var elements: [Found] = []
        try scanner.beginArray()
        while try scanner.nextElement() {
            var element = Found(offset: scanner.position)
            try scanner.beginObject()
            while let key = try scanner.nextKey() {
                let value = try scanner.nextValue()
                if scanner.matches(key, "id") { element.id = try scanner.stringBytes(value) }
            }
            elements.append(element)
        }
        try scanner.finish()
        return elements
    }
}

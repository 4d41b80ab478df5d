internal import LockkeeperDomain

/// Fields of an event that Lockkeeper does not know, kept to be shown and exported again.
///
/// They are one JSON object in canonical form: at least one member, members sorted by the bytes of
/// their keys, keys with no more escapes than they need, values without white space and otherwise
/// as they came.
public struct ExtraFields: Sendable, Hashable, CustomStringConvertible {
    /// The object as UTF-8.
    package let bytes: [UInt8]

    /// Wraps an object that is known to be canonical: one that this type wrote and the store kept.
    package init(canonical bytes: [UInt8]) { self.bytes = bytes }

    /// Reads an object.
    ///
    /// - Throws: ``EventError`` when the text is none or has no member.
    public init(_ json: String) throws(EventError) {
        let members: [Member]
        do throws(JSONError) {
            members = try Self.members(of: Array(json.utf8))
        } catch {
            throw EventError(error)
        }
        guard !members.isEmpty else {
            throw EventError(.invalidValue, reason: "extra fields that are none are left out")
        }
        self.init(members)
    }

    /// Members whose names are not those of fields that an event has; `nil` where none is left.
    init?(_ members: [Member], beside known: EventFieldSet) {
        let free = members.filter { !known.names.contains($0.key) }
        if free.isEmpty { return nil }
        self.init(free)
    }

    /// Brings members, of which there is at least one, into canonical form.
    init(_ members: [Member]) {
        var writer = JSONWriter()
        writer.beginObject()
        for member in members.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            writer.key(String(decoding: member.key, as: UTF8.self))
            writer.raw(member.value)
        }
        writer.endObject()
        self.init(canonical: writer.bytes)
    }

    /// One field.
    struct Member {
        /// The key's text as UTF-8.
        let key: [UInt8]
        /// The value as canonical JSON.
        let value: [UInt8]
    }

    /// The object as text.
    public var description: String { String(decoding: bytes, as: UTF8.self) }

    /// The members without the braces around them.
    var memberBytes: ArraySlice<UInt8> { bytes.dropFirst().dropLast() }

    /// The names of the fields.
    ///
    /// - Throws: ``JSONError`` when what the store kept is no object.
    var keys: [[UInt8]] {
        get throws(JSONError) { try Self.members(of: bytes).map(\.key) }
    }

    /// The fields of an object.
    ///
    /// - Throws: ``JSONError`` when it is none.
    static func members(of json: [UInt8]) throws(JSONError) -> [Member] {
        try json.withUnsafeBufferPointer { json throws(JSONError) in
            var members: [Member] = []
            var scanner = JSONScanner(UnsafeRawBufferPointer(json))
            try scanner.beginObject()
            while let key = try scanner.nextKey() {
                let name = try scanner.stringBytes(key.slice)
                let value = JSONWriter.canonicalized(scanner.rawBytes(try scanner.nextValue()))
                members.append(Member(key: name, value: value))
            }
            try scanner.finish()
            return members
        }
    }
}

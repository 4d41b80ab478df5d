internal import LockkeeperDomain

/// The members of one event line, found by field, with their values still in the line's bytes.
///
/// A line's type may stand anywhere in it, even last. Members are therefore noted first, where they
/// stand and under which field, and read when the type says what they mean. The memory for the
/// notes is kept from line to line.
struct EventFields {
    /// The fields that the line has.
    private(set) var present: EventFieldSet = []

    private var scanner: JSONScanner
    // The value of each field, valid where `present` has it.
    private var values: [JSONSlice?]
    private var unknown: [(key: JSONSlice, value: JSONSlice)] = []
    private let names: [StaticString] = EventField.allCases.map(\.name)
    private let signatures: [JSONSignature]

    /// Notes for lines that nest no deeper than a bound.
    init(nestingDepthMax: Int) {
        scanner = JSONScanner(Self.noBytes, nestingDepthMax: nestingDepthMax)
        values = Array(repeating: nil, count: EventField.allCases.count)
        signatures = names.map { name in
            JSONSignature(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
        }
    }

    private static var noBytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: nil, count: 0)
    }

    /// Notes the members of a line and checks all of its bytes.
    mutating func begin(_ line: UnsafeRawBufferPointer) throws(EventError) {
        present = []
        unknown.removeAll(keepingCapacity: true)
        scanner.restart(on: line)
        do throws(JSONError) {
            try noteMembers()
        } catch {
            throw EventError(error)
        }
    }

    /// Lets go of the line, whose bytes are only borrowed.
    mutating func end() { scanner.restart(on: Self.noBytes) }

    // Required fields

    /// An identifier that the event cannot be without.
    func identifier<ID: ByteIdentifier>(_ field: EventField) throws(EventError) -> ID {
        guard let identifier: ID = try identifierIfPresent(field) else { throw missing(field) }
        return identifier
    }

    /// An integer that the event cannot be without.
    func integer(_ field: EventField) throws(EventError) -> Int64 {
        guard let value = try integerIfPresent(field) else { throw missing(field) }
        return value
    }

    /// A text that the event cannot be without.
    func string(_ field: EventField) throws(EventError) -> String {
        guard let value = try stringIfPresent(field) else { throw missing(field) }
        return value
    }

    /// An instant that the event cannot be without.
    func timestamp(_ field: EventField) throws(EventError) -> Timestamp {
        guard let value = try timestampIfPresent(field) else { throw missing(field) }
        return value
    }

    // Optional fields

    /// An identifier, if the line has the field.
    func identifierIfPresent<ID: ByteIdentifier>(_ field: EventField) throws(EventError) -> ID? {
        guard let slice = slice(field) else { return nil }
        return try identifier(slice, of: field)
    }

    /// A list of identifiers, if the line has the field.
    func identifiersIfPresent<ID: ByteIdentifier>(
        _ field: EventField
    ) throws(EventError) -> [ID]? {
        guard let slice = slice(field) else { return nil }
        let elements: [JSONSlice]
        do throws(JSONError) {
            elements = try scanner.elements(of: slice)
        } catch {
            throw EventError(error, field: field.text)
        }
        var identifiers: [ID] = []
        for element in elements { identifiers.append(try identifier(element, of: field)) }
        return identifiers
    }

    /// A cursor or `nil`, which the line must say: a page that names no start is not the first.
    func nullableIdentifier<ID: ByteIdentifier>(_ field: EventField) throws(EventError) -> ID? {
        guard let slice = slice(field) else { throw missing(field) }
        return slice.kind == .null ? nil : try identifier(slice, of: field)
    }

    /// An integer, if the line has the field.
    func integerIfPresent(_ field: EventField) throws(EventError) -> Int64? {
        guard let slice = slice(field) else { return nil }
        do throws(JSONError) {
            return try scanner.integer(slice)
        } catch {
            throw EventError(error, field: field.text)
        }
    }

    /// True or false, if the line has the field.
    func boolIfPresent(_ field: EventField) throws(EventError) -> Bool? {
        guard let slice = slice(field) else { return nil }
        do throws(JSONError) {
            return try scanner.bool(slice)
        } catch {
            throw EventError(error, field: field.text)
        }
    }

    /// A text, if the line has the field.
    func stringIfPresent(_ field: EventField) throws(EventError) -> String? {
        guard let slice = slice(field) else { return nil }
        do throws(JSONError) {
            return try scanner.string(slice)
        } catch {
            throw EventError(error, field: field.text)
        }
    }

    /// An instant, if the line has the field.
    func timestampIfPresent(_ field: EventField) throws(EventError) -> Timestamp? {
        guard let slice = slice(field) else { return nil }
        // A text with escapes, which nobody writes for a date, is the one case that needs a copy.
        let copy = scanner.plainText(slice) == nil ? try stringIfPresent(field) : nil
        do throws(TimestampError) {
            if let text = scanner.plainText(slice) { return try Timestamp(rfc3339: text) }
            return try copy.map { text throws(TimestampError) in try Timestamp(text) }
        } catch {
            throw EventError(
                .invalidTimestamp,
                field: field.text,
                at: slice.range.lowerBound,
                reason: error.description
            )
        }
    }

    /// Attachments, if the line has them.
    func attachmentsIfPresent() throws(EventError) -> Attachments? {
        guard let slice = slice(.attachments) else { return nil }
        return try Attachments(
            json: scanner.rawBytes(slice),
            lineOffset: slice.range.lowerBound
        )
    }

    /// What the line has beside the fields of its event; `nil` when it has nothing else.
    func extra(beside known: EventFieldSet) throws(EventError) -> ExtraFields? {
        let foreign = present.subtracting(known)
        if unknown.isEmpty && foreign.isEmpty { return nil }
        var members: [ExtraFields.Member] = []
        for field in EventField.allCases where foreign.has(field) {
            guard let value = slice(field) else { continue }
            members.append(member(Array(field.text.utf8), value))
        }
        do throws(JSONError) {
            for (key, value) in unknown {
                members.append(member(try scanner.stringBytes(key), value))
            }
        } catch {
            throw EventError(error)
        }
        return ExtraFields(members)
    }

    // Fields in place, for whoever can do without a copy

    /// Whether a field is a text of exactly these bytes.
    func isText(_ field: EventField, _ text: StaticString) -> Bool {
        slice(field).map { scanner.matches($0, text) } ?? false
    }

    /// The bytes of a text, if the line has the field and they stand there without escapes.
    func plainText(_ field: EventField) -> UnsafeRawBufferPointer? {
        slice(field).flatMap { scanner.plainText($0) }
    }

    /// The place of a field in the line, for errors.
    func offset(of field: EventField) -> Int? { slice(field)?.range.lowerBound }

    private mutating func noteMembers() throws(JSONError) {
        try scanner.beginObject()
        // Most lines have their fields in the same order, so that the search begins behind the
        // field that was found last and mostly ends there.
        var expected = 0
        while let key = try scanner.nextKey() {
            let value = try scanner.nextValue()
            if let field = field(of: key, from: expected) {
                values[field.rawValue] = value
                present.add(field)
                expected = field.rawValue + 1
            } else {
                unknown.append((key.slice, value))
            }
        }
        try scanner.finish()
    }

    private func field(of key: JSONKey, from expected: Int) -> EventField? {
        var index = expected
        for _ in 0..<signatures.count {
            if index == signatures.count { index = 0 }
            if signatures[index] == key.signature, scanner.matches(key, names[index]) {
                return EventField(rawValue: index)
            }
            index += 1
        }
        return nil
    }

    private func slice(_ field: EventField) -> JSONSlice? {
        present.has(field) ? values[field.rawValue] : nil
    }

    private func identifier<ID: ByteIdentifier>(
        _ slice: JSONSlice,
        of field: EventField
    ) throws(EventError) -> ID {
        let bytes: [UInt8]
        do throws(JSONError) {
            bytes = try scanner.stringBytes(slice)
        } catch {
            throw EventError(error, field: field.text)
        }
        // The check of `init(bytes:)` without its copy; only its error is taken from there.
        if !bytes.isEmpty && bytes.count <= IdentifierError.byteCountMax {
            return ID(unchecked: bytes)
        }
        let error: IdentifierError =
            bytes.isEmpty ? .empty(noun: ID.noun) : .tooLong(noun: ID.noun, byteCount: bytes.count)
        throw EventError(error, field: field.text, at: slice.range.lowerBound)
    }

    private func member(_ key: [UInt8], _ value: JSONSlice) -> ExtraFields.Member {
        ExtraFields.Member(key: key, value: JSONWriter.canonicalized(scanner.rawBytes(value)))
    }

    private func missing(_ field: EventField) -> EventError {
        EventError(.missing, field: field.text, reason: "the field is missing")
    }
}

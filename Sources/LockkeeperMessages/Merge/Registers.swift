import LockkeeperDomain
import LockkeeperSQLite

/// A field of something that is merged field by field (M-2).
///
/// The raw values count from 0 without gaps. They are bits in masks that are stored, so that a number
/// once given is never given again.
protocol RegisterField: CaseIterable, Hashable, RawRepresentable, Sendable
where RawValue == Int, AllCases: RandomAccessCollection {
    /// The field's name in event lines.
    var name: String { get }
    /// The field of what Lockkeeper does not know. Each of its keys is a register of its own.
    static var extra: Self { get }
    /// Whether two values at one version contradict each other (M-3).
    func contradict(_ left: FieldValue, _ right: FieldValue) -> Bool
}

extension RegisterField {
    /// The field's bit in a stored mask.
    var bit: Int64 { 1 << Int64(rawValue) }
}

/// The fields of one message, conversation or member, each with the version at which it was written
/// (M-2).
///
/// The larger (version, value) wins, and an absent value never beats one that is present. This is
/// what makes the result independent of order, repetition and grouping (I-5): each register is the
/// maximum over everything that was ever written to it, and a maximum does not care about order.
struct Registers<Field: RegisterField>: Equatable {
    private var values: [FieldValue?]
    private var versions: [Int64]
    /// The fields that stand at a version which nobody but the account itself has named, as bits: what
    /// the server says at the same version takes their place, and is no conflict with them (M-4).
    private var guesses: Int64 = 0
    /// The versions of unknown fields that stand at another one than ``Field/extra`` itself, which has the
    /// largest of them.
    private var keyVersions: [[UInt8]: Int64] = [:]

    /// What happened when fields were written.
    struct Outcome: Equatable {
        /// A register has another value or version than before.
        var changed = false
        /// A field came at a version, or with a value, below what stands.
        var wasOlder = false
        /// The values that lost against another at the same version (M-3). They go to quarantine.
        var losers: [Loser] = []

        /// The outcome of the event that wrote them.
        ///
        /// - Parameter isNews: whether anything differs from before.
        func event(isNews: Bool) -> EventOutcome {
            if !losers.isEmpty { return .quarantined }
            if isNews { return .updated }
            return wasOlder ? .stale : .duplicate
        }
    }

    /// A value that lost a conflict.
    struct Loser: Equatable {
        let field: Field
        let version: Int64
        /// Of an unknown field an object with it alone.
        let value: FieldValue

        /// Why it is put aside.
        var explanation: String {
            field == .extra
                ? "another value of an unknown field came at version \(version)"
                : "another \(field.name) came at version \(version)"
        }
    }

    /// Nothing written yet.
    init() {
        values = Array(repeating: nil, count: Field.allCases.count)
        versions = Array(repeating: 0, count: Field.allCases.count)
    }

    /// Registers as they are stored: the values, the version of most of them, and the exceptions.
    ///
    /// - Throws: ``DamagedRegisters`` when the exceptions are not what ``exceptions`` writes.
    init(
        values: [FieldValue?],
        version: Int64,
        exceptions: [UInt8]?
    ) throws(DamagedRegisters) {
        precondition(values.count == Field.allCases.count, "one value per field")
        self.values = values
        versions = Array(repeating: version, count: values.count)
        guard let exceptions else { return }
        for (exception, mask, keys) in try Self.decode(exceptions) {
            if exception == Self.guessed {
                guesses = mask
                continue
            }
            for key in keys { keyVersions[key] = exception }
            for field in Field.allCases where mask & field.bit != 0 {
                versions[field.rawValue] = exception
            }
        }
    }

    /// Whether the same is written. The version of an absent field means nothing.
    static func == (left: Self, right: Self) -> Bool {
        left.values == right.values && left.guesses == right.guesses
            && left.keyVersions == right.keyVersions
            && Field.allCases.allSatisfy {
                left[$0] == nil || left.version(of: $0) == right.version(of: $0)
            }
    }

    subscript(field: Field) -> FieldValue? { values[field.rawValue] }

    /// The version at which a field stands; meaningless while the field is absent.
    func version(of field: Field) -> Int64 { versions[field.rawValue] }

    /// The largest version of all fields that are present, 0 where there is none.
    var version: Int64 {
        var largest: Int64 = 0
        for field in Field.allCases where self[field] != nil {
            largest = max(largest, versions[field.rawValue])
        }
        return largest
    }

    /// Whether a field stands at a version that nobody but the account itself has named.
    func isGuessed(_ field: Field) -> Bool { guesses & field.bit != 0 }

    /// The distinct versions of the fields that are present, ascending.
    var presentVersions: [Int64] {
        let present = Field.allCases.filter { self[$0] != nil }
        return Set(present.map { version(of: $0) }).union(keyVersions.values).sorted()
    }

    /// The unknown fields with their versions.
    private var extra: ExtraRegisters {
        ExtraRegisters(
            bytes(.extra),
            version: version(of: .extra),
            exceptions: keyVersions
        )
    }

    /// The unknown fields that stand at a version.
    func extra(at version: Int64) -> [ExtraFields.Member] {
        self[.extra] == nil ? [] : extra.members(at: version)
    }

    /// Writes a field at a version.
    ///
    /// - Parameter isGuess: whether nobody but the account itself has named the version.
    mutating func write(
        _ field: Field,
        _ value: FieldValue,
        at version: Int64,
        isGuess: Bool = false,
        into outcome: inout Outcome
    ) {
        let index = field.rawValue
        if field == .extra { return write(extra: value, at: version, &outcome) }
        guard let present = values[index] else {
            return put(value, field, at: version, isGuess, &outcome)
        }
        let standing = versions[index]
        guard version == standing else {
            guard version > standing else { return outcome.wasOlder = true }
            return put(value, field, at: version, isGuess, &outcome)
        }
        guard isGuess == isGuessed(field) else {
            if !isGuess { return put(value, field, at: version, false, &outcome) }
            if value != present { outcome.wasOlder = true }
            return
        }
        guard value != present else { return }
        let isLarger = present < value
        if version > 0, !isGuess, field.contradict(present, value) {
            let loser = isLarger ? present : value
            outcome.losers.append(Loser(field: field, version: version, value: loser))
        }
        if isLarger {
            values[index] = value
            outcome.changed = true
        } else {
            outcome.wasOlder = true
        }
    }

    /// Writes unknown fields. No change of the account's own has any, so that none is a guess.
    private mutating func write(
        extra value: FieldValue,
        at version: Int64,
        _ outcome: inout Outcome
    ) {
        guard case .text(let object) = value else { return }
        // Nearly always there is nothing yet, or the same came again.
        guard let present = values[Field.extra.rawValue] else {
            return put(value, .extra, at: version, false, &outcome)
        }
        if present == value, versions[Field.extra.rawValue] == version, keyVersions.isEmpty {
            return
        }
        var extra = extra
        let written = extra.write(object, at: version)
        if written.changed {
            set(extra)
            outcome.changed = true
        }
        if written.wasOlder { outcome.wasOlder = true }
        outcome.losers += written.losers.map {
            Loser(field: .extra, version: version, value: .text($0))
        }
    }

    private mutating func set(_ extra: ExtraRegisters) {
        values[Field.extra.rawValue] = extra.object.map(FieldValue.text)
        versions[Field.extra.rawValue] = extra.version
        keyVersions = extra.exceptions
    }

    private mutating func put(
        _ value: FieldValue,
        _ field: Field,
        at version: Int64,
        _ isGuess: Bool,
        _ outcome: inout Outcome
    ) {
        values[field.rawValue] = value
        versions[field.rawValue] = version
        guesses = isGuess ? guesses | field.bit : guesses & ~field.bit
        outcome.changed = true
    }

    /// Puts another value where one stands at a version, whichever is larger: what a person decides.
    ///
    /// - Returns: what stood; `nil` where the field does not stand at that version.
    mutating func replace(
        _ field: Field,
        by value: FieldValue,
        at version: Int64
    ) -> FieldValue? {
        if field == .extra, case .text(let object) = value {
            var extra = extra
            guard let stood = extra.replace(by: object, at: version) else { return nil }
            set(extra)
            return .text(stood)
        }
        guard let stood = self[field], self.version(of: field) == version else { return nil }
        values[field.rawValue] = value
        return stood
    }

    /// Takes out every field but some.
    mutating func keep(only kept: [Field]) {
        for field in Field.allCases where !kept.contains(field) {
            values[field.rawValue] = nil
            versions[field.rawValue] = 0
            guesses &= ~field.bit
            if field == .extra { keyVersions = [:] }
        }
    }

    /// What stands in the column `registers` in a version's place before the mask of those that are
    /// guessed.
    private static var guessed: Int64 { -1 }

    /// The versions that differ from ``version``, as the column `registers` stores them:
    /// `[[version,mask,key,…],…]`, ascending; `nil` where there is none. The keys are those of unknown
    /// fields. -1 in a version's place: these are guessed.
    var exceptions: [UInt8]? {
        let largest = version
        var masks: [Int64: Int64] = guesses == 0 ? [:] : [Self.guessed: guesses]
        for field in Field.allCases where self[field] != nil {
            let version = version(of: field)
            if version != largest { masks[version, default: 0] |= field.bit }
        }
        for version in keyVersions.values { masks[version, default: 0] |= 0 }
        guard !masks.isEmpty else { return nil }
        var writer = JSONWriter()
        writer.beginArray()
        for (version, mask) in masks.sorted(by: { $0.key < $1.key }) {
            writer.beginArray()
            writer.integer(version)
            writer.integer(mask)
            let keys = keyVersions.filter { $0.value == version }.keys
            for key in keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
                writer.string(utf8: key)
            }
            writer.endArray()
        }
        writer.endArray()
        return writer.bytes
    }

    private typealias Exception = (version: Int64, mask: Int64, keys: [[UInt8]])

    private static func decode(_ exceptions: [UInt8]) throws(DamagedRegisters) -> [Exception] {
        do {
            return try exceptions.withUnsafeBytes { bytes in
                var scanner = JSONScanner(bytes)
                var found: [Exception] = []
                try scanner.beginArray()
                while try scanner.nextElement() {
                    try scanner.beginArray()
                    guard try scanner.nextElement() else { throw DamagedRegisters() }
                    let version = try scanner.readInteger()
                    guard try scanner.nextElement() else { throw DamagedRegisters() }
                    let mask = try scanner.readInteger()
                    var keys: [[UInt8]] = []
                    while try scanner.nextElement() { keys.append(try scanner.readStringBytes()) }
                    found.append((version, mask, keys))
                }
                try scanner.finish()
                return found
            }
        } catch {
            throw DamagedRegisters()
        }
    }
}

extension Registers {
    /// Reads registers whose values stand in the columns from `first` on, in the order of the fields.
    ///
    /// - Throws: ``DamagedRegisters``.
    init(
        reading row: Statement,
        from first: Int,
        version: Int64,
        exceptions: [UInt8]?
    ) throws(DamagedRegisters) {
        let values = Field.allCases.map { field -> FieldValue? in
            let column = first + field.rawValue
            switch row.kind(column) {
            case .null: return nil
            case .integer: return .integer(row.int64(column))
            default: return .text(row.bytes(column))
            }
        }
        try self.init(values: values, version: version, exceptions: exceptions)
    }

    /// Binds the values to the parameters from `first` on, in the order of the fields.
    func bind(to statement: Statement, from first: Int) throws(SQLiteError) {
        for field in Field.allCases {
            let index = first + field.rawValue
            switch self[field] {
            case .integer(let number): try statement.bind(index, number)
            case .text(let bytes): try statement.bind(index, text: bytes)
            case nil: try statement.bindNull(index)
            }
        }
    }

    // MARK: - Values as events hold them

    /// The bytes of a text.
    func bytes(_ field: Field) -> [UInt8]? {
        if case .text(let bytes) = self[field] { return bytes }
        return nil
    }

    /// A text; bytes that are not UTF-8 become replacement characters.
    func text(_ field: Field) -> String? {
        bytes(field).map { String(decoding: $0, as: UTF8.self) }
    }

    /// A number.
    func integer(_ field: Field) -> Int64? {
        if case .integer(let number) = self[field] { return number }
        return nil
    }

    /// True or false.
    func flag(_ field: Field) -> Bool? { integer(field).map { $0 != 0 } }

    /// An instant.
    func instant(_ field: Field) -> Timestamp? { integer(field).map(Timestamp.init(stored:)) }

}

/// Thrown when a row's `registers` column holds something that this program never writes.
struct DamagedRegisters: Error {}

import LockkeeperDomain

/// The fields of one message, each with the version at which it was written (M-2).
///
/// The larger (version, value) wins, and an absent value never beats one that is present. This is
/// what makes the result independent of order, repetition and grouping (I-5): each register is the
/// maximum over everything that was ever written to it, and a maximum does not care about order.
struct MessageRegisters: Equatable {
    private var values: [FieldValue?]
    private var versions: [Int64]

    /// What happened when fields were written.
    struct Outcome: Equatable {
        /// A register has another value or version than before.
        var changed = false
        /// A field came at a version, or with a value, below what stands.
        var wasOlder = false
        /// The values that lost against another at the same version (M-3). They go to quarantine.
        var losers: [Loser] = []
        /// Whether one of the losers is a value that was just written.
        var lostItself = false
    }

    /// A value that lost a conflict.
    struct Loser: Equatable {
        let field: MessageField
        let version: Int64
        let value: FieldValue
    }

    /// Nothing written yet.
    init() {
        values = Array(repeating: nil, count: MessageField.allCases.count)
        versions = Array(repeating: 0, count: MessageField.allCases.count)
    }

    /// Registers as they are stored: the values, the version of most of them, and the exceptions.
    ///
    /// - Throws: ``DamagedRegisters`` when the exceptions are not what ``exceptions`` writes.
    init(
        values: [FieldValue?],
        version: Int64,
        exceptions: [UInt8]?
    ) throws(DamagedRegisters) {
        precondition(values.count == MessageField.allCases.count, "one value per field")
        self.values = values
        versions = Array(repeating: version, count: values.count)
        guard let exceptions else { return }
        for (exception, mask) in try Self.decode(exceptions) {
            for field in MessageField.allCases where mask & field.bit != 0 {
                versions[field.rawValue] = exception
            }
        }
    }

    subscript(field: MessageField) -> FieldValue? { values[field.rawValue] }

    /// The version at which a field stands; meaningless while the field is absent.
    func version(of field: MessageField) -> Int64 { versions[field.rawValue] }

    /// The largest version of all fields that are present, 0 where there is none.
    var version: Int64 {
        var largest: Int64 = 0
        for field in MessageField.allCases where self[field] != nil {
            largest = max(largest, versions[field.rawValue])
        }
        return largest
    }

    /// The distinct versions of the fields that are present, ascending.
    var presentVersions: [Int64] {
        let present = MessageField.allCases.filter { self[$0] != nil }
        return Set(present.map { version(of: $0) }).sorted()
    }

    /// Writes a field at a version.
    mutating func write(
        _ field: MessageField,
        _ value: FieldValue,
        at version: Int64,
        into outcome: inout Outcome
    ) {
        let index = field.rawValue
        guard let present = values[index] else {
            values[index] = value
            versions[index] = version
            outcome.changed = true
            return
        }
        let standing = versions[index]
        guard version == standing else {
            if version < standing {
                outcome.wasOlder = true
            } else {
                values[index] = value
                versions[index] = version
                outcome.changed = true
            }
            return
        }
        guard value != present else { return }
        let isLarger = present < value
        if version > 0, Self.contradict(field, present, value) {
            let loser = isLarger ? present : value
            outcome.losers.append(Loser(field: field, version: version, value: loser))
            if !isLarger { outcome.lostItself = true }
        }
        if isLarger {
            values[index] = value
            outcome.changed = true
        } else {
            outcome.wasOlder = true
        }
    }

    /// Takes out what a recalled message may not keep (M-6). Returns whether anything was there.
    @discardableResult
    mutating func removeContent() -> Bool {
        var removed = false
        for field in MessageField.allCases where !MessageField.keptAfterRecall.contains(field) {
            if values[field.rawValue] != nil { removed = true }
            values[field.rawValue] = nil
            versions[field.rawValue] = 0
        }
        return removed
    }

    /// The versions that differ from ``version``, as the column `registers` stores them:
    /// `[[version,mask],…]`, ascending; `nil` where there is none.
    var exceptions: [UInt8]? {
        let largest = version
        var masks: [Int64: Int64] = [:]
        for field in MessageField.allCases where self[field] != nil {
            let version = version(of: field)
            if version != largest { masks[version, default: 0] |= field.bit }
        }
        guard !masks.isEmpty else { return nil }
        let pairs = masks.sorted { $0.key < $1.key }.map { "[\($0.key),\($0.value)]" }
        return Array("[\(pairs.joined(separator: ","))]".utf8)
    }

    private static func contradict(
        _ field: MessageField,
        _ left: FieldValue,
        _ right: FieldValue
    ) -> Bool {
        guard field.isContested else { return false }
        guard field == .attachments, case .text(let left) = left, case .text(let right) = right
        else { return true }
        return attachmentIDs(left) != attachmentIDs(right)
    }

    /// The set of ids in a stored array; `nil` where it is damaged.
    private static func attachmentIDs(_ stored: [UInt8]) -> Set<AttachmentID>? {
        (try? Attachments(stored: stored)).map { Set($0.ids) }
    }

    private static func decode(
        _ exceptions: [UInt8]
    ) throws(DamagedRegisters) -> [(version: Int64, mask: Int64)] {
        do {
            return try exceptions.withUnsafeBytes { bytes in
                var scanner = JSONScanner(bytes)
                var pairs: [(version: Int64, mask: Int64)] = []
                try scanner.beginArray()
                while try scanner.nextElement() {
                    var numbers: [Int64] = []
                    try scanner.beginArray()
                    while try scanner.nextElement() { numbers.append(try scanner.readInteger()) }
                    guard numbers.count == 2 else { throw DamagedRegisters() }
                    pairs.append((numbers[0], numbers[1]))
                }
                try scanner.finish()
                return pairs
            }
        } catch {
            throw DamagedRegisters()
        }
    }
}

/// Thrown when a row's `registers` column holds something that this program never writes.
struct DamagedRegisters: Error {}

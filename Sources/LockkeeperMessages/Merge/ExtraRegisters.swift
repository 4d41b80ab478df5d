/// The fields of one message, conversation or member that Lockkeeper does not know: each key a register
/// of its own, whose larger (version, bytes) wins (M-2).
struct ExtraRegisters {
    private struct Register {
        var version: Int64
        var value: [UInt8]
    }

    private var registers: [[UInt8]: Register] = [:]

    /// What happened when fields were written.
    struct Outcome {
        /// A key has another value or version than before.
        var changed = false
        /// A key came at a version, or with a value, below what stands.
        var wasOlder = false
        /// The values that lost against another at the same version above 0, each as an object.
        var losers: [[UInt8]] = []
    }

    /// Unknown fields as they are stored: all of them in one object, the version of most of them, and
    /// those that stand at another one. What is damaged counts as nothing, and gives way.
    init(_ object: [UInt8]?, version: Int64, exceptions: [[UInt8]: Int64]) {
        for member in Self.members(object) {
            registers[member.key] = Register(
                version: exceptions[member.key] ?? version,
                value: member.value
            )
        }
    }

    /// Writes fields, all at one version.
    mutating func write(_ object: [UInt8], at version: Int64) -> Outcome {
        var outcome = Outcome()
        for member in Self.members(object) {
            let new = Register(version: version, value: member.value)
            guard let present = registers[member.key], present.version >= version else {
                registers[member.key] = new
                outcome.changed = true
                continue
            }
            guard present.version == version else {
                outcome.wasOlder = true
                continue
            }
            guard present.value != member.value else { continue }
            let isLarger = present.value.lexicographicallyPrecedes(member.value)
            if version > 0 {
                let loser = isLarger ? present.value : member.value
                outcome.losers.append(Self.object(member.key, loser))
            }
            if isLarger {
                registers[member.key] = new
                outcome.changed = true
            } else {
                outcome.wasOlder = true
            }
        }
        return outcome
    }

    /// Puts another value where one stands at a version, whichever is larger.
    ///
    /// - Parameter object: an object with one field.
    /// - Returns: what stood, as an object; `nil` where the field does not stand at that version.
    mutating func replace(by object: [UInt8], at version: Int64) -> [UInt8]? {
        guard let member = Self.members(object).first, let stood = registers[member.key],
            stood.version == version
        else { return nil }
        registers[member.key]?.value = member.value
        return Self.object(member.key, stood.value)
    }

    /// All fields in one object; `nil` where there is none.
    var object: [UInt8]? {
        let members = registers.map { ExtraFields.Member(key: $0.key, value: $0.value.value) }
        return members.isEmpty ? nil : ExtraFields(members).bytes
    }

    /// The largest version, 0 where there is none.
    var version: Int64 { registers.values.map(\.version).max() ?? 0 }

    /// The versions of those that stand at another one than the largest.
    var exceptions: [[UInt8]: Int64] {
        let largest = version
        return registers.mapValues(\.version).filter { $0.value != largest }
    }

    /// The fields that stand at a version.
    func members(at version: Int64) -> [ExtraFields.Member] {
        registers.filter { $0.value.version == version }
            .map { ExtraFields.Member(key: $0.key, value: $0.value.value) }
    }

    private static func members(_ object: [UInt8]?) -> [ExtraFields.Member] {
        object.flatMap { try? ExtraFields.members(of: $0) } ?? []
    }

    private static func object(_ key: [UInt8], _ value: [UInt8]) -> [UInt8] {
        ExtraFields([ExtraFields.Member(key: key, value: value)]).bytes
    }
}

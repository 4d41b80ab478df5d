/// Our own statements, found by the address of their text.
///
/// A string literal keeps its place for as long as the process lives, so that the look-up is one
/// comparison of pointers in nearly every case: this is the path of every write.
struct StaticStatementCache {
    private var slots = [Slot](repeating: Slot(), count: 64)
    private var count = 0

    private struct Slot {
        var address: UnsafePointer<UInt8>?
        var length = 0
        var statement: Statement?
    }

    /// The statement with a text, if there is one.
    func find(_ sql: StaticString) -> Statement? { slots[index(of: sql)].statement }

    /// Keeps a statement.
    mutating func insert(_ statement: Statement, for sql: StaticString) {
        if (count + 1) * 2 > slots.count { grow() }
        let index = index(of: sql)
        if slots[index].address == nil { count += 1 }
        slots[index] = Slot(
            address: sql.utf8Start,
            length: sql.utf8CodeUnitCount,
            statement: statement
        )
    }

    /// Lets go of all statements.
    mutating func removeAll() { self = StaticStatementCache() }

    /// Where a text is or would be: open addressing, at most half full.
    private func index(of sql: StaticString) -> Int {
        Self.index(address: sql.utf8Start, length: sql.utf8CodeUnitCount, in: slots)
    }

    private static func index(
        address: UnsafePointer<UInt8>,
        length: Int,
        in slots: [Slot]
    ) -> Int {
        let mask = slots.count - 1
        var index = Int(bitPattern: address) >> 4 & mask
        while let other = slots[index].address {
            if other == address && slots[index].length == length { break }
            index = (index + 1) & mask
        }
        return index
    }

    private mutating func grow() {
        var larger = [Slot](repeating: Slot(), count: slots.count * 2)
        for slot in slots {
            guard let address = slot.address else { continue }
            larger[Self.index(address: address, length: slot.length, in: larger)] = slot
        }
        slots = larger
    }
}

/// Statements whose text is not ours, the least recently used of which makes room.
struct UserStatementCache {
    private var statements: [Text: (statement: Statement, usedAt: Int)] = [:]
    private var useCount = 0

    /// An app has few statements of its own that matter, and each holds some kilobytes.
    static let countMax = 64

    /// A statement's text, which is what its bytes are: `String` compares by canonical equivalence
    /// and would take one literal for another.
    private struct Text: Hashable {
        let text: String

        static func == (left: Text, right: Text) -> Bool {
            left.text.utf8.elementsEqual(right.text.utf8)
        }

        func hash(into hasher: inout Hasher) {
            for byte in text.utf8 { hasher.combine(byte) }
        }
    }

    /// The statement with a text, if there is one.
    mutating func find(_ sql: String) -> Statement? {
        useCount += 1
        guard let index = statements.index(forKey: Text(text: sql)) else { return nil }
        statements.values[index].usedAt = useCount
        return statements.values[index].statement
    }

    /// Keeps a statement.
    mutating func insert(_ statement: Statement, for sql: String) {
        if statements.count >= Self.countMax,
            let oldest = statements.min(by: { $0.value.usedAt < $1.value.usedAt })
        {
            statements[oldest.key] = nil
        }
        statements[Text(text: sql)] = (statement, useCount)
    }

    /// Lets go of all statements.
    mutating func removeAll() { self = UserStatementCache() }
}

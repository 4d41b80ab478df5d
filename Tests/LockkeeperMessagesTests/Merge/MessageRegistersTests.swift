import LockkeeperDomain
import Testing

@testable import LockkeeperMessages

/// The registers as pure values: each is the maximum of what was written to it (M-2), so that no
/// order, repetition or grouping can be seen in the result (I-5).
@Suite("Registers of a message")
struct MessageRegistersTests {
    /// One field of one event.
    fileprivate struct Write: CustomStringConvertible {
        let field: MessageField
        let version: Int64
        let value: FieldValue

        var description: String { "\(field.name)@\(version)=\(value)" }
    }

    // I-5, M-2. Three versions, 0 among them, and two values: the smallest alphabet in which every
    // comparison of the rule occurs.
    @Test(
        "every order of four writes to one field, each given twice, leaves one value and version",
        arguments: [MessageField.body, .seq, .attachments, .extra]
    )
    func ordersAgree(field: MessageField) {
        let alphabet = [0, 1, 2].flatMap { version in
            Self.values(of: field).map { Write(field: field, version: version, value: $0) }
        }
        for first in alphabet.indices {
            for second in alphabet.indices[first...] {
                for third in alphabet.indices[second...] {
                    let writes = [first, second, third, first].map { alphabet[$0] }
                    let expected = writes.max(by: Self.isLess)
                    for order in permutations(of: writes) {
                        var registers = Registers<MessageField>()
                        for write in order { registers.write(write) }
                        for write in order { registers.write(write) }
                        #expect(registers[field] == expected?.value, "\(order)")
                        #expect(registers.version(of: field) == expected?.version, "\(order)")
                    }
                }
            }
        }
    }

    // I-5. Fields do not look at each other.
    @Test("random writes to all fields leave the same registers in any order and any grouping")
    func randomOrdersAgree() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            let writes = (0..<12).map { _ in Self.randomWrite(&generator) }
            var straight = Registers<MessageField>()
            for write in writes { straight.write(write) }
            var shuffled = Registers<MessageField>()
            for write in (writes + writes).shuffled(using: &generator) { shuffled.write(write) }
            #expect(straight.present == shuffled.present, "seed \(seed): \(writes)")
            #expect(straight == shuffled, "seed \(seed): \(writes)")
            // Through the store and back in the middle: what is stored is all that counts.
            var restored = Registers<MessageField>()
            for write in writes {
                restored.write(write)
                restored = try restored.storedAndRead()
            }
            #expect(straight.present == restored.present, "seed \(seed): \(writes)")
            #expect(straight == restored, "seed \(seed): \(writes)")
        }
    }

    @Test("an absent value never beats one that is present, however small its version")
    func absentNeverWins() {
        var registers = Registers<MessageField>()
        registers.write(Write(field: .kind, version: 0, value: .text(Array("poll".utf8))))
        registers.write(Write(field: .body, version: 9, value: .text(Array("new".utf8))))
        #expect(registers[.kind] == .text(Array("poll".utf8)))
        #expect(registers.version == 9)
        #expect(registers.presentVersions == [0, 9])
    }

    // M-3
    @Test(
        "two values at one version above 0 contradict each other in the contested fields only",
        arguments: MessageField.allCases
    )
    func conflicts(field: MessageField) {
        let contested: Set<MessageField> = [
            .body, .sender, .incoming, .seq, .attachments, .extra,
        ]
        let values = Self.values(of: field)
        for pair in [values, values.reversed()] {
            var registers = Registers<MessageField>()
            registers.write(Write(field: field, version: 3, value: pair[0]))
            let outcome = registers.write(Write(field: field, version: 3, value: pair[1]))
            let isContested = contested.contains(field)
            // The loser is the same in both orders.
            let loser = Registers<MessageField>.Loser(field: field, version: 3, value: values[0])
            #expect(outcome.losers == (isContested ? [loser] : []))
            #expect((outcome.event(isNews: true) == .quarantined) == isContested)
            #expect(registers[field] == values[1])
        }
    }

    // M-4
    @Test(
        "a provisional value gives way to any other without a conflict",
        arguments: MessageField.allCases
    )
    func provisional(field: MessageField) {
        let values = Self.values(of: field)
        var registers = Registers<MessageField>()
        registers.write(Write(field: field, version: 0, value: values[1]))
        let again = registers.write(Write(field: field, version: 0, value: values[0]))
        #expect(again.losers.isEmpty && !again.changed)
        let real = registers.write(Write(field: field, version: 1, value: values[0]))
        #expect(real.losers.isEmpty && real.changed)
        #expect(registers[field] == values[0])
    }

    // M-3: servers sign addresses anew; only another set of ids is another content.
    @Test("attachments contradict each other by their set of ids, not by addresses or order")
    func attachmentsByID() {
        let first = #"[{"id":"a","url":"1"},{"id":"b"}]"#
        let resigned = #"[{"id":"b"},{"id":"a","url":"2"}]"#
        let other = #"[{"id":"a"}]"#
        #expect(Self.conflict(.attachments, first, resigned) == false)
        #expect(Self.conflict(.attachments, first, other))
        #expect(Self.conflict(.attachments, first, #"[]"#))
    }

    // M-6
    @Test("a recall takes out everything but seq, sender, time and direction")
    func removeContent() {
        var registers = Registers<MessageField>()
        for field in MessageField.allCases {
            registers.write(Write(field: field, version: 4, value: Self.values(of: field)[0]))
        }
        registers.keep(only: MessageField.keptAfterRecall)
        let left = MessageField.allCases.filter { registers[$0] != nil }
        #expect(Set(left) == [.seq, .sender, .sentAt, .incoming])
        registers.keep(only: MessageField.keptWhenGone)
        #expect(registers.present == ["seq@4=\(Self.values(of: .seq)[0])"])
    }

    @Test("versions that differ are stored as exceptions, ascending, and none where all agree")
    func exceptions() {
        var registers = Registers<MessageField>()
        registers.write(Write(field: .seq, version: 7, value: .integer(1)))
        #expect(registers.exceptions == nil)
        registers.write(Write(field: .body, version: 2, value: .text([97])))
        registers.write(Write(field: .kind, version: 0, value: .text([97])))
        let expected = "[[0,\(MessageField.kind.bit)],[2,\(MessageField.body.bit)]]"
        #expect(registers.exceptions == Array(expected.utf8))
    }

    @Test(
        "exceptions that no program wrote are told apart from none",
        arguments: [
            "", "[", "[1,2]", "[[1]]", "[[1,2,3]]", #"[[1,2,"x",3]]"#, #"[["1",2]]"#, "[[1,2]]x",
            "null",
        ]
    )
    func damaged(text: String) {
        let values = [FieldValue?](repeating: nil, count: MessageField.allCases.count)
        #expect(throws: DamagedRegisters.self) {
            try Registers<MessageField>(values: values, version: 1, exceptions: Array(text.utf8))
        }
    }

    // The numbers stand in stores: a change here needs a migration.
    @Test("the bits of stored masks are the ones that were shipped")
    func bitsAreStable() {
        let shipped = [
            "seq", "sender", "sent_at", "kind", "counts", "incoming", "server_at", "client_id",
            "reply_to", "mentions_me", "expires_at", "by", "edited_at", "body", "mentions",
            "attachments", "extra",
        ]
        for (bit, name) in shipped.enumerated() {
            #expect(MessageField(rawValue: bit)?.name == name)
        }
        #expect(MessageField.allCases.count == shipped.count)
    }

    // MARK: - Values

    /// Two values of a field, the smaller first.
    private static func values(of field: MessageField) -> [FieldValue] {
        switch field {
        case .seq, .sentAt, .counts, .incoming, .serverAt, .mentionsMe, .expiresAt, .editedAt:
            [.integer(0), .integer(1)]
        case .attachments:
            [.text(Array(#"[{"id":"a"}]"#.utf8)), .text(Array(#"[{"id":"b"}]"#.utf8))]
        case .extra: [.text(Array(#"{"x":1}"#.utf8)), .text(Array(#"{"x":2}"#.utf8))]
        // One is the beginning of the other, and a byte above 127 sorts after ASCII.
        default: [.text(Array("a".utf8)), .text(Array("aé".utf8))]
        }
    }

    private static func isLess(_ left: Write, _ right: Write) -> Bool {
        left.version == right.version ? left.value < right.value : left.version < right.version
    }

    private static func randomWrite(_ generator: inout SeededGenerator) -> Write {
        // A third of them unknown fields.
        let fields = MessageField.allCases + Array(repeating: .extra, count: 8)
        let field = fields.randomElement(using: &generator) ?? .body
        // Each key of what is unknown is a register of its own.
        let objects = [#"{"x":1}"#, #"{"x":2,"y":1}"#, #"{"y":2}"#, #"{"a":0,"y":1}"#]
        let values =
            field == .extra ? objects.map { .text(Array($0.utf8)) } : values(of: field)
        return Write(
            field: field,
            version: .random(in: 0...3, using: &generator),
            value: values.randomElement(using: &generator) ?? .integer(0)
        )
    }

    private static func conflict(_ field: MessageField, _ left: String, _ right: String) -> Bool {
        var registers = Registers<MessageField>()
        registers.write(Write(field: field, version: 1, value: .text(Array(left.utf8))))
        let outcome = registers.write(
            Write(field: field, version: 1, value: .text(Array(right.utf8)))
        )
        return !outcome.losers.isEmpty
    }
}

extension Registers<MessageField> {
    @discardableResult
    fileprivate mutating func write(_ write: MessageRegistersTests.Write) -> Outcome {
        var outcome = Outcome()
        self.write(write.field, write.value, at: write.version, into: &outcome)
        return outcome
    }

    /// What the registers hold. The version of an absent field means nothing.
    fileprivate var present: [String] {
        MessageField.allCases.compactMap { field in
            self[field].map { "\(field.name)@\(version(of: field))=\($0)" }
        }
    }

    /// The registers as the next transaction finds them.
    fileprivate func storedAndRead() throws -> Registers<MessageField> {
        try Registers<MessageField>(
            values: MessageField.allCases.map { self[$0] },
            version: version,
            exceptions: exceptions
        )
    }
}

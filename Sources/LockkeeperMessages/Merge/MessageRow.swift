import LockkeeperDomain
import LockkeeperSQLite

/// One row of `lk_message` as the merge works on it.
struct MessageRow {
    /// What the column `state` says.
    enum State: Int64 {
        /// It waits for its seq and sender (M-1).
        case waiting = 0
        /// It is shown.
        case shown = 1
        /// It was recalled: it keeps its place without text (M-6).
        case recalled = 2
    }

    /// The largest recall by (version, by).
    struct Recall: Equatable {
        var version: Int64
        var by: [UInt8]?

        func isLess(than other: Recall) -> Bool {
            if version != other.version { return version < other.version }
            return (by ?? []).lexicographicallyPrecedes(other.by ?? [])
        }
    }

    let conversation: Int64
    let messageID: [UInt8]
    var registers: MessageRegisters
    var recall: Recall?

    /// The largest place: where provisional messages stand (M-1).
    static let lastPlace = Int64.max

    init(conversation: Int64, messageID: [UInt8]) {
        self.conversation = conversation
        self.messageID = messageID
        registers = MessageRegisters()
    }

    var seq: Int64? {
        if case .integer(let seq) = registers[.seq] { return seq }
        return nil
    }

    var place: Int64 { seq ?? Self.lastPlace }

    /// A message is shown once seq and sender are known; one whose sender came at version 0 is
    /// provisional and needs no seq.
    var state: State {
        if recall != nil { return .recalled }
        guard registers[.sender] != nil else { return .waiting }
        let isProvisional = registers.version(of: .sender) == 0
        return seq != nil || isProvisional ? .shown : .waiting
    }

    /// Whether it stands in the conversation's order. A recalled one does as soon as its seq and
    /// sender are known.
    var isPlaced: Bool { seq != nil && registers[.sender] != nil || state == .shown }

    /// The version that people see: the largest that wrote something.
    var version: Int64 { max(registers.version, recall?.version ?? 0) }

    /// Whether it counts as unread while it stands above the read position (M-9).
    func counts(ownID: [UInt8]?) -> Bool {
        guard state == .shown else { return false }
        if case .integer(0) = registers[.counts] { return false }
        switch registers[.incoming] {
        case .integer(let incoming): return incoming != 0
        default:
            guard let ownID, case .text(let sender) = registers[.sender] else { return true }
            return sender != ownID
        }
    }

    var mentionsMe: Bool {
        if case .integer(let flag) = registers[.mentionsMe] { return flag != 0 }
        return false
    }

    /// When the server took it, by which conversations are listed (M-14).
    var serverAt: Int64? {
        for field in [MessageField.serverAt, .sentAt] {
            if case .integer(let instant) = registers[field] { return instant }
        }
        return nil
    }
}

extension MessageRow {
    /// Reads a row; its statement selects `id, version, registers, recall_version, recall_by` and
    /// then the registers in the order of `MessageField`.
    ///
    /// - Throws: ``DamagedRegisters``.
    init(
        conversation: Int64,
        messageID: [UInt8],
        reading statement: Statement
    ) throws(DamagedRegisters) {
        let first = 5
        let values = MessageField.allCases.map { field -> FieldValue? in
            let column = first + field.rawValue
            switch statement.kind(column) {
            case .null: return nil
            case .integer: return .integer(statement.int64(column))
            default: return .text(statement.bytes(column))
            }
        }
        self.conversation = conversation
        self.messageID = messageID
        registers = try MessageRegisters(
            values: values,
            version: statement.int64(1),
            exceptions: statement.optionalBytes(2)
        )
        recall = statement.optionalInt64(3).map {
            Recall(version: $0, by: statement.optionalBytes(4))
        }
    }

    /// Binds everything but the id: parameters 1 to 23 as the statements of `MessageTable` name
    /// them.
    func bind(to statement: Statement) throws(SQLiteError) {
        try statement.bind(1, conversation)
        try statement.bind(2, text: messageID)
        try statement.bind(3, state.rawValue)
        try statement.bind(4, registers.version)
        try statement.bind(5, text: registers.exceptions)
        try statement.bind(6, recall?.version)
        try statement.bind(7, text: recall?.by)
        for field in MessageField.allCases {
            let index = 8 + field.rawValue
            switch registers[field] {
            case .integer(let number): try statement.bind(index, number)
            case .text(let bytes): try statement.bind(index, text: bytes)
            case nil: try statement.bindNull(index)
            }
        }
    }
}

/// Whose fault it is that a packet could not be applied.
enum PacketFault {
    /// The packet's: an attempt is counted.
    case packet
    /// The database cannot take anything now, or this process not any more.
    case database
    /// The disk has no room for this one.
    case room

    init(_ error: any Error) {
        guard let error = error as? LockkeeperError else {
            self = error is CancellationError ? .database : .packet
            return
        }
        switch error.code {
        case .diskFull: self = .room
        case .statement, .invalidInput, .contract, .gap: self = .packet
        default: self = .database
        }
    }

    /// A failure's name for a list: a code, or the type of the decoder's error. Its text may hold what
    /// the packet says, and is not kept.
    static func name(of error: any Error) -> String {
        let name =
            (error as? LockkeeperError)?.code.rawValue ?? String(describing: type(of: error))
        return String(name.prefix(nameLengthMax))
    }

    /// Far more than any has.
    private static let nameLengthMax = 128
}

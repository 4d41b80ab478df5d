import Lockkeeper
import LockkeeperDomain

/// How an account is printed.
enum AccountOutput {
    /// Prints an account as one line.
    static func print(_ account: AccountInfo, _ context: CommandContext) throws {
        guard context.options.isJSON else {
            let generation = "generation \(account.generation)"
            let name = terminalID(account.id.description)
            return try context.console.print("\(name)  \(account.state.rawValue)  \(generation)")
        }
        try context.console.print { writer in
            writer.beginVersionedObject()
            writer.member("account", account.id)
            writer.member("state", account.state.rawValue)
            writer.member("generation", account.generation.rawValue)
            writer.key("own_id")
            if let ownID = account.ownID { writer.string(utf8: ownID) } else { writer.null() }
            writer.key("contract")
            write(account.contract, into: &writer)
            writer.endObject()
        }
    }

    private static func write(_ contract: ServerContract, into writer: inout JSONWriter) {
        writer.beginObject()
        writeMembers(of: contract.delivery, into: &writer)
        writer.member("refuses_doubles", contract.refusesDoubles)
        writer.member("order", contract.order.rawValue)
        writer.member("authority", contract.authority.rawValue)
        writer.key("streams")
        writer.beginObject()
        for (stream, contract) in contract.streams.sorted(by: { $0.key < $1.key }) {
            writer.key(stream.description)
            writer.beginObject()
            writeMembers(of: contract, into: &writer)
            writer.endObject()
        }
        writer.endObject()
        writer.endObject()
    }

    private static func writeMembers(of contract: StreamContract, into writer: inout JSONWriter) {
        writer.member("redelivers", contract.redelivers)
        writer.member("resumes_from_cursor", contract.resumesFromCursor)
        writer.member("retention", contract.retention.rawValue)
        writer.member("keeps_for_ms", contract.keepsFor.map { Int64($0.milliseconds) })
        writer.member("scope", contract.scope.rawValue)
        writer.member("unknown_cursor", contract.unknownCursor.rawValue)
    }
}

import LockkeeperDomain

/// What an account's own folder says about the account, so that a lost registry can be made anew: the
/// file `account.json`, one JSON object.
///
/// | field | value |
/// |---|---|
/// | `v` | 1 |
/// | `directory` | the name of the folder, so that a copy of it under another name is no account |
/// | `birth` | the generation that was taken when the account was added |
/// | `id`, `own_id` | bytes in hexadecimal; `own_id` may be null |
/// | `contract` | as in the registry |
/// | `created_at` | milliseconds since 1970 |
/// | `messages`, `settings` | the numbers of the current files, 0 before there is one |
/// | `removing` | whether the account is being removed |
///
/// Generation and state are not in it: they change often, and the files' fences have them. The numbers
/// are: a copy that was never published looks like a newer file. So nothing is written to a file
/// before its number stands here, and the file that stands here has everything that was written.
///
/// Version rule: as for the contract; another `v` is not read.
package struct AccountCharter: Sendable, Hashable {
    /// What the registry says of the account; state and generation are left out.
    package let record: AccountRecord
    /// Whether the account is being removed.
    package let isRemoving: Bool

    /// The charter of an account.
    package init(_ record: AccountRecord, isRemoving: Bool = false) {
        self.record = record
        self.isRemoving = isRemoving
    }

    /// The file's content. Equal charters have equal bytes.
    package var bytes: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("v")
        writer.integer(1)
        writer.key("directory")
        writer.string(record.directory)
        writer.key("birth")
        writer.integer(record.birth.rawValue)
        writer.key("id")
        writer.string(record.id.bytes.hexadecimal)
        writer.key("own_id")
        if let ownID = record.ownID { writer.string(ownID.hexadecimal) } else { writer.null() }
        writer.key("contract")
        ContractCodec.write(record.contract, into: &writer)
        writer.key("created_at")
        writer.integer(record.createdAt)
        writer.key("messages")
        writer.integer(record.messagesFile)
        writer.key("settings")
        writer.integer(record.settingsFile)
        writer.key("removing")
        writer.bool(isRemoving)
        writer.endObject()
        writer.endLine()
        return writer.bytes
    }

    /// Reads a file's content; `nil` for what is none, and for one that was copied there.
    ///
    /// - Parameter directory: the name of the folder in which it was found.
    package init?(_ bytes: [UInt8], in directory: String) {
        let fields = bytes.withUnsafeBytes { bytes in
            var scanner = JSONScanner(bytes)
            return try? Fields(&scanner)
        }
        guard let fields, fields.version == 1, fields.directory == directory, let id = fields.id,
            let account = try? AccountID(bytes: id), let contract = fields.contract
        else { return nil }
        record = AccountRecord(
            id: account,
            directory: directory,
            birth: Generation(fields.birth),
            ownID: fields.ownID,
            contract: contract,
            messagesFile: fields.messages,
            settingsFile: fields.settings,
            createdAt: fields.createdAt
        )
        isRemoving = fields.isRemoving
    }

    /// The fields as they are read.
    private struct Fields {
        var version: Int64 = 0
        var directory = ""
        var birth: Int64 = 0
        var id: [UInt8]?
        var ownID: [UInt8]?
        var contract: ServerContract?
        var createdAt: Int64 = 0
        var messages: Int64 = 0
        var settings: Int64 = 0
        var isRemoving = false

        init(_ scanner: inout JSONScanner) throws(JSONError) {
            try scanner.beginObject()
            while let key = try scanner.nextKey() {
                if scanner.matches(key, "v") {
                    version = try scanner.readInteger()
                } else if scanner.matches(key, "directory") {
                    directory = try scanner.readString()
                } else if scanner.matches(key, "birth") {
                    birth = try scanner.readInteger()
                } else if scanner.matches(key, "id") {
                    id = [UInt8](hexadecimal: try scanner.readString())
                } else if scanner.matches(key, "own_id") {
                    if try !scanner.readNull() {
                        ownID = [UInt8](hexadecimal: try scanner.readString())
                    }
                } else if scanner.matches(key, "contract") {
                    contract = try ContractCodec.read(&scanner)
                } else if scanner.matches(key, "created_at") {
                    createdAt = try scanner.readInteger()
                } else if scanner.matches(key, "messages") {
                    messages = try scanner.readInteger()
                } else if scanner.matches(key, "settings") {
                    settings = try scanner.readInteger()
                } else if scanner.matches(key, "removing") {
                    isRemoving = try scanner.readBool()
                } else {
                    _ = try scanner.nextValue()
                }
            }
            try scanner.finish()
        }
    }
}

import LockkeeperDomain

/// How a command line says what a server promises of its streams.
enum StreamContractArguments {
    /// The options that hold for every stream.
    static let options: [OptionSpecification] = [
        .value(
            "retention",
            "keeps|drops",
            "what the server does with what is acknowledged [keeps]"
        ),
        .flag("no-redelivery", "the server does not send again what was not acknowledged"),
        .flag("no-resume", "the server cannot be asked again from a cursor"),
        .value("keeps-for", "SECONDS", "how long the server keeps what was not fetched [for ever]"),
        .value("scope", "device|account", "for whom the server keeps the place [device]"),
        .value(
            "unknown-cursor",
            "refuses|restarts|skips",
            "what becomes of a cursor that it forgot [refuses]"
        ),
    ]

    /// What the options say.
    static func delivery(_ arguments: Arguments) throws(UsageError) -> StreamContract {
        StreamContract(
            redelivers: !arguments.flag("no-redelivery"),
            resumesFromCursor: !arguments.flag("no-resume"),
            retention: try arguments.choice("retention", of: StreamContract.Retention.self)
                ?? .keeps,
            keepsFor: try arguments.integer("keeps-for", in: 1...Int64(Int32.max))
                .map { .seconds($0) },
            scope: try arguments.choice("scope", of: StreamContract.Scope.self) ?? .device,
            unknownCursor: try arguments.choice(
                "unknown-cursor",
                of: StreamContract.UnknownCursor.self
            ) ?? .refuses
        )
    }

    /// What `push:no-redelivery,no-resume history:keeps-for=60` says: the options without their
    /// hyphens.
    static func streams(_ text: String) throws(UsageError) -> [StreamID: StreamContract] {
        var streams: [StreamID: StreamContract] = [:]
        for entry in text.split(separator: " ") {
            // A stream's name may have a colon; a word has none.
            guard let colon = entry.lastIndex(of: ":"),
                let stream = try? StreamID(entry[..<colon])
            else {
                throw UsageError("--streams names streams as NAME:WORD,WORD, not '\(entry)'.")
            }
            let words = entry[entry.index(after: colon)...].split(separator: ",")
            let arguments = try Arguments(words.map { "--\($0)" }, options: options)
            guard streams.updateValue(try delivery(arguments), forKey: stream) == nil else {
                throw UsageError("--streams names '\(stream)' twice.")
            }
        }
        return streams
    }
}

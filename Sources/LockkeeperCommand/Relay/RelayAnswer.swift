import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform

/// What a program answered about what it was told.
enum RelayAnswer: Sendable, Hashable {
    /// It is done; of a message, under which id and at which place the server has it, of a change at
    /// which version.
    case confirmed(id: MessageID?, sequence: Int64?, serverAt: Timestamp?, version: Int64?)
    /// It was not done and may be tried again.
    case failed(String, retryAfter: Duration?)
    /// It can never be done.
    case refused(String)
    /// Nobody knows; why there is no answer.
    case none(String)
    /// As far as one can see the program could not be started; how it ended.
    case notStarted(String)

    /// Reads an ending: the answer line where there is one, whatever the exit code; else the exit code
    /// 75, "try again", which says that nothing was done. Everything else is no answer.
    init(_ ending: RelayedCommand.Result) {
        if let line = ending.answer {
            do {
                self = try Self.read(line)
            } catch {
                self = .none("the answer cannot be read: \(error)")
            }
        } else if ending.status == .exited(ExitCode.tryAgain.rawValue) {
            self = .failed("the program asked to be called again", retryAfter: nil)
        } else if ending.status == .exited(126) || ending.status == .exited(127) {
            // So a shell, `env` and their like say that they could not start a program. A script may end
            // so too, after it has told somebody.
            self = .notStarted("the program gave no answer and \(ending.status.sentence)")
        } else if ending.wasTooSlow {
            self = .none("the program took too long")
        } else {
            self = .none("the program gave no answer and \(ending.status.sentence)")
        }
    }

    /// Why an answer cannot be used.
    private struct Unusable: Error, CustomStringConvertible {
        let description: String
    }

    private struct Members {
        var id: MessageID?
        var sequence: Int64?
        var serverAt: Timestamp?
        var version: Int64?
        var failed: String?
        var refused: String?
        var retryAfter: Duration?

        mutating func take(_ key: JSONKey, _ value: JSONSlice, _ scanner: JSONScanner) throws {
            if scanner.matches(key, "id") {
                id = try MessageID(bytes: try scanner.stringBytes(value))
            } else if scanner.matches(key, "seq") {
                let number = try scanner.integer(value)
                // A place that no message can have is no confirmation of one.
                guard number > 0 else { throw Unusable(description: "seq is not above 0") }
                sequence = number
            } else if scanner.matches(key, "version") {
                let number = try scanner.integer(value)
                guard number > 0 else { throw Unusable(description: "version is not above 0") }
                version = number
            } else if scanner.matches(key, "server_at") {
                serverAt = try Timestamp(try scanner.string(value))
            } else if scanner.matches(key, "failed") {
                failed = try scanner.string(value)
            } else if scanner.matches(key, "refused") {
                refused = try scanner.string(value)
            } else if scanner.matches(key, "retry_after_ms") {
                let milliseconds = try scanner.integer(value)
                guard milliseconds >= 0 else {
                    throw Unusable(description: "retry_after_ms is not negative")
                }
                retryAfter = .milliseconds(milliseconds)
            }
        }
    }

    private static func read(_ line: [UInt8]) throws -> RelayAnswer {
        let members = try line.withUnsafeBytes { bytes in
            var members = Members()
            var scanner = JSONScanner(bytes)
            try scanner.beginObject()
            while let key = try scanner.nextKey() {
                // What is not known is passed over.
                try members.take(key, try scanner.nextValue(), scanner)
            }
            try scanner.finish()
            return members
        }
        switch (members.failed, members.refused) {
        case (let reason?, nil): return .failed(reason, retryAfter: members.retryAfter)
        case (nil, let reason?): return .refused(reason)
        case (nil, nil):
            return .confirmed(
                id: members.id,
                sequence: members.sequence,
                serverAt: members.serverAt,
                version: members.version
            )
        case (_?, _?): throw Unusable(description: "it says both failed and refused")
        }
    }
}

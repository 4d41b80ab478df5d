import Glibc
import LockkeeperMessages

/// The real chat logs, which stand beside the package where they are present.
enum ChatData {
    /// The events of a file; `nil`, with a message, where it is not there.
    static func events(of name: String) throws -> [Event]? {
        guard let bytes = bytes(of: name) else { return nil }
        var decoder = EventDecoder()
        return try bytes.split(separator: UInt8(ascii: "\n")).map {
            try decoder.decode(line: Array($0))
        }
    }

    /// The state that a file's events must end in; `nil`, with a message, where it is not there.
    static func expected(of name: String) throws -> Expected? {
        guard let bytes = bytes(of: "\(name).expected.json") else { return nil }
        return Expected(String(decoding: bytes, as: UTF8.self))
    }

    /// What an expected state says of the whole.
    struct Expected {
        let stateDigest: String?
        let cursor: String?

        fileprivate init(_ json: String) {
            stateDigest = Self.text("state_sha256", in: json)
            cursor = Self.text("cursor", in: json)
        }

        /// The text of a member: these files are written by hand, with one member a line.
        private static func text(_ name: String, in json: String) -> String? {
            guard
                let line = json.split(separator: "\n").first(where: { $0.contains("\"\(name)\"") })
            else { return nil }
            return line.split(separator: "\"").dropFirst(3).first.map(String.init)
        }
    }

    /// A file's bytes; `nil`, with a message, where it is not there.
    static func bytes(of name: String) -> [UInt8]? {
        // This file is four folders below the package.
        let parts = #filePath.split(separator: "/").dropLast(4)
        let path = "/" + parts.joined(separator: "/") + "/../shared/data/" + name
        // The large log is there in packed form alone.
        let isPacked = access(path, R_OK) != 0 && access(path + ".gz", R_OK) == 0
        guard let file = isPacked ? popen("gzip -dc '\(path).gz'", "r") : fopen(path, "r") else {
            print("skipped: ../shared/data/\(name) is not there")
            return nil
        }
        defer { _ = isPacked ? pclose(file) : fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = fread(&chunk, 1, chunk.count, file)
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
        }
    }
}

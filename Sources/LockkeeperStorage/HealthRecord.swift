package import LockkeeperDomain
import LockkeeperPlatform

/// What inspections of an account found when they were last run: the file `health.json` in its folder.
///
/// It is for people and for `status`; nothing is decided by it, and losing it loses nothing. One JSON
/// object with a member for each level and database, `"messages-quick"` for example:
///
/// | field | value |
/// |---|---|
/// | `at` | when it ended, in milliseconds since 1970 |
/// | `duration_ms` | how long it took |
/// | `found` | how many findings there were |
/// | `codes` | their codes, each once |
package struct HealthRecord: Sendable, Hashable {
    /// How one inspection ended.
    package struct Result: Sendable, Hashable {
        /// When it ended, in milliseconds of the wall clock.
        package var at: Int64 = 0
        /// How long it took, in milliseconds.
        package var duration: Int64 = 0
        /// How many findings there were.
        package var found: Int64 = 0
        /// Their codes, each once.
        package var codes: [String] = []

        /// A result of its parts.
        package init(at: Int64, duration: Int64, found: Int64, codes: [String]) {
            self.at = at
            self.duration = duration
            self.found = found
            self.codes = codes
        }

        init(_ scanner: inout JSONScanner) throws(JSONError) {
            try scanner.beginObject()
            while let key = try scanner.nextKey() {
                if scanner.matches(key, "at") {
                    at = try scanner.readInteger()
                } else if scanner.matches(key, "duration_ms") {
                    duration = try scanner.readInteger()
                } else if scanner.matches(key, "found") {
                    found = try scanner.readInteger()
                } else if scanner.matches(key, "codes") {
                    codes = try scanner.readString().split(separator: " ").map(String.init)
                } else {
                    _ = try scanner.nextValue()
                }
            }
        }

        fileprivate func write(into writer: inout JSONWriter) {
            writer.beginObject()
            writer.key("at")
            writer.integer(at)
            writer.key("duration_ms")
            writer.integer(duration)
            writer.key("found")
            writer.integer(found)
            writer.key("codes")
            writer.string(codes.joined(separator: " "))
            writer.endObject()
        }
    }

    /// The last results of the levels that are not part of every opening.
    private var results: [String: Result] = [:]

    /// The last result of a level.
    package subscript(kind: StoreKind, level: StoreInspection.Level) -> Result? {
        get { results[Self.key(kind, level)] }
        set { results[Self.key(kind, level)] = newValue }
    }

    /// Reads the file in an account's folder; empty where there is none, or none that can be read.
    package init(at path: String) {
        guard let bytes = try? FileSystem.contents(of: path, limit: 65_536) else { return }
        let read = bytes.withUnsafeBytes { bytes in
            var scanner = JSONScanner(bytes)
            return try? Self.read(&scanner)
        }
        results = read ?? [:]
    }

    /// Writes the file.
    ///
    /// - Throws: ``StorageError/system(_:)``: what the kernel refuses, a full disk for example.
    package func write(to path: String) throws(StorageError) {
        var writer = JSONWriter()
        writer.beginObject()
        for kind in StoreKind.allCases {
            for level in [StoreInspection.Level.quick, .deep] {
                guard let result = self[kind, level] else { continue }
                writer.key(Self.key(kind, level))
                result.write(into: &writer)
            }
        }
        writer.endObject()
        writer.endLine()
        let bytes = writer.bytes
        try system { () throws(SystemCallError) in try FileSystem.replaceFile(at: path, with: bytes)
        }
    }

    private static func read(
        _ scanner: inout JSONScanner
    ) throws(JSONError) -> [String: Result] {
        var results: [String: Result] = [:]
        try scanner.beginObject()
        while let key = try scanner.nextKey() {
            var known: String?
            for name in keys where scanner.matches(key, name) { known = "\(name)" }
            if let known {
                results[known] = try Result(&scanner)
            } else {
                _ = try scanner.nextValue()
            }
        }
        try scanner.finish()
        return results
    }

    private static let keys: [StaticString] = [
        "messages-quick", "messages-deep", "settings-quick", "settings-deep",
    ]

    private static func key(_ kind: StoreKind, _ level: StoreInspection.Level) -> String {
        "\(kind.rawValue)-\(level.name)"
    }
}

import CLockkeeperPlatform
import Glibc

/// What the process was started with.
package enum Environment {
    /// The effective user.
    package static var userID: UInt32 { geteuid() }

    /// The file name of the running program, for people.
    package static var programName: String {
        let path = linkTarget("/proc/self/exe") ?? CommandLine.arguments.first ?? "unknown"
        return path.split(separator: "/").last.map(String.init) ?? path
    }

    /// The path of the running program; `nil` where `/proc` does not say.
    package static var programPath: String? { linkTarget("/proc/self/exe") }

    /// An environment variable; `nil` where it is not set.
    package static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    /// All of the environment as "NAME=value".
    static var all: [String] {
        var lines: [String] = []
        guard var entry = lk_environ() else { return lines }
        while let line = entry.pointee {
            lines.append(String(cString: line))
            entry += 1
        }
        return lines
    }

    private static func linkTarget(_ path: String) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { buffer in
            guard let start = buffer.baseAddress else { return nil }
            let count = readlink(path, start, buffer.count)
            guard count > 0 else { return nil }
            return String(
                decoding: buffer[..<count].lazy.map { UInt8(bitPattern: $0) },
                as: UTF8.self
            )
        }
    }
}

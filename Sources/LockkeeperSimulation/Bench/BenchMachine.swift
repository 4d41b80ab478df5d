import Lockkeeper
package import LockkeeperDomain
import LockkeeperPlatform

/// What a benchmark ran on. Its figures are ratios because of this, and mean little without it.
package struct BenchMachine: Sendable, Hashable {
    /// The processor's name.
    package let processor: String
    /// Processors that the system has.
    package let processorCount: Int
    /// The kernel's release.
    package let kernel: String
    /// The version of SQLite that is in use.
    package let sqliteVersion: String
    /// The file system under the folder of the benchmark.
    package let fileSystem: String
    /// What it takes to append 4 KiB to a file and have them on disk: the median of many.
    package let sync: Duration
    /// The commit of the tree that the program was built in; `nil` where it lies in none.
    package let commit: String?
    /// Whether the program was built for speed.
    package let isOptimized: Bool

    /// Looks at the machine and tries the disk under a folder. Blocks the thread.
    ///
    /// - Parameters:
    ///   - program: the path of `lockkeeper`.
    ///   - syncCount: how often the disk is tried.
    /// - Throws: ``SystemCallError`` where the folder cannot be written to.
    package init(at folder: String, program: String, syncCount: Int = 100) throws {
        let information = Self.text("/proc/cpuinfo").split(separator: "\n")
        let name = information.first { $0.hasPrefix("model name") }?.split(separator: ":").last
        processor = name.map { String($0.drop { $0 == " " }) } ?? "unknown processor"
        processorCount = max(1, information.count { $0.hasPrefix("processor") })
        kernel =
            Self.text("/proc/sys/kernel/osrelease").split(separator: "\n").first.map(
                String.init
            ) ?? "unknown"
        sqliteVersion = Workspace.sqliteVersion
        fileSystem = try FileSystem.fileSystemKind(at: folder).name
        sync = try Self.measureSync(in: folder, syncCount)
        commit = Self.commit(above: program)
        isOptimized = Self.wasOptimized
    }

    /// The machine as a line for people.
    package var sentence: String {
        let built = isOptimized ? "" : "; NOT a release build: no figure counts"
        return "\(processorCount) × \(processor), Linux \(kernel), SQLite \(sqliteVersion),"
            + " \(fileSystem), a sync takes \(decimal(sync.milliseconds)) ms, commit"
            + " \(commit.map { String($0.prefix(12)) } ?? "unknown")\(built)"
    }

    /// Writes it as one JSON object.
    package func write(into writer: inout JSONWriter) {
        writer.beginObject()
        for (key, text) in [
            ("processor", processor), ("kernel", kernel), ("sqlite", sqliteVersion),
            ("file_system", fileSystem),
        ] {
            writer.key(key)
            writer.string(text)
        }
        writer.key("processors")
        writer.integer(processorCount)
        writer.key("sync_ms")
        writer.double((sync.milliseconds * 1000).rounded() / 1000)
        writer.key("commit")
        if let commit { writer.string(commit) } else { writer.null() }
        writer.key("release_build")
        writer.bool(isOptimized)
        writer.endObject()
    }

    private static func measureSync(in folder: String, _ count: Int) throws -> Duration {
        let path = "\(folder)/sync-trial"
        defer { _ = try? FileSystem.remove(path) }
        let file = try FileDescriptor(opening: path, [.create, .readWrite])
        let block = [UInt8](repeating: 1, count: 4096)
        let clock = SystemClock()
        var times: [Duration] = []
        for _ in 0..<count {
            let start = clock.now()
            try file.write(block)
            try file.sync()
            times.append(clock.now().duration(since: start))
        }
        return median(times)
    }

    /// The commit that is checked out in the folder, or one above it, in which a program lies.
    private static func commit(above program: String) -> String? {
        var folder = FileSystem.directory(of: program)
        while folder.count > 1 {
            let head = text("\(folder)/.git/HEAD").split(separator: "\n").first.map(String.init)
            if let head {
                guard head.hasPrefix("ref: ") else { return head }
                let name = String(head.dropFirst(5))
                let own = text("\(folder)/.git/\(name)").split(separator: "\n").first
                if let own { return String(own) }
                let packed = text("\(folder)/.git/packed-refs").split(separator: "\n")
                let line = packed.first { $0.hasSuffix(" \(name)") }
                return line?.split(separator: " ").first.map(String.init)
            }
            folder = FileSystem.directory(of: folder)
        }
        return nil
    }

    /// The text of a file that may not be there.
    private static func text(_ path: String) -> String {
        guard let bytes = try? FileSystem.contents(of: path) else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static var wasOptimized: Bool {
        // An assertion's condition is evaluated in a debug build alone.
        var optimized = true
        assert(
            {
                optimized = false; return true
            }()
        )
        return optimized
    }
}

import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperState

/// Stores and reads content of several sizes, in the database and in files of their own, in turn: where
/// the border between the two should be.
package struct MediaRun: Sendable {
    private let countPerSize: Int
    private let repeatCount: Int
    private let site: BenchSite

    /// A run that has not begun.
    ///
    /// - Parameter countPerSize: files of each size and round.
    package init(countPerSize: Int, repeatCount: Int, at site: BenchSite) {
        precondition(countPerSize > 0 && repeatCount > 0, "something is measured")
        self.countPerSize = countPerSize
        self.repeatCount = repeatCount
        self.site = site
    }

    private static let sizes = [1, 4, 16, 32, 64, 128, 256, 1024].map { $0 * 1024 }
    private static let account: AccountID = "bench"

    /// Measures all sizes.
    ///
    /// - Throws: what the store throws.
    package func run() async throws -> BenchReport {
        try await site.withFolder("media") { folder in
            let workspace = try await Workspace.openApart(
                at: folder,
                name: "bench",
                role: .tool,
                schemas: [.state]
            )
            do {
                try await workspace.addAccount(Self.account)
                let session = try await workspace.activate(Self.account)
                var figures: [BenchFigure] = []
                for size in Self.sizes { figures += try await measure(size, session) }
                await workspace.close()
                return BenchReport(
                    "media",
                    "in the database against files of their own, \(countPerSize) files each,"
                        + " \(repeatCount) rounds",
                    figures
                )
            } catch {
                await workspace.close()
                throw error
            }
        }
    }

    /// The milliseconds that one file took, round by round.
    private struct Times {
        var stored: [Double] = []
        var read: [Double] = []
    }

    private func measure(_ byteCount: Int, _ session: Session) async throws -> [BenchFigure] {
        var (inline, files) = (Times(), Times())
        for round in 0..<repeatCount {
            for isInline in [true, false] {
                let media = try await MediaStore(session, inlineByteCountMax: isInline ? .max : -1)
                let ids = try (0..<countPerSize).map {
                    try MediaID("\(byteCount)-\(isInline)-\(round)-\($0)")
                }
                let contents = ids.indices.map { Self.content(byteCount, round * 1000 + $0) }
                let stored = try await time {
                    for (id, content) in zip(ids, contents) {
                        try await media.add(id, .bytes(content))
                    }
                }
                let read = try await time {
                    for id in ids { _ = try await media.content(of: id) }
                }
                var times = isInline ? inline : files
                times.stored.append((stored / countPerSize).milliseconds)
                times.read.append((read / countPerSize).milliseconds)
                if isInline { inline = times } else { files = times }
                for id in ids { try await media.evict(id) }
            }
        }
        let size = "\(byteCount / 1024) KiB"
        return [
            BenchFigure("\(size) stored", .milliseconds, inline.stored, against: files.stored),
            BenchFigure("\(size) read", .milliseconds, inline.read, against: files.read),
        ]
    }

    private func time(_ body: () async throws -> Void) async throws -> Duration {
        let clock = SystemClock()
        let start = clock.now()
        try await body()
        return clock.now().duration(since: start)
    }

    /// Content that differs by its number, so that none is there already.
    private static func content(_ byteCount: Int, _ number: Int) -> [UInt8] {
        var generator = SeededGenerator(seed: UInt64(number))
        return (0..<byteCount).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }
}

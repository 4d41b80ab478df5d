import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperState

/// Stores and reads content of several sizes, in the database and in files of their own, in turn: where
/// the border between the two should be.
package struct MediaRun: Sendable {
    private let root: String
    private let countPerSize: Int
    private let repeatCount: Int

    /// A run in an empty folder.
    package init(root: String, countPerSize: Int, repeatCount: Int) {
        self.root = root
        self.countPerSize = countPerSize
        self.repeatCount = repeatCount
    }

    /// The medians for one size, per file.
    package struct Row: Sendable {
        /// Bytes of content.
        package let byteCount: Int
        /// Storing it durably: in the database, in a file.
        package let stored: (inline: Duration, file: Duration)
        /// Reading it with its digest: in the database, in a file.
        package let read: (inline: Duration, file: Duration)
    }

    private static let sizes = [1, 4, 16, 32, 64, 128, 256, 1024].map { $0 * 1024 }
    private static let account: AccountID = "bench"

    /// Measures all sizes.
    package func run() async throws -> [Row] {
        let workspace = try await Workspace.openApart(
            at: root,
            name: "bench",
            role: .tool,
            schemas: [.state]
        )
        do {
            if try await workspace.accounts().isEmpty {
                try await workspace.addAccount(Self.account)
            }
            let session = try await workspace.activate(Self.account)
            var rows: [Row] = []
            for size in Self.sizes { rows.append(try await measure(size, session)) }
            await workspace.close()
            return rows
        } catch {
            await workspace.close()
            throw error
        }
    }

    private func measure(_ byteCount: Int, _ session: Session) async throws -> Row {
        var times: [[Duration]] = [[], [], [], []]
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
                times[isInline ? 0 : 1].append(stored / countPerSize)
                times[isInline ? 2 : 3].append(read / countPerSize)
                for id in ids { try await media.evict(id) }
            }
        }
        let medians = times.map { $0.sorted()[$0.count / 2] }
        return Row(
            byteCount: byteCount,
            stored: (medians[0], medians[1]),
            read: (medians[2], medians[3])
        )
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

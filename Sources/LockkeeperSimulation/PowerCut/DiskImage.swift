import LockkeeperDomain
package import LockkeeperPlatform
package import LockkeeperTesting

/// The files of a store as a disk may hold them after the power went.
///
/// What a sync has covered is there. Of the rest each write is there, is not, or is torn: each of
/// its sectors is there or not. A truncation is one step of the file system: it happened or not, and
/// where it did not, nothing that was written to the file behind it did either.
package struct DiskImage: Sendable, Hashable {
    /// The files' contents by their paths.
    package private(set) var files: [String: [UInt8]]

    /// What becomes of the writes that no sync has covered.
    package enum Fate: Sendable, Hashable {
        /// None is on the disk: the kernel had written nothing back.
        case lost
        /// All are: as after the death of all processes.
        case kept
        /// Each is lost, kept or torn, as a seed says. How many are kept differs from seed to seed.
        case drawn(seed: UInt64)
    }

    /// What a disk reads or writes whole.
    package static let sectorByteCount = 512

    /// The image after a recording whose power went behind its first `end` steps.
    package init(of recorded: RecordedWrites, cutAt end: Int, fate: Fate) {
        files = recorded.initial
        let isCertain = recorded.isCertain(before: end)
        var lot = Lot(fate)
        var pathsWithoutTruncation: Set<String> = []
        for (index, step) in recorded.steps[..<end].enumerated() {
            guard let path = step.path else { continue }
            let isCertain = isCertain[index]
            if isCertain { pathsWithoutTruncation.remove(path) }
            let isShut = pathsWithoutTruncation.contains(path)
            switch step {
            case .open(let path):
                if files[path] == nil { files[path] = [] }
            case .write(_, let offset, let bytes):
                if isCertain {
                    write(bytes, to: path, at: offset)
                } else if !isShut {
                    writeSome(bytes, to: path, at: offset, &lot)
                }
            case .truncate(_, let size):
                if isCertain || !isShut && lot.keeps() {
                    truncate(path, to: size)
                } else {
                    pathsWithoutTruncation.insert(path)
                }
            case .delete:
                if isCertain || !isShut && lot.keeps() { files[path] = nil }
            case .sync, .mark: break
            }
        }
    }

    /// Writes the files out, each under its own name in a folder, so that they can be opened.
    ///
    /// - Throws: `SystemCallError` when the kernel refuses.
    package func write(to folder: String) throws(SystemCallError) {
        for (path, bytes) in files {
            let name = path.split(separator: "/").last.map(String.init) ?? path
            let file = try FileDescriptor(
                opening: "\(folder)/\(name)",
                [.writeOnly, .create, .truncate]
            )
            try file.write(bytes)
        }
    }

    /// Writes each sector or not.
    private mutating func writeSome(
        _ bytes: [UInt8],
        to path: String,
        at offset: Int,
        _ lot: inout Lot
    ) {
        switch lot.draw() {
        case .lost: break
        case .kept: write(bytes, to: path, at: offset)
        case .torn:
            var start = offset
            while start < offset + bytes.count {
                let sectorEnd = (start / Self.sectorByteCount + 1) * Self.sectorByteCount
                let end = min(sectorEnd, offset + bytes.count)
                if lot.keeps() {
                    write(Array(bytes[(start - offset)..<(end - offset)]), to: path, at: start)
                }
                start = end
            }
        }
    }

    private mutating func write(_ bytes: [UInt8], to path: String, at offset: Int) {
        let end = offset + bytes.count
        let size = files[path, default: []].count
        if size < end {
            files[path, default: []].append(contentsOf: repeatElement(0, count: end - size))
        }
        files[path]?.replaceSubrange(offset..<end, with: bytes)
    }

    private mutating func truncate(_ path: String, to size: Int) {
        let present = files[path, default: []].count
        if present > size {
            files[path]?.removeLast(present - size)
        } else {
            files[path, default: []].append(contentsOf: repeatElement(0, count: size - present))
        }
    }
}

/// Draws what becomes of a write.
private struct Lot {
    enum Outcome { case lost, kept, torn }

    private let fate: DiskImage.Fate
    private var generator: SeededGenerator
    /// Of a hundred writes, how many are kept and how many torn.
    private let keptPercent: Int
    private let tornPercent: Int

    init(_ fate: DiskImage.Fate) {
        self.fate = fate
        if case .drawn(let seed) = fate {
            generator = SeededGenerator(seed: seed)
            keptPercent = Int.random(in: 0...100, using: &generator)
            tornPercent = Int.random(in: 0...(100 - keptPercent), using: &generator)
        } else {
            generator = SeededGenerator(seed: 0)
            (keptPercent, tornPercent) = (0, 0)
        }
    }

    mutating func draw() -> Outcome {
        switch fate {
        case .lost: return .lost
        case .kept: return .kept
        case .drawn:
            let draw = Int.random(in: 0..<100, using: &generator)
            return draw < keptPercent ? .kept : draw < keptPercent + tornPercent ? .torn : .lost
        }
    }

    /// For what is there or not.
    mutating func keeps() -> Bool {
        switch fate {
        case .lost: false
        case .kept: true
        case .drawn: Bool.random(using: &generator)
        }
    }
}

import LockkeeperSimulation
import LockkeeperTesting
import Testing

@Suite("Images of a disk after a power cut: what they hold, and what they may lack")
struct DiskImageTests {
    private let path = "/store/messages.db"

    private func page(_ byte: UInt8, count: Int = 4096) -> [UInt8] {
        Array(repeating: byte, count: count)
    }

    private func contents(
        of recorded: RecordedWrites,
        cutAt end: Int? = nil,
        _ fate: DiskImage.Fate
    ) -> [UInt8]? {
        DiskImage(of: recorded, cutAt: end ?? recorded.steps.count, fate: fate).files[path]
    }

    /// What seeds make of a recording.
    private func outcomes(of recorded: RecordedWrites, cutAt end: Int? = nil) -> Set<[UInt8]?> {
        Set((0..<300).map { contents(of: recorded, cutAt: end, .drawn(seed: UInt64($0))) })
    }

    @Test("what a sync has covered is there whatever becomes of the rest")
    func synced() {
        let recorded = RecordedWrites(steps: [
            .open(path), .write(path, offset: 0, bytes: page(1)),
            .sync(path, coveredCount: 2, succeeded: true),
        ])
        #expect(outcomes(of: recorded) == [page(1)])
        #expect(contents(of: recorded, .lost) == page(1))
    }

    @Test("a write without a sync is there, is not, or is torn at a sector")
    func unsynced() {
        let recorded = RecordedWrites(
            initial: [path: page(7)],
            steps: [.write(path, offset: 0, bytes: page(1))]
        )
        #expect(contents(of: recorded, .lost) == page(7))
        #expect(contents(of: recorded, .kept) == page(1))
        let outcomes = outcomes(of: recorded)
        #expect(outcomes.isSuperset(of: [page(7), page(1)]))
        #expect(outcomes.count > 10)
        for case let bytes? in outcomes {
            for start in stride(from: 0, to: 4096, by: 512) {
                #expect(Set(bytes[start..<(start + 512)]).count == 1, "torn within a sector")
            }
        }
    }

    @Test("a sync covers nothing that was written after it began, and nothing before it has ended")
    func syncBeside() {
        let recorded = RecordedWrites(steps: [
            .open(path), .write(path, offset: 0, bytes: page(1)),
            .write(path, offset: 4096, bytes: page(2)),
            .sync(path, coveredCount: 2, succeeded: true),
        ])
        #expect(contents(of: recorded, .lost) == page(1))
        #expect(contents(of: recorded, cutAt: 3, .lost) == [])
    }

    @Test("a sync of one file covers no other file's writes")
    func otherFile() {
        let recorded = RecordedWrites(steps: [
            .open(path), .write(path, offset: 0, bytes: page(1)),
            .sync(path + "-wal", coveredCount: 2, succeeded: true),
        ])
        #expect(contents(of: recorded, .lost) == [])
    }

    // 5.2: "no later sync, reopening or buffered read can tell".
    @Test("what was written before a failed sync is never certain, whatever is synced later")
    func failedSync() {
        let recorded = RecordedWrites(steps: [
            .open(path), .write(path, offset: 0, bytes: page(1)),
            .sync(path, coveredCount: 2, succeeded: false),
            .write(path, offset: 4096, bytes: page(2)),
            .sync(path, coveredCount: 4, succeeded: true),
        ])
        #expect(contents(of: recorded, .lost) == page(0) + page(2))
        #expect(contents(of: recorded, .kept) == page(1) + page(2))
    }

    @Test("a truncation that is lost takes with it what was written behind it")
    func truncation() {
        let recorded = RecordedWrites(
            initial: [path: page(7) + page(7)],
            steps: [.truncate(path, size: 0), .write(path, offset: 0, bytes: page(1, count: 512))]
        )
        #expect(
            outcomes(of: recorded) == [page(7) + page(7), [], page(1, count: 512)]
        )
    }

    @Test("marks say what was acknowledged before the power went")
    func marks() {
        let recorded = RecordedWrites(steps: [.mark(1), .open(path), .mark(2)])
        #expect(recorded.marks(before: 2) == [1])
        #expect(recorded.marks(before: 3) == [1, 2])
    }
}

import Lockkeeper
import LockkeeperCrypto
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperTesting
import Testing

@testable import LockkeeperState

@Suite("Media: state in the database, content by digest, both sides checked (R-51)")
struct MediaTests {
    @Test("every step from every state is the diagram's, and no other is taken")
    func diagram() {
        let edges: [(MediaState, MediaState.Step, MediaState)] = [
            (.wanted, .want, .wanted), (.wanted, .begin, .downloading),
            (.downloading, .want, .downloading), (.downloading, .finish, .present),
            (.downloading, .fail, .failed), (.downloading, .abandon, .wanted),
            (.present, .want, .present), (.present, .evict, .evicted), (.present, .lose, .wanted),
            (.failed, .want, .wanted), (.evicted, .want, .wanted),
        ]
        for state in MediaState.allCases {
            for step in MediaState.Step.allCases {
                let expected = edges.first { $0.0 == state && $0.1 == step }?.2
                #expect(state.after(step) == expected, "\(state) \(step)")
            }
        }
    }

    @Test("a file is wanted, fetched by one process, present for all, evicted and wanted again")
    func lifeOfAFile() async throws {
        try await withMedia { test, media, other in
            let content = random(100_000)
            let states = other.observe("m1").makeAsyncIterator()
            #expect(try await states.next() == .some(nil))
            try await media.want("m1", byteCount: content.count, digest: SHA256.digest(of: content))
            #expect(try await states.next()??.state == .wanted)
            #expect(try await media.begin("m1"))
            #expect(try await !media.begin("m1"))
            #expect(try await !other.begin("m1"))
            try await media.finish("m1", with: .bytes(content))
            #expect(try await other.content(of: "m1") == content)
            let path = try #require(try await other.path(of: "m1"))
            #expect(try FileSystem.contents(of: path) == content)
            #expect(try await other.evict("m1"))
            #expect(try await !media.evict("m1"))
            #expect(try FileSystem.status(path) == nil)
            await expectState(.notFound) { _ = try await media.content(of: "m1") }
            #expect(try await media.want("m1").state == .wanted)
            #expect(try await other.begin("m1"))
            try await other.fail("m1", because: "404")
            let failed = try #require(try await media.media("m1"))
            #expect(failed.state == .failed && failed.failure == "404" && failed.attemptCount == 2)
            #expect(try await media.media(in: .failed).map(\.id) == ["m1"])
            #expect(try await media.audit().isClean)
        }
    }

    @Test(
        "small content stands in the database and large content in a file, from memory and from files"
    )
    func places() async throws {
        try await withMedia { test, media, other in
            let border = MediaStore.inlineByteCountMax
            for (index, count) in [0, 1, border, border + 1, 3 << 20].enumerated() {
                let content = random(count)
                let source = "\(test.root)/source"
                try FileSystem.replaceFile(at: source, with: content)
                let (first, second) = (
                    MediaID(unchecked: Array("b\(index)".utf8)),
                    MediaID(unchecked: Array("f\(index)".utf8))
                )
                try await media.add(first, .bytes(content))
                try await media.add(second, .file(path: source))
                for id in [first, second] {
                    #expect(try await other.content(of: id) == content)
                    #expect(try await (other.path(of: id) == nil) == (count <= border))
                }
            }
            // Equal content is there once, and stays until the last one goes.
            #expect(try fileCount(test) == 2)
            try await media.evict("b4")
            #expect(try await other.content(of: "f4").count == 3 << 20)
            try await media.evict("f4")
            #expect(try fileCount(test) == 1)
            #expect(try await media.audit().isClean)
        }
    }

    @Test("content that is not what the server stated is refused, and the attempt has failed")
    func unexpected() async throws {
        try await withMedia { _, media, _ in
            let content = random(50_000)
            try await media.want("m1", digest: SHA256.digest(of: content))
            _ = try await media.begin("m1")
            await expectState(.damaged) {
                try await media.finish("m1", with: .bytes(Array(content.dropLast())))
            }
            #expect(try await media.media("m1")?.state == .failed)
            try await media.want("m2", byteCount: 10)
            _ = try await media.begin("m2")
            await expectState(.damaged) { try await media.finish("m2", with: .bytes([1])) }
            // One that was never begun here has no content to take.
            try await media.want("m3")
            await expectState(.notFound) { try await media.finish("m3", with: .bytes([1])) }
            #expect(try await media.sweep().orphanCount > 0)
            #expect(try await media.audit().isClean)
        }
    }

    @Test("the cache is trimmed by use and size, and what is kept stays")
    func trimming() async throws {
        try await withMedia { test, media, _ in
            for index in 0..<5 {
                let id = MediaID(unchecked: Array("c\(index)".utf8))
                try await media.add(id, .bytes(random(40_000)), retention: .cache)
            }
            try await media.add("kept", .bytes(random(200_000)))
            try await media.noteUse(of: ["c0", "c1"])
            let evicted = try await media.trim(toByteCount: 100_000)
            #expect(Set(evicted) == ["c2", "c3", "c4"])
            #expect(try fileCount(test) == 3)
            #expect(try await media.trim(toByteCount: 0).count == 2)
            #expect(try await media.content(of: "kept").count == 200_000)
            #expect(try await media.audit().isClean)
        }
    }

    @Test(
        "orphans of both sides are found by an audit, which changes nothing, and put right by a sweep"
    )
    func orphans() async throws {
        try await withMedia { test, media, _ in
            try await media.add("gone", .bytes(random(50_000)))
            try await media.add("cut", .bytes(random(50_000)))
            try await media.add("whole", .bytes(random(50_000)))
            let (gone, cut) = (
                try #require(try await media.path(of: "gone")),
                try #require(try await media.path(of: "cut"))
            )
            try FileSystem.remove(gone)
            try FileDescriptor(opening: cut, [.writeOnly, .truncate]).write([1])
            let stray = try #require(try await media.path(of: "whole")).dropLast(4) + "0000"
            try FileDescriptor(opening: String(stray), [.writeOnly, .create]).write([1])
            let audit = try await media.audit()
            #expect(audit.orphanCount == 1 && Set(audit.missing) == ["cut", "gone"])
            #expect(try await media.audit() == audit)
            await expectState(.damaged) { _ = try await media.path(of: "gone") }
            let swept = try await media.sweep()
            #expect(swept.missing == ["cut"])
            #expect(try await media.audit().isClean)
            #expect(try await media.media(in: .wanted).map(\.id) == ["cut", "gone"])
            #expect(try await media.content(of: "whole").count == 50_000)
        }
    }

    @Test("content whose bytes changed on the disk is not given out, and wanted again")
    func damage() async throws {
        try await withMedia { _, media, other in
            try await media.add("m1", .bytes(random(50_000)))
            let path = try #require(try await media.path(of: "m1"))
            var bytes = try FileSystem.contents(of: path)
            bytes[25_000] ^= 1
            try FileSystem.replaceFile(at: path, with: bytes)
            #expect(try await media.audit().isClean)
            #expect(try await media.audit(deep: true).damaged == ["m1"])
            await expectState(.damaged) { _ = try await other.content(of: "m1") }
            #expect(try await media.media("m1")?.state == .wanted)
            #expect(try await media.sweep(deep: true).orphanCount == 1)
            #expect(try await media.audit(deep: true).isClean)
            try await media.add("m2", .bytes(random(50_000)))
            try FileSystem.replaceFile(
                at: try #require(try await media.path(of: "m2")),
                with: random(50_000)
            )
            #expect(try await media.sweep(deep: true).damaged == ["m2"])
            #expect(try await media.media(in: .wanted).map(\.id) == ["m1", "m2"])
        }
    }

    @Test("content that another process is about to name is no orphan, and is not swept")
    func underWay() async throws {
        try await withMedia { test, media, other in
            let folder = MediaFolder("\(test.root)/accounts/alice")
            let content = random(50_000)
            // As far as one comes before its transaction.
            let placed = try folder.take(.bytes(content), inlineByteCountMax: 0)
            try folder.publish(placed)
            #expect(try await other.audit().isClean)
            #expect(try await other.sweep().isClean)
            try await media.add("m1", .bytes(content))
            try FileSystem.remove(try #require(placed.temporary))
            #expect(try await other.content(of: "m1") == content)
            #expect(try await other.audit(deep: true).isClean)
        }
    }

    @Test("a superseded session looks at nothing, stores nothing and evicts nothing")
    func superseded() async throws {
        try await withMedia { test, media, _ in
            try await media.add("m1", .bytes(random(50_000)))
            let next = try await MediaStore(try await test.process("next").activate("alice"))
            await expectState(.superseded) { try await media.add("m2", .bytes(random(50_000))) }
            await expectState(.superseded) { _ = try await media.content(of: "m1") }
            await expectState(.superseded) { try await media.evict("m1") }
            #expect(try await next.content(of: "m1").count == 50_000)
            // What it had written already is nobody's, and goes with the next sweep.
            _ = try await next.sweep()
            #expect(try fileCount(test) == 1)
        }
    }

    private func withMedia(
        _ body: (_ test: TestWorkspace, _ media: MediaStore, _ other: MediaStore) async throws ->
            Void
    ) async throws {
        try await withAlice { test, _, alice in
            let other = try await test.process("other").session("alice")
            try await body(test, try await MediaStore(alice), try await MediaStore(other))
        }
    }

    private func random(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    private func fileCount(_ test: TestWorkspace) throws -> Int {
        try MediaFolder("\(test.root)/accounts/alice").digests().count
    }
}
